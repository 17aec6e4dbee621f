"""``orchestrator.core.periodic``: looks follow one another whatever becomes of each, until they are ended."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator

import pytest

from orchestrator.core.errors import NotFound, Unavailable
from orchestrator.core.periodic import Periodic, guarded

LONG_S = 30.0


class Looks:
    """Each look ends as the next of ``ends`` says; ``done`` is set at the last."""

    def __init__(self, *ends: Exception | None) -> None:
        self.ends = list(ends)
        self.count = 0
        self.done = threading.Event()

    def look(self) -> None:
        self.count += 1
        end = self.ends.pop(0) if self.ends else None
        if not self.ends:
            self.done.set()
        if end is not None:
            raise end


@pytest.fixture
def begin() -> Iterator[Callable[[Periodic], Periodic]]:
    """Starts rounds, and ends them after the test."""
    begun: list[Periodic] = []

    def start(rounds: Periodic) -> Periodic:
        begun.append(rounds)
        rounds.start()
        return rounds

    yield start
    for rounds in begun:
        rounds.close()


def test_a_look_that_fails_is_told_and_followed_by_the_next(
    begin: Callable[[Periodic], Periodic], caplog: pytest.LogCaptureFixture
) -> None:
    """An agent that has gone is no failure; what nobody thought of comes with its traceback."""
    caplog.set_level(logging.INFO)
    looks = Looks(NotFound("No such agent."), Unavailable("The engine is away."), KeyError("x"), None)
    begin(Periodic("pond", looks.look, every_s=lambda: 0.001))
    assert looks.done.wait(LONG_S)
    told = [
        (r.levelname, r.getMessage(), bool(r.exc_info))
        for r in caplog.records
        if r.name == "orchestrator.core.periodic"
    ]
    assert told == [
        ("INFO", "pond: what was looked after has gone: No such agent.", False),
        ("WARNING", "pond: The engine is away.", False),
        ("ERROR", "pond: a look broke", True),
    ]


def test_each_look_waits_as_long_as_is_said_before_it(begin: Callable[[Periodic], Periodic]) -> None:
    """The first one too; and the end does not wait for it."""
    looks, waits = Looks(), iter([0.001, 0.001, LONG_S])
    waiting = threading.Event()

    def every_s() -> float:
        wait_s = next(waits)
        if wait_s == LONG_S:
            waiting.set()
        return wait_s

    rounds = begin(Periodic("pond", looks.look, every_s=every_s))
    assert waiting.wait(LONG_S)
    rounds.close()
    assert looks.count == 2
    assert not _runs("pond")


def test_after_a_failure_it_waits_longer_but_not_beyond_the_end(begin: Callable[[Periodic], Periodic]) -> None:
    """So that what is broken is not asked all the time."""
    looks = Looks(Unavailable("The engine is away."))
    rounds = begin(Periodic("pond", looks.look, every_s=lambda: 0.001, after_failure_s=LONG_S))
    assert looks.done.wait(LONG_S)
    rounds.close()
    assert looks.count == 1
    assert not _runs("pond")


def test_a_long_look_learns_of_the_end(begin: Callable[[Periodic], Periodic]) -> None:
    """It neither works on nor pauses when the install closes."""
    entered = threading.Event()

    def look() -> None:
        entered.set()
        while not rounds.is_ending:
            rounds.pause(LONG_S)

    rounds = Periodic("pond", look, every_s=lambda: 0.001)
    begin(rounds)
    assert entered.wait(LONG_S)
    rounds.close()
    assert not _runs("pond")


def test_what_never_began_ends_at_once() -> None:
    """Nobody waits for a thread that does not run."""
    Periodic("pond", Looks().look, every_s=lambda: LONG_S).close()


def _runs(name: str) -> bool:
    return any(thread.name == name for thread in threading.enumerate())


def test_a_guarded_deed_never_raises(caplog: pytest.LogCaptureFixture) -> None:
    """It says whether something came of it; what failed is in the log, with its traceback where nobody foresaw it."""
    assert guarded("pond", lambda: "a fish")
    assert not guarded("pond", lambda: None)

    def fail(error: Exception) -> None:
        raise error

    assert not guarded("pond", lambda: fail(Unavailable("The engine is away.")))
    assert not guarded("pond", lambda: fail(KeyError("x")))
    told = [(r.levelname, r.getMessage(), bool(r.exc_info)) for r in caplog.records]
    assert told == [("WARNING", "pond: The engine is away.", False), ("ERROR", "pond broke", True)]
