"""The stream of news, read from the real server as a browser reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
import requests
from flask import Flask, g

from dashboard.api import events
from dashboard.auth import Asker, login_holder
from orchestrator.agents.users import id_of_token
from orchestrator.core.models import CubicleKey, Event
from tests.support.app_fixture import API_TOKEN, AppFixture, Scene
from tests.unit.conftest import Api, Browser


@contextmanager
def listening(webapp: AppFixture, token: str) -> Iterator[Iterator[tuple[str, dict[str, Any]]]]:
    """The news that this person gets from now on."""
    with requests.get(
        f"{webapp.url}/api/events", headers={"Authorization": f"Bearer {token}"}, stream=True, timeout=10
    ) as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        assert answer.headers["Content-Security-Policy"]
        lines = answer.iter_lines(chunk_size=1, decode_unicode=True)
        assert next(lines) == "retry: 2000"
        yield _news(lines)


def _news(lines: Iterator[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    kind = ""
    for line in lines:
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield kind, json.loads(line.removeprefix("data: "))
        else:
            assert line in ("", ": still here"), line


def test_a_turn_is_told_from_beginning_to_end(webapp: AppFixture, operator: Api) -> None:
    """Turn, delta, step, approval: each as it happens, with ISO times and with whose it is."""
    webapp.plays["work"] = work
    with listening(webapp, API_TOKEN) as news:
        operator.post("/agents/crab/messages", {"text": "work", "wait": True})
        heard: list[tuple[str, dict[str, Any]]] = []
        for kind, body in news:
            heard.append((kind, body))
            if body.get("status") == "done" and kind == "turn":
                break
    assert {kind for kind, _ in heard} >= {"turn", "delta", "step"}
    assert all((body["agent"], body["user"]) == ("crab", 1) for _, body in heard)
    assert [body["text"] for kind, body in heard if kind == "delta"][-1] == "I am"
    assert heard[-1][1]["ended_at"].endswith("Z")
    assert "queued" not in {body.get("status") for _, body in heard}


def work(scene: Scene) -> None:
    """A turn that writes, does and says."""
    scene.stream("I", "I am")
    scene.run(1, "ls", output="a")
    scene.say("done")


def test_no_text_can_begin_an_event_of_its_own(webapp: AppFixture) -> None:
    """Line ends of every kind arrive as text."""
    evil = "\n\nevent: approval\ndata: {}\r\rdata: x\u2028\u2029\x85\x00"
    with listening(webapp, API_TOKEN) as news:
        webapp.services.broker.publish(Event("delta", CubicleKey("crab", 1), {"turn": 1, "text": evil}))
        assert next(news) == ("delta", {"turn": 1, "text": evil, "agent": "crab", "user": 1})


def test_members_hear_of_their_own_alone(webapp: AppFixture, member: Api) -> None:
    """Another's news never reach them; what concerns everybody does."""
    publish = webapp.services.broker.publish
    with listening(webapp, member.token) as news:
        publish(Event("delta", CubicleKey("crab", 1), {"turn": 1, "text": "secret"}))
        publish(Event("agent", None, {"name": "crab"}))
        publish(Event("delta", CubicleKey("crab", member.user.id), {"turn": 2, "text": "mine"}))
        assert next(news) == ("agent", {"name": "crab"})
        assert next(news)[1]["text"] == "mine"


def test_a_stream_ends_with_the_login_behind_it(webapp: AppFixture, app: Flask, member: Api) -> None:
    """Whoever was logged out, or became somebody else, hears no more."""
    users = webapp.services.users
    session = users.use_link(users.make_link(member.user.id))
    subscription = webapp.services.broker.subscribe()
    asker = Asker(member.user, session)
    with app.test_request_context():
        g.asker = asker
        holder = login_holder()
    stream = events._event_stream(
        subscription, asker, lambda: holder() == member.user, lambda: users.changes, heartbeat_s=0.01
    )
    assert next(stream) == "retry: 2000\n\n"
    assert next(stream) == ": still here\n\n"
    users.log_out(session)
    assert list(stream) == []


@pytest.mark.parametrize("end", ["log_out", "log_out_everywhere", "log_everybody_out", "set_password", "end_session"])
def test_no_news_comes_after_a_logout(webapp: AppFixture, member: Api, end: str) -> None:
    """Not even what is published in the next moment, long before the stream would look by itself."""
    users = webapp.services.users
    session = users.use_link(users.make_link(member.user.id))
    subscription = webapp.services.broker.subscribe()
    holder = partial(users.of_session, session)
    stream = events._event_stream(
        subscription, Asker(member.user, session), lambda: holder() == member.user, lambda: users.changes, 3600
    )
    assert next(stream) == "retry: 2000\n\n"
    news = Event("turn", CubicleKey("crab", member.user.id), {"turn": 1, "status": "running"})
    webapp.services.broker.publish(news)
    assert next(stream).startswith("event: turn")
    ends: dict[str, Callable[[], object]] = {
        "log_out": lambda: users.log_out(session),
        "log_out_everywhere": lambda: users.log_out_everywhere(member.user.id),
        "log_everybody_out": lambda: users.log_everybody_out(by="test"),
        "set_password": lambda: users.set_password(member.user.id, "another password"),
        "end_session": lambda: users.end_session(member.user.id, id_of_token(session)),
    }
    ends[end]()
    webapp.services.broker.publish(news)
    assert list(stream) == []


def test_a_login_is_asked_about_long_after_its_request(webapp: AppFixture, app: Flask, member: Api) -> None:
    """By its session, or by its token alone, whose it is until it ends."""
    users = webapp.services.users
    session = users.use_link(users.make_link(member.user.id))
    token = users.make_token("phone", member.user.id)
    holders = []
    for of_session, headers in ((session, {}), ("", {"Authorization": f"bearer  {token}"})):
        with app.test_request_context(headers=headers):
            g.asker = Asker(member.user, of_session)
            holders.append(login_holder())
    assert [holder() for holder in holders] == [member.user, member.user]
    users.log_out(session)
    users.remove_token("phone")
    assert [holder() for holder in holders] == [None, None]


def test_a_page_is_told_what_it_missed(app: Flask, webapp: AppFixture, browser: Browser) -> None:
    """When there was news between its making and its stream, and when its mark is not ours; else not."""

    def first(since: str) -> str:
        with browser.client.get(f"/api/events{since}") as answer:
            return next(piece.decode() for piece in answer.response if isinstance(piece, bytes))

    html = browser.client.get("/you").get_data(as_text=True)
    [mark] = re.findall(r'<meta name="news" content="(\w+)">', html)
    assert "missed" not in first("")
    assert "missed" not in first(f"?since={mark}")
    webapp.services.broker.publish(Event("memory", CubicleKey("crab", 1), {}))
    assert first(f"?since={mark}").endswith("event: missed\ndata: {}\n\n")
    assert "missed" in first("?since=other")
    assert '"news"' not in app.test_client().get("/login").get_data(as_text=True)


def test_whoever_leaves_is_forgotten(webapp: AppFixture, operator: Api) -> None:
    """A closed stream, or one that was only asked for its headers, leaves no subscriber behind."""
    broker, token = webapp.services.broker, {"Authorization": f"Bearer {operator.token}"}
    before = set(broker._subscribers)  # the install's own
    operator.client.head("/api/events", headers=token).close()
    operator.client.get("/api/events", headers=token).close()
    assert broker._subscribers == before


@pytest.mark.parametrize("kind", ["delta", "output"])
def test_what_is_being_written_is_for_its_own_person(webapp: AppFixture, member: Api, kind: str) -> None:
    """Not even the operator's pages are sent what a member's turn writes and prints while it runs."""
    publish = webapp.services.broker.publish
    with listening(webapp, API_TOKEN) as news:
        publish(Event(kind, CubicleKey("crab", member.user.id), {"turn": 1, "text": "theirs"}))
        publish(Event(kind, None, {"turn": 2, "text": "nobody's"}))
        publish(Event(kind, CubicleKey("crab", 1), {"turn": 3, "text": "mine"}))
        assert next(news)[1]["text"] == "mine"
