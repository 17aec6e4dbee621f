"""Deliveries over the API and by link: one's own alone, as bytes of no type, and every wrong link refused alike."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Flask

from orchestrator.core.models import CubicleKey
from tests.support.app_fixture import AppFixture, Scene
from tests.unit.conftest import Api, Browser


def eventually(look: Callable[[], object]) -> None:
    """Until it is so."""
    deadline = time.monotonic() + 20
    while not look():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


@pytest.fixture
def made(webapp: AppFixture, operator: Api) -> int:
    """The operator's crab delivered one file in a turn; its number."""
    home = Path(webapp.services.settings.home)

    def work(scene: Scene) -> None:
        out = home / "workspaces" / scene.key.agent / str(scene.key.user) / "out"
        (out / ".x").write_bytes(b"<script>alert(1)</script>")
        (out / ".x").rename(out / 'a"b\n.html')
        scene.say("Here.")

    webapp.plays["make a file"] = work
    operator.post("/agents/crab/messages", {"text": "make a file", "wait": True})
    eventually(lambda: operator.get("/agents/crab/deliveries")["deliveries"])
    return int(operator.get("/agents/crab/deliveries")["deliveries"][0]["id"])


def test_what_left_out_is_listed_with_its_turn(operator: Api, made: int) -> None:
    """By page, and by turn."""
    page = operator.get("/agents/crab/deliveries?limit=1")
    (first,) = page["deliveries"]
    assert (first["id"], first["status"], first["to"], page["next"]) == (made, "sent", "dashboard", None)
    assert first["path"] == 'out/a"b\\n.html'
    assert operator.get(f"/agents/crab/deliveries?turn={first['turn']}")["deliveries"] == [first]
    assert operator.get("/agents/crab/deliveries?turn=999")["deliveries"] == []
    assert operator.get(f"/agents/crab/deliveries?before={made}")["deliveries"] == []


def test_a_download_is_bytes_of_no_type(operator: Api, made: int) -> None:
    """An attachment of which nothing runs, under a name that hides nothing."""
    answer = operator.client.get(
        f"/api/agents/crab/deliveries/{made}/file", headers={"Authorization": f"Bearer {operator.token}"}
    )
    _check_harmless(answer.data, dict(answer.headers))
    assert operator.refused("GET", "/agents/crab/deliveries/999/file")[0] == 404


def _check_harmless(body: bytes, headers: dict[str, str]) -> None:
    assert body == b"<script>alert(1)</script>"
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Disposition"].startswith('attachment; filename="a_b .html"')
    assert headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    assert headers["Cache-Control"] == "no-store"


def test_a_member_sees_only_their_own(operator: Api, member: Api, made: int) -> None:
    """Neither list nor file of another; the operator may look into theirs."""
    assert member.get("/agents/crab/deliveries")["deliveries"] == []
    assert member.refused("GET", f"/agents/crab/deliveries/{made}/file")[0] == 404
    assert member.refused("GET", f"/agents/crab/deliveries?user={operator.user.id}")[0] == 403
    assert operator.get(f"/agents/crab/deliveries?user={member.user.id}")["deliveries"] == []
    assert operator.refused("GET", f"/agents/crab/deliveries/{made}/file?user={member.user.id}")[0] == 404


def test_a_link_opens_one_file_for_anybody(app: Flask, webapp: AppFixture, made: int) -> None:
    """Without a login; every other link is refused with one and the same answer."""
    link = webapp.services.deliveries.download_link(webapp.services.deliveries.get_delivery(made))
    stranger = app.test_client()
    answer = stranger.get(link)
    _check_harmless(answer.data, dict(answer.headers))
    refused = set()
    number, until, signature = link.removeprefix("/d/").split(".")
    for wrong in (
        "x",
        "1",
        f"{number}.{until}.{'0' * 64}",
        f"{number}.{int(until) + 1}.{signature}",
        f"9.{until}.{signature}",
    ):
        answer = stranger.get(f"/d/{wrong}")
        refused.add((answer.status_code, answer.data))
    assert len(refused) == 1
    assert refused.pop()[0] == 404


def test_the_chat_shows_the_file_below_the_reply(browser: Browser, made: int) -> None:
    """With its size and its download."""
    page = browser.client.get("/agents/crab").get_data(as_text=True)
    assert f'href="/api/agents/crab/deliveries/{made}/file"' in page
    assert "25 bytes" in page
    assert "<script>alert" not in page


def test_news_of_a_delivery_reach_its_person(webapp: AppFixture, operator: Api, made: int) -> None:
    """As an event of its own kind."""
    subscription = webapp.services.broker.subscribe()
    try:
        key = CubicleKey("crab", operator.user.id)
        webapp.app._outbox_watcher._intake.withhold_files(key, 3, 0)
        event = subscription.get(5)
        assert event is not None
        assert (event.kind, event.cubicle, event.body["status"]) == ("delivery", key, "withheld")
    finally:
        webapp.services.broker.unsubscribe(subscription)
