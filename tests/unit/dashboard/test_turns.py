"""A turn on the chat page, as the server makes it: how long things took, and what can be pressed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from tests.support.app_fixture import PATIENCE_S, AppFixture
from tests.unit.conftest import Api, Browser
from tests.unit.dashboard.test_agent import KEY, seen


def decide(webapp: AppFixture, *, approve: bool) -> None:
    """The operator says yes or no as soon as there is a question."""
    services, pause = webapp.services, threading.Event()
    while not (pending := services.approvals.list_approvals(status="pending")):  # type: ignore[arg-type]
        pause.wait(0.02)
    services.approvals.decide(pending[0].id, approve=approve, by=services.users.get_operator(), surface="test")


def asked(webapp: AppFixture, operator: Api, times: tuple[str, ...], *, approve: bool = True) -> int:
    """A turn with one command that asked; afterwards the database says when everything was."""
    webapp.plays["clean"] = lambda scene: scene.say(str(scene.run(1, "rm -r old")))
    person = threading.Thread(target=partial(decide, webapp, approve=approve))
    person.start()
    turn: int = operator.post("/agents/crab/messages", {"text": "clean", "wait": True})["turn"]
    person.join(10)
    with webapp.app._store.writing() as db:
        for change in times:
            db.execute(change)
    return turn


def part_of(browser: Browser) -> Callable[[int], str]:
    """What is read of a turn."""
    return lambda turn: seen(browser, f"/parts/turns/{turn}")


def test_the_wait_for_a_person_is_no_run_time(webapp: AppFixture, operator: Api, browser: Browser) -> None:
    """The command ran for four seconds, the agent worked for six; the minute and a half was the person's own."""
    turn = asked(
        webapp,
        operator,
        (
            "UPDATE turns SET started_at = 1000, ended_at = 1098",
            "UPDATE steps SET started_at = 1001, ended_at = 1097",
            "UPDATE approvals SET asked_at = 1001, decided_at = 1093, used_at = 1093",
        ),
    )
    told = part_of(browser)(turn)
    assert "exit 0 · 4.0 s" in told
    assert "took 6.0 s · waited 1 min 32 s for you" in told
    assert "Approved by ada (test). After 1 min 32 s." in told
    assert told.count("1 min 32 s") == 2


def test_a_no_that_took_its_time_is_no_work_either(webapp: AppFixture, operator: Api, browser: Browser) -> None:
    """Nothing ran, and the agent was done in a moment."""
    turn = asked(
        webapp,
        operator,
        (
            "UPDATE turns SET started_at = 1000, ended_at = 1061",
            "UPDATE steps SET started_at = 1000",
            "UPDATE approvals SET asked_at = 1000, decided_at = 1060",
        ),
        approve=False,
    )
    told = part_of(browser)(turn)
    assert "took 1.0 s · waited 1 min 0 s for you" in told
    assert "Denied by ada (test). After 1 min 0 s." in told


def test_where_a_message_came_from_is_said_in_words(webapp: AppFixture, operator: Api, browser: Browser) -> None:
    """Not by the program's own word for it, and not at all for one that was written on this page."""
    assert "From the API · " in part_of(browser)(
        operator.post("/agents/crab/messages", {"text": "a", "wait": True})["turn"]
    )
    turns = webapp.services.turns
    for source, words in (("telegram", "From Telegram"), ("dashboard", "")):
        turn = turns.wait_for_end(turns.submit(KEY, "b", source=source).id, PATIENCE_S)
        told = part_of(browser)(turn.id)
        assert words in told
        assert source not in told
    assert "from Telegram" in seen(browser, "/agents/crab/search?q=b")


def test_another_persons_answer_was_not_stopped_by_whoever_looks(
    webapp: AppFixture, operator: Api, browser: Browser, member: Api
) -> None:
    """Who stopped it nobody knows later, but it was not you."""
    webapp.plays["long"] = lambda scene: scene.wait_for_stop()
    for api, words in ((operator, "You stopped this answer."), (member, "This answer was stopped.")):
        turn = api.post("/agents/crab/messages", {"text": "long"})["turn"]
        api.post(f"/turns/{turn}/stop")
        webapp.services.turns.wait_for_end(turn, PATIENCE_S)
        assert words in part_of(browser)(turn)
