"""An agent's settings as a page: every setting is there, a save sends what the API takes, the bot's token never comes
out, and its end is only for whoever types its name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from dashboard.pages.settings import format_span
from orchestrator.agents.agent_fields import FIELDS, LIMITS
from tests.support.app_fixture import AppFixture, run_app
from tests.support.bot_api import BotApi
from tests.unit.conftest import Api, Browser, logged_in
from tests.unit.dashboard.test_pages import EVIL, checked

ADA = 4_200_001
SETTINGS = "/agents/crab/settings"


@pytest.fixture
def telegram() -> Iterator[BotApi]:
    """Telegram."""
    with BotApi() as api:
        yield api


@pytest.fixture
def webapp(tmp_path: Path, telegram: BotApi) -> Iterator[AppFixture]:
    """An install that knows where Telegram is."""
    with run_app(tmp_path, environment={"HERMIT_TELEGRAM_API_URL": telegram.url}) as install:
        yield install


@dataclass
class Form:
    """What a form sends as it stands, by the rules of ``acts.js``."""

    path: str
    method: str
    body: dict[str, Any] = field(default_factory=dict)


class Forms(HTMLParser):
    """All forms of a page that call the API."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[Form] = []
        self._form: Form | None = None
        self._select: tuple[str, bool] | None = None
        self._area = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Forms and their fields."""
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._form = Form(given["data-path"], given["data-call"]) if "data-call" in given else None
            self.found += [self._form] if self._form else []
        name = given.get("name", "")
        if self._form is None or not (name or tag == "option"):
            return
        if tag == "input":
            self._input(name, given)
        elif tag == "select":
            self._select = (name, "data-number" in given)
        elif tag == "option" and self._select and "selected" in given:
            select, is_number = self._select
            self._form.body[select] = int(given["value"]) if is_number else given["value"]
        elif tag == "textarea":
            self._area = name

    def _input(self, name: str, given: dict[str, str]) -> None:
        assert self._form is not None
        body = self._form.body
        if given.get("type") == "checkbox" and "data-or-null" in given:
            body |= {name: None} if "checked" in given else {}
        elif "data-list" in given:
            if body.get(name, []) is None:
                return
            body.setdefault(name, []).extend(
                [int(given["value"]) if "data-number" in given else given["value"]] if "checked" in given else []
            )
        elif given.get("type") == "radio":
            body |= {name: given["value"]} if "checked" in given else {}
        elif name.startswith("limits."):
            body.setdefault("limits", {})[name.removeprefix("limits.")] = _number(given["value"])
        else:
            body[name] = _number(given["value"]) if given.get("type") == "number" else given.get("value", "")

    def handle_data(self, data: str) -> None:
        """What stands in a text field."""
        if self._area and self._form:
            self._form.body[self._area] = data

    def handle_endtag(self, tag: str) -> None:
        """The end of a field."""
        if tag == "textarea":
            self._area = ""
        if tag == "select":
            self._select = None


def _number(text: str) -> float | int:
    return float(text) if "." in text else int(text)


def page(browser: Browser, path: str = SETTINGS) -> str:
    """The page, looked through."""
    answer = browser.client.get(path)
    assert answer.status_code == 200
    html = answer.get_data(as_text=True)
    checked(html)
    return html


def text(browser: Browser, path: str) -> str:
    """What is read."""
    return " ".join(checked(page(browser, path)).text.split())


def test_every_setting_is_on_the_page_and_saved_as_it_is(browser: Browser, operator: Api, webapp: AppFixture) -> None:
    """What the forms send changes nothing while nobody typed; between them they have every setting there is."""
    webapp.services.agents.update_agent(
        "crab", {"approval_timeout_s": 4_321, "limits": {"cpus": 0.25}, "personality": EVIL}
    )
    before = webapp.services.agents.get("crab")
    forms = [form for form in Forms(page(browser)).found if form.method == "PATCH"]
    for form in forms:
        assert operator.call("PATCH", form.path.removeprefix("/api"), form.body).status_code == 200, form.body
    assert webapp.services.agents.get("crab") == before
    sent = {name for form in forms for name in form.body}
    assert sent == set(FIELDS) - {"telegram_token"} | {"people"}
    assert {limit for form in forms for limit in form.body.get("limits", {})} == set(LIMITS)


def test_choices_are_told_in_words(browser: Browser, webapp: AppFixture) -> None:
    """Times with their units, what policies mean, what a new container costs; a provider that is gone is named."""
    said = text(browser, SETTINGS)
    for words in (
        "Default (rehearsal)",
        "Every command needs your approval",
        "It still has no network and only its own files",
        "1 hour",
        "2 minutes",
        "A change here makes a new container",
        "It is asleep now: start or stop it.",
    ):
        assert words in said, words
    with webapp.app._store.writing() as db:
        db.execute("UPDATE agents SET provider = 'gone' WHERE name = 'crab'")
    webapp.services.agents.update_agent("crab", {})  # whoever changes agents behind its back must say so
    assert "gone (not set up)" in text(browser, SETTINGS)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1, "1 second"),
        (90, "90 seconds"),
        (60, "1 minute"),
        (4_320, "72 minutes"),
        (7_200, "2 hours"),
        (86_400, "1 day"),
    ],
)
def test_times_are_in_the_largest_unit_that_fits(seconds: int, words: str) -> None:
    """Nothing is rounded."""
    assert format_span(seconds) == words


def test_a_bot_from_nothing_to_gone(browser: Browser, operator: Api, webapp: AppFixture, telegram: BotApi) -> None:
    """Each state says what to do next; the token is in no page."""
    part = "/parts/bot/crab"
    assert "crab is not on Telegram." in text(browser, part)
    token = telegram.bot("Crab", username="crab_bot")
    code = operator.post("/agents/crab/telegram", {"token": token})["code"]
    assert "send this code to @crab_bot in Telegram. It is valid until" in text(browser, part)
    assert code in text(browser, part)
    assert webapp.services.bots.on_code("crab", ADA, code)
    assert "crab answers as @crab_bot, linked to you just now." in text(browser, part)
    assert code not in text(browser, SETTINGS)
    for path in (part, SETTINGS):
        assert token not in page(browser, path)
        assert token.partition(":")[2] not in page(browser, path)
    assert webapp.services.bots.mark_revoked("crab")
    assert "Telegram refuses the token." in text(browser, part)
    assert operator.call("DELETE", "/agents/crab/telegram").status_code == 204
    assert "crab is not on Telegram." in text(browser, part)


def test_a_code_that_the_bot_sent_is_shown_nowhere(
    browser: Browser, operator: Api, webapp: AppFixture, telegram: BotApi
) -> None:
    """It is typed in; when it is too old, another one is offered."""
    webapp.services.users.update_user(1, {"telegram_id": ADA})
    token = telegram.bot("Crab", username="crab_bot")
    telegram.person(ADA).opens(token)
    operator.post("/agents/crab/telegram", {"token": token})
    bot = webapp.services.bots.get_bot("crab")
    assert bot.code
    html = page(browser, "/parts/bot/crab")
    assert bot.code not in html
    assert "/telegram/confirm" in html
    for _ in range(5):
        assert operator.refused("POST", "/agents/crab/telegram/confirm", {"code": "x"})[0] == 400
    assert "the last code has expired" in text(browser, "/parts/bot/crab")


def test_members_look_and_do_nothing(webapp: AppFixture, app: Flask, member: Api) -> None:
    """No button, no bot, no end."""
    them = logged_in(webapp, app, member.user)
    html = page(them)
    for word in ("telegram", "DELETE", "Save", "data-must-be"):
        assert word not in html.partition("<main")[2], word
    assert them.client.get("/parts/bot/crab").status_code == 403


def test_the_end_asks_for_the_name(browser: Browser) -> None:
    """And says what is lost and what is kept."""
    html = page(browser)
    [form] = [form for form in Forms(html).found if (form.method, form.path) == ("DELETE", "/api/agents/crab")]
    assert form.body == {}
    assert 'data-must-be="crab"' in html
    said = text(browser, SETTINGS)
    assert re.search(r"Lost, for everybody who talks to crab:.*workspaces.*conversations, memories, calendar", said)
    assert "Kept: the audit log" in said
