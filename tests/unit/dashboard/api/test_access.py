"""Who may use which agent: a walk over every route there is, for a member to whom an agent is closed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
import requests
from flask import Flask
from werkzeug.test import TestResponse

from dashboard.app import create_app
from orchestrator.capabilities.calendar.rows import EntryStatus
from orchestrator.capabilities.capability import Caller
from orchestrator.core.errors import NotFound
from orchestrator.core.models import ApprovalStatus, CubicleKey, Role, Turn, TurnStatus
from tests.support.app_fixture import AppFixture, Scene, run_app
from tests.support.real_app import eventually
from tests.unit.conftest import Api, Browser, logged_in, someone

AGENT, NOWHERE = "vault", "wault"
"""The agent that is closed, and a name as long that no agent has."""
NO_END = {"/api/events"}
FRAME = {"Sec-Fetch-Dest": "iframe"}


@dataclass
class Closed:
    """An agent with something of everything for a member, before and after it is closed to them."""

    install: AppFixture
    app: Flask
    operator: Api
    member: Api
    browser: Browser
    ids: dict[str, str]
    """What stands for each argument of a path but the agent's name, where it is real."""
    held: Turn
    waiting: Turn

    @property
    def key(self) -> CubicleKey:
        """The member's part of the agent."""
        return CubicleKey(AGENT, self.member.user.id)


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Closed]:
    """It is closed when this begins."""
    with run_app(tmp_path_factory.mktemp("closed")) as install:
        app, services = create_app(install.services), install.services
        services.agents.create({"name": AGENT})
        member = services.users.add({"name": "bob"})
        key = CubicleKey(AGENT, member.id)
        ids = _fill(install, key)
        held, waiting = _begin(install, key, ids)
        who = Closed(
            install,
            app,
            someone(install, app, services.users.get_operator()),
            someone(install, app, member),
            logged_in(install, app, member),
            ids,
            held,
            waiting,
        )
        assert AGENT in who.member.call("GET", "/agents").get_data(as_text=True)
        assert who.operator.call("PATCH", f"/agents/{AGENT}", {"people": []}).status_code == 200
        yield who


def _fill(install: AppFixture, key: CubicleKey) -> dict[str, str]:
    """What has been."""
    services = install.services
    folders = services.workspaces.prepare_folders(key, uid=os.geteuid(), gid=os.getegid())
    (folders.www / "clock").mkdir()
    (folders.www / "clock" / "index.html").write_text("<p>clock</p>")

    def greet(scene: Scene) -> None:
        (folders.out / ".made").write_text("made")
        (folders.out / ".made").rename(folders.out / "made.txt")
        scene.say("Hello.")

    install.plays["Say hello."] = greet
    done = services.turns.submit(key, "Say hello.", source="test")
    eventually(lambda: services.turns.get(done.id).status is TurnStatus.DONE)
    eventually(lambda: bool(services.deliveries.list_deliveries(key, limit=1)))
    entry = services.calendar.create_entry(
        key, {"title": "Walk", "prompt": "walk", "start": "2099-01-01T09:00", "repeat": "FREQ=DAILY"}, by=None
    )
    secret = services.calendar.feed_url(key).rpartition("/")[2].removesuffix(".ics")
    delivery = services.deliveries.list_deliveries(key, limit=1)[0]
    return {
        "turn": str(done.id),
        "entry": str(entry.id),
        "app": "clock",
        "path": "www/clock/index.html",
        "conversation": str(done.conversation),
        "notice": str(services.notifications.post(key, "calendar", "A notice.", turn=None, subject="1", offers=()).id),
        "memory": str(services.memories.add_fact(key, "likes tea", by="bob").id),
        "delivery": str(delivery.id),
        "point": str(services.restores.create_point(key, "before").id),
        "secret": secret,
        "token": services.deliveries.download_link(delivery).rpartition("/")[2],
    }


def _begin(install: AppFixture, key: CubicleKey, ids: dict[str, str]) -> tuple[Turn, Turn]:
    """What is under way: a turn that asks for two things and a message behind it."""
    services = install.services

    def work(scene: Scene) -> None:
        install.steps.start_step(key, scene.turn.id, 1, thought="", command="rm -rf old", approval=None)
        install.steps.ask_person(key, scene.turn.id, 1)
        asked = {"question": "Which one?", "choices": ["a", "b"]}
        install.app._capabilities.calls.run_command(Caller(key, scene.turn.id), "which", "ASK", asked)
        scene.wait_for_stop()

    install.plays["Work."] = work
    held = services.turns.submit(key, "Work.", source="test")
    eventually(lambda: bool(services.questions.list_questions(status="pending")))
    waiting = services.turns.submit(key, "And then?", source="test")
    ids["approval"] = services.approvals.list_approvals(status=ApprovalStatus.PENDING)[0].id
    ids["question"] = services.questions.list_questions(status="pending")[0].id
    return held, waiting


def _paths(closed: Closed) -> Iterator[tuple[str, str, str]]:
    """Every route with each of its methods: the path with the closed agent and what is its member's there, and the
    same for an agent and things that don't exist."""
    for rule in closed.app.url_map.iter_rules():
        if rule.rule in NO_END or rule.rule.startswith(("/static/", "/login", "/api/me/")) or rule.rule == "/logout":
            continue
        real, none = rule.rule, rule.rule
        for argument in re.findall(r"<[^>]+>", rule.rule):
            name = argument.strip("<>").rpartition(":")[2]
            missing = "987654" if argument.startswith("<id:") else "none"
            if argument == "<path:token>":
                real, none = real.replace(argument, "none"), none.replace(argument, "none")
            real = real.replace(argument, AGENT if name == "name" else closed.ids.get(name, missing))
            none = none.replace(argument, NOWHERE if name == "name" else missing)
        for method in sorted((rule.methods or set()) - {"HEAD"}):
            yield method, real, none


BODIES: tuple[dict[str, Any], ...] = (
    {},
    {"text": "hi", "decision": "deny", "answer": "a", "do": "x", "name": "n", "turn": 1, "title": "t", "user": 1},
)


def test_nothing_of_a_closed_agent_is_found_by_any_route(closed: Closed) -> None:
    """Each request about it, and about what is in it, is answered as for an agent that doesn't exist, letter by letter;
    nothing else mentions it."""
    seen = 0
    for (method, real, none), body in product(_paths(closed), BODIES):
        for ask in (_by_token, _by_session):
            found, missing = ask(closed, method, real, body), ask(closed, method, none, body)
            about = f"{ask.__name__} {method} {real}"
            assert found.status_code == missing.status_code, (about, found.get_data(as_text=True)[:300])
            if real != none:
                seen += 1
                assert found.status_code >= 400, about
                assert _plain(found, closed) == _plain(missing, closed), about
            else:
                assert AGENT not in found.get_data(as_text=True), about
            found.close()
            missing.close()
    assert seen > 400


def _by_token(closed: Closed, method: str, path: str, body: dict[str, Any]) -> TestResponse:
    return closed.app.test_client().open(
        path, method=method, headers={"Authorization": f"Bearer {closed.member.token}"}, json=body
    )


def _by_session(closed: Closed, method: str, path: str, body: dict[str, Any]) -> TestResponse:
    headers = {"Origin": "http://localhost", "X-CSRF-Token": closed.browser.csrf}
    return closed.browser.client.open(path, method=method, headers=headers, json=body)


def _plain(answer: TestResponse, closed: Closed) -> str:
    """What was said, without what the request named."""
    text = answer.get_data(as_text=True).replace(AGENT, "A").replace(NOWHERE, "A")
    return re.sub(r"\d+", "N", text)


def test_asking_for_it_by_name_finds_nothing(closed: Closed) -> None:
    """Searches and filters of every page and list answer as for a name that no agent has."""
    for method, path, none in _paths(closed):
        if method != "GET" or path != none:
            continue
        for query in ("q={0}", "agent={0}", "q=hello&agent={0}&view=list"):
            found, missing = (
                _by_session(closed, method, f"{path}?{query.format(name)}", {}) for name in (AGENT, NOWHERE)
            )
            assert (found.status_code, _plain(found, closed)) == (missing.status_code, _plain(missing, closed)), path
            found.close()
            missing.close()


def test_what_a_member_tries_changes_nothing(closed: Closed) -> None:
    """After all that, their turns, calendar, memories and files are as they were when it was closed."""
    services, key = closed.install.services, closed.key
    assert [turn.id for turn in services.turns.list_history(key)] == [
        int(closed.ids["turn"]), closed.held.id, closed.waiting.id
    ]  # fmt: skip
    assert [entry.title for entry in services.calendar.list_entries(AGENT, key.user)] == ["Walk"]
    assert services.memories.get_fact(key, int(closed.ids["memory"])).text == "likes tea"
    assert services.workspaces.read_head(key, (b"www", b"clock", b"index.html"), max_bytes=99) == b"<p>clock</p>"
    with pytest.raises(NotFound):
        services.turns.submit(key, "hello", source="telegram")
    with pytest.raises(NotFound):
        services.cubicles.ensure_running(key)


def test_what_was_under_way_has_ended(closed: Closed) -> None:
    """The turn is stopped, the message behind it failed, both questions are cancelled and the calendar is paused; the
    container doesn't run, and the audit log knows who closed it."""
    services = closed.install.services
    assert services.turns.get(closed.held.id).status is TurnStatus.STOPPED
    waiting = services.turns.get(closed.waiting.id)
    assert (waiting.status, "may not use" in str(waiting.error)) == (TurnStatus.FAILED, True)
    assert services.approvals.get(closed.ids["approval"]).status is ApprovalStatus.CANCELLED
    assert services.questions.get_question(closed.ids["question"]).status == "cancelled"
    assert services.calendar.get_entry(int(closed.ids["entry"])).status is EntryStatus.PAUSED
    assert closed.key not in services.cubicles.list_running()
    assert services.audit.search_records(kind="agent.access")[0].text.startswith(
        f"Agent {AGENT} is for operators alone"
    )


def test_what_asks_at_the_source_is_refused_too(closed: Closed) -> None:
    """Whichever surface comes, a chat or a notification: what decides looks for itself."""
    services, bob = closed.install.services, closed.member.user
    tries: tuple[Callable[[], object], ...] = (
        lambda: services.approvals.decide(closed.ids["approval"], approve=True, by=bob, surface="push"),
        lambda: services.questions.answer_question(closed.ids["question"], "a", by=bob, surface="push"),
        lambda: services.notifications.press_button(int(closed.ids["notice"]), "x", by=bob, surface="push"),
    )
    for attempt in tries:
        with pytest.raises(NotFound):
            attempt()


def test_no_news_of_a_closed_agent_reaches_them(closed: Closed) -> None:
    """Neither of their own part of it, nor that it was changed; of another agent they hear."""
    services = closed.install.services
    stream = closed.member.client.get("/api/events", headers={"Authorization": f"Bearer {closed.member.token}"})
    heard = iter(stream.response)
    next(heard)
    services.notifications.post(closed.key, "calendar", "Nobody hears this.", turn=None, subject="1", offers=())
    services.agents.update_agent(AGENT, {"role": "Other"})
    services.agents.update_agent("crab", {"role": "Other"})
    assert '"crab"' in str(next(heard))
    stream.close()


def test_a_ticket_for_its_apps_shows_nothing_any_more(closed: Closed) -> None:
    """Whatever page is still open: neither their own app, nor one of it that somebody shares with them."""
    previews, services = closed.install.services.previews, closed.install.services
    login = services.users.login_of(closed.member.token)
    services.access.set_people(AGENT, [closed.member.user.id], by="ada")
    own = previews.frame_url(previews.get_app(closed.key, "clock"), dashboard="http://localhost", login=login)
    theirs = CubicleKey(AGENT, closed.operator.user.id)
    www = services.workspaces.prepare_folders(theirs, uid=os.geteuid(), gid=os.getegid()).www
    (www / "clock").mkdir()
    (www / "clock" / "index.html").write_text("<p>clock</p>")
    previews.shares.add_guest(theirs, "clock", closed.member.user, by="ada")
    shared = previews.frame_url(previews.get_app(theirs, "clock"), dashboard="http://localhost", login=login)
    urls = (own, shared)
    assert [requests.get(url, headers=FRAME, timeout=10).status_code for url in urls] == [200, 200]
    services.access.set_people(AGENT, [], by="ada")
    assert [requests.get(url, headers=FRAME, timeout=10).status_code for url in urls] == [404, 404]
    assert closed.member.get("/apps")["apps"] == []


def test_operators_see_all_as_before(closed: Closed) -> None:
    """The agent, the member's conversation and whom it is for; nobody else is told that."""
    agent = closed.operator.get(f"/agents/{AGENT}")
    assert agent["people"] == []
    assert closed.operator.get("/agents/crab")["people"] is None
    assert "people" not in closed.member.get("/agents/crab")
    assert closed.operator.get(f"/agents/{AGENT}/history?user={closed.member.user.id}")["turns"]


def test_whoever_is_let_in_again_finds_everything(closed: Closed) -> None:
    """Files, conversation and the calendar, which they resume themselves; and a demoted operator is a member."""
    closed.operator.call("PATCH", f"/agents/{AGENT}", {"people": [closed.member.user.id]})
    assert closed.member.get(f"/agents/{AGENT}/history")["turns"]
    assert closed.member.get(f"/agents/{AGENT}/calendar/{closed.ids['entry']}")["status"] == "paused"
    file = closed.member.call("GET", f"/agents/{AGENT}/files/www/clock/index.html")
    assert file.get_data() == b"<p>clock</p>"
    file.close()
    closed.operator.call("PATCH", f"/agents/{AGENT}", {"people": []})
    assert closed.member.refused("GET", f"/agents/{AGENT}")[0] == 404


def test_what_people_may_be(closed: Closed) -> None:
    """A list of numbers of people, or null; a refusal changes nothing, in a new agent nothing is made."""
    wrong: object
    for wrong in ("bob", [True], ["1"], [99_999], [1.5], {}):
        assert closed.operator.refused("PATCH", f"/agents/{AGENT}", {"role": "x", "people": wrong})[0] == 400, wrong
        assert closed.operator.refused("POST", "/agents", {"name": "unmade", "people": wrong})[0] == 400, wrong
    assert closed.operator.get(f"/agents/{AGENT}")["role"] != "x"
    assert closed.operator.refused("GET", "/agents/unmade")[0] == 404
    made = closed.operator.post("/agents", {"name": "made", "people": [closed.member.user.id]})
    assert made["people"] == [closed.member.user.id]
    assert closed.member.get("/agents/made")["name"] == "made"


def test_a_demoted_operator_is_a_member_at_once(webapp: AppFixture, app: Flask, operator: Api) -> None:
    """What an operator began with an agent that is closed to members ends with their role, also when it runs."""
    services = webapp.services
    ann = services.users.add({"name": "ann", "role": Role.OPERATOR})
    services.access.set_people("crab", [], by="ada")
    webapp.plays["Work."] = lambda scene: scene.wait_for_stop()
    turn = services.turns.submit(CubicleKey("crab", ann.id), "Work.", source="test")
    eventually(lambda: services.turns.get(turn.id).status is TurnStatus.RUNNING)
    operator.call("PATCH", f"/users/{ann.id}", {"role": "member"})
    assert services.turns.get(turn.id).status is TurnStatus.STOPPED
    assert someone(webapp, app, ann).get("/agents") == {"agents": []}


def test_a_crash_right_after_closing_leaves_nothing_under_way(webapp: AppFixture, member: Api) -> None:
    """What the row says is done at the next start, and whenever it is looked at."""
    services, key = webapp.services, CubicleKey("crab", member.user.id)
    webapp.plays["Work."] = lambda scene: scene.wait_for_stop()
    turn = services.turns.submit(key, "Work.", source="test")
    eventually(lambda: services.turns.get(turn.id).status is TurnStatus.RUNNING)
    with webapp.app._store.writing() as db:
        db.execute("UPDATE agents SET is_limited = 1")
    webapp.app._closing.end_closed()
    assert services.turns.get(turn.id).status is TurnStatus.STOPPED
    told = services.notifications.list_recent(key)
    webapp.app._closing.end_closed()
    assert services.notifications.list_recent(key) == told
    assert [notice.kind for notice in told] == ["access"]
