"""A turn on the chat page, as the server makes it: how long things took, and what can be pressed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from tests.house import PaperHouse
from tests.unit.conftest import Api, Browser
from tests.unit.test_dashboard_agent import seen


def decide(paper: PaperHouse, *, approve: bool) -> None:
    """The operator says yes or no as soon as there is a question."""
    services, pause = paper.services, threading.Event()
    while not (pending := services.approvals.every(status="pending")):  # type: ignore[arg-type]
        pause.wait(0.02)
    services.approvals.decide(pending[0].id, approve=approve, by=services.people.operator(), surface="test")


def asked(paper: PaperHouse, operator: Api, times: tuple[str, ...], *, approve: bool = True) -> int:
    """A turn with one command that asked; afterwards the database says when everything was."""
    paper.plays["clean"] = lambda scene: scene.say(str(scene.run(1, "rm -r old")))
    person = threading.Thread(target=partial(decide, paper, approve=approve))
    person.start()
    turn: int = operator.post("/agents/crab/messages", {"text": "clean", "wait": True})["turn"]
    person.join(10)
    with paper.app._store.writing() as db:
        for change in times:
            db.execute(change)
    return turn


def part_of(browser: Browser) -> Callable[[int], str]:
    """What is read of a turn."""
    return lambda turn: seen(browser, f"/parts/turns/{turn}")


def test_the_wait_for_a_person_is_no_run_time(paper: PaperHouse, operator: Api, browser: Browser) -> None:
    """The command ran for four seconds, the agent worked for six; the minute and a half was the person's own."""
    turn = asked(
        paper,
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
    assert "Approved by ada (test) after 1 min 32 s" in told
    assert told.count("1 min 32 s") == 2


def test_a_no_that_took_its_time_is_no_work_either(paper: PaperHouse, operator: Api, browser: Browser) -> None:
    """Nothing ran, and the agent was done in a moment."""
    turn = asked(
        paper,
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
    assert "Denied by ada (test) after 1 min 0 s" in told
