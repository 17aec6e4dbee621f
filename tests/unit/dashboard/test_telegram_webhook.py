"""Where Telegram posts updates: its secret alone opens it, its host name is answered there alone, and everybody else
learns nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import TestResponse

from dashboard.app import create_app
from dashboard.webhook import MAX_BODY_BYTES, SECRET
from orchestrator.core.errors import Unavailable
from tests.support.app_fixture import AppFixture, run_app

TOKEN = f"7000000001:AA{'c' * 33}"
BOT = 7_000_000_001
HOST = "hook.example"


@dataclass
class Fixture:
    """An install that Telegram posts to, and what came of it."""

    install: AppFixture
    taken: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    is_broken: bool = False

    def __post_init__(self) -> None:
        self.install.services.bots.set_up("crab", TOKEN)
        self.secret = self.install.services.bots.webhook_secret("crab")
        self.client = create_app(replace(self.install.services, webhooks={"telegram": self.take})).test_client()

    def take(self, agent: str, update: dict[str, Any]) -> None:
        """What is done with an update."""
        if self.is_broken:
            raise Unavailable("The disk is full.")
        self.taken.append((agent, update))

    def post(self, body: str | bytes = '{"update_id": 1}', *, bot: object = BOT, **headers: str) -> TestResponse:
        """As Telegram posts it, unless said otherwise."""
        sent = {"Host": HOST, "Content-Type": "application/json", SECRET: self.secret} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        return self.client.post(f"/telegram/{bot}", data=body, headers=sent)


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[Fixture]:
    """An install with a webhook."""
    environment = {"HERMIT_TELEGRAM_WEBHOOK_URL": f"https://{HOST}:8443"}
    with run_app(tmp_path, environment=environment) as install:
        yield Fixture(install)


def test_an_update_is_taken(fixture: Fixture) -> None:
    """Whole, for the agent whose bot it is; a login or a page of ours plays no part."""
    update = {"update_id": 7, "message": {"text": "grüß dich 🦀", "entities": [{"offset": 0}]}}
    answer = fixture.post(json.dumps(update), Origin="https://evil.example", Authorization="Bearer nobody")
    assert (answer.status_code, answer.data) == (200, b"")
    assert fixture.taken == [("crab", update)]


@pytest.mark.parametrize(
    ("secret", "bot"),
    [("", BOT), ("0" * 64, BOT), ("right", 7_000_000_002), (TOKEN, BOT), ("ü", BOT), ("right", 0), ("x" * 5_000, 5)],
)
def test_without_the_secret_nothing_happens(fixture: Fixture, secret: str, bot: int) -> None:
    """The same empty answer for a wrong secret, none, and a bot that is nobody's."""
    answer = fixture.post("{", bot=bot, **{SECRET: fixture.secret if secret == "right" else secret})
    assert (answer.status_code, answer.data, fixture.taken) == (401, b"", [])


@pytest.mark.parametrize("bot", ["crab", "-1", "1.5", "9" * 30, "", f"{BOT}/x"])
def test_what_is_no_number_is_no_address(fixture: Fixture, bot: str) -> None:
    """404 as anywhere."""
    assert fixture.post(bot=bot, Host="localhost").status_code == 404
    assert fixture.taken == []


def test_other_methods_are_none(fixture: Fixture) -> None:
    """There is nothing to see here."""
    for method in ("GET", "PUT", "DELETE"):
        assert fixture.client.open(f"/telegram/{BOT}", method=method).status_code == 405


def test_without_the_setting_there_is_no_such_address(tmp_path: Path) -> None:
    """Not even for somebody who has the secret."""
    with run_app(tmp_path) as install:
        fixture = Fixture(install)
        answer = fixture.post(Host="localhost")
        assert (answer.status_code, answer.data, fixture.taken) == (404, b"", [])
        assert fixture.post().status_code == 421


@pytest.mark.parametrize("host", [HOST, f"{HOST}:8443", f"{HOST.upper()}.", "localhost:3000"])
def test_the_webhooks_host_is_answered_there(fixture: Fixture, host: str) -> None:
    """As are our own names, for a proxy that does not hand it on."""
    assert fixture.post(Host=host).status_code == 200


@pytest.mark.parametrize("path", ["/", "/login", "/api/health", "/api/agents", "/static/logo.svg", "/telegram", "/x"])
def test_the_webhooks_host_is_answered_nowhere_else(fixture: Fixture, path: str) -> None:
    """The dashboard does not come out by that name."""
    assert fixture.client.get(path, headers={"Host": HOST}).status_code == 421
    assert fixture.client.post(path, headers={"Host": HOST}, json={}).status_code == 421


@pytest.mark.parametrize("host", ["evil.example", f"{HOST}.evil.example", "", "hook"])
def test_other_names_are_refused(fixture: Fixture, host: str) -> None:
    """Whatever secret comes with them."""
    assert fixture.post(Host=host).status_code in (400, 421)
    assert fixture.taken == []


def test_a_large_body_is_not_read(fixture: Fixture) -> None:
    """It is no update."""
    assert fixture.post(b" " * (MAX_BODY_BYTES + 1)).status_code == 413
    assert fixture.post(b" " * (MAX_BODY_BYTES + 1), **{SECRET: "wrong"}).status_code == 401
    assert fixture.taken == []


@pytest.mark.parametrize("body", ["", "{", "[]", "null", '{"a": NaN}', '{"a": 1, "a": 2}', b"\xff", "{" * 5_000])
def test_what_is_no_update_does_not_come_again(fixture: Fixture, body: str | bytes) -> None:
    """Telegram would post it for ever, and nothing after it; so it is let go."""
    assert fixture.post(body).status_code == 200
    assert fixture.taken == []


def test_what_can_not_be_kept_comes_again(fixture: Fixture) -> None:
    """Telegram posts it until it was taken."""
    fixture.is_broken = True
    assert fixture.post().status_code == 503
    fixture.is_broken = False
    assert (fixture.post().status_code, len(fixture.taken)) == (200, 1)


def test_a_rotated_token_has_another_secret(fixture: Fixture) -> None:
    """And a bot that was taken away has none."""
    fixture.install.services.bots.set_up("crab", f"{BOT}:AA{'r' * 33}")
    assert fixture.post().status_code == 401
    assert fixture.post(**{SECRET: fixture.install.services.bots.webhook_secret("crab")}).status_code == 200
    fixture.install.services.bots.remove_bot("crab")
    assert fixture.post().status_code == 401
