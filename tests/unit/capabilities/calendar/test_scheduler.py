"""The calendar's parts by themselves: who is told, the alarm clock, and the snapshot."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from apscheduler.executors.base import BaseExecutor
from apscheduler.schedulers.base import STATE_STOPPED

from orchestrator.capabilities.calendar.published import PublishedCalendar
from orchestrator.capabilities.calendar.scheduler import CalendarScheduler
from orchestrator.capabilities.calendar.visibility import is_told
from orchestrator.core.errors import Unavailable
from orchestrator.core.models import CALENDAR, CubicleKey, Turn, TurnStatus
from tests.support.app_fixture import run_app

PATIENCE_S = 10.0


@pytest.mark.parametrize(
    ("source", "prompt", "status", "reply", "told"),
    [
        (CALENDAR, "Look", TurnStatus.DONE, "Something", True),
        (CALENDAR, "Look", TurnStatus.DONE, " \n", False),
        (CALENDAR, "Look", TurnStatus.DONE, None, False),
        (CALENDAR, "Look", TurnStatus.FAILED, None, True),
        (CALENDAR, "INTERNAL: tidy up", TurnStatus.DONE, "Tidied up", False),
        (CALENDAR, "  internal: tidy up", TurnStatus.FAILED, None, False),
        (CALENDAR, "Say INTERNAL: to nobody", TurnStatus.DONE, "Yes", True),
        ("telegram", "INTERNAL: tidy up", TurnStatus.DONE, "", True),
    ],
)
def test_who_is_told(source: str, prompt: str, status: TurnStatus, reply: str | None, *, told: bool) -> None:
    """Of a silent run and an internal one nobody is; what a person asked is always answered."""
    turn = Turn(1, CubicleKey("crab", 1), source, prompt, status, reply, None, 0.0, 0.0, 1.0, 0, 0, 1)
    assert is_told(turn) is told


class Ticks:
    """Counts passes, and says when the next thing is due."""

    def __init__(self) -> None:
        self.at: list[float] = []
        self.upcoming: float | None = None
        self.error: Exception | None = None
        self.passed = threading.Condition()

    def tick(self) -> None:
        """One pass."""
        with self.passed:
            self.at.append(time.time())
            if self.upcoming is not None and self.upcoming <= time.time():
                self.upcoming = None
            self.passed.notify_all()
        if self.error is not None:
            raise self.error

    def wait_for(self, count: int) -> bool:
        """So many passes there were."""
        with self.passed:
            return self.passed.wait_for(lambda: len(self.at) >= count, PATIENCE_S)


@pytest.fixture
def ticks() -> Ticks:
    """Passes that are counted."""
    return Ticks()


@pytest.fixture
def clock(ticks: Ticks) -> Iterator[CalendarScheduler]:
    """A clock with a heartbeat that no test waits for."""
    made = CalendarScheduler(ticks.tick, lambda: ticks.upcoming, heartbeat_s=600.0)
    yield made
    made.close()


def test_the_clock_rings_when_something_is_due(clock: CalendarScheduler, ticks: Ticks) -> None:
    """Not before, and soon after; then there is nothing to ring for."""
    ticks.upcoming = due = time.time() + 0.3
    clock.start()
    with ticks.passed:
        assert ticks.passed.wait_for(lambda: ticks.upcoming is None, PATIENCE_S)
        assert ticks.at[-1] >= due
        assert len(ticks.at) <= 2  # one alone where the first pass came that late


def test_an_install_may_stop_just_as_it_rings(
    clock: CalendarScheduler, ticks: Ticks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler is shut down while its thread deals with what is due, and that thread ends without an exception."""
    closing = threading.Thread(target=clock.close)
    submit = BaseExecutor.submit_job

    def submit_job(executor: BaseExecutor, *job: object) -> None:
        submit(executor, *job)
        closing.start()
        while executor._scheduler.state != STATE_STOPPED:
            time.sleep(0.01)

    monkeypatch.setattr(BaseExecutor, "submit_job", submit_job)
    ticks.upcoming = time.time() + 0.2
    clock.start()
    assert ticks.wait_for(1)
    while not closing.ident:
        time.sleep(0.01)
    closing.join(PATIENCE_S)
    assert not closing.is_alive()


def test_a_change_is_looked_at_at_once(clock: CalendarScheduler, ticks: Ticks) -> None:
    """What comes earlier than all before is not slept through."""
    ticks.upcoming = time.time() + 500
    clock.start()
    assert ticks.wait_for(1)
    ticks.upcoming = time.time() + 0.2
    clock.wake()
    assert ticks.wait_for(3)


def test_a_heart_beats_beside_the_clock(ticks: Ticks) -> None:
    """A host whose clock was put back for days is noticed all the same."""
    clock = CalendarScheduler(ticks.tick, lambda: time.time() + 86_400 * 40, heartbeat_s=0.02)
    clock.start()
    assert ticks.wait_for(5)
    clock.close()


@pytest.mark.parametrize("error", [Unavailable("The disk is full."), ZeroDivisionError()])
def test_a_pass_that_breaks_is_not_the_last(clock: CalendarScheduler, ticks: Ticks, error: Exception) -> None:
    """The next one may do better."""
    ticks.error = error
    clock.start()
    assert ticks.wait_for(1)
    clock.wake()
    assert ticks.wait_for(2)


def test_a_snapshot_holds_the_calendar_of_its_cubicle_alone(tmp_path: Path) -> None:
    """Entries in words, what comes due, and what came of them; another person's are not in it."""
    with run_app(tmp_path / "home") as install:
        services = install.services
        calendar, operator = services.calendar, services.users.get_operator()
        key, other = CubicleKey("crab", operator.id), CubicleKey("crab", services.users.add({"name": "ben"}).id)
        fields = {"prompt": "P", "start": "2190-01-01T09:00"}
        mine = calendar.create_entry(key, {"title": "Mine", "repeat": "0 9 * * 1", **fields}, by=operator)
        calendar.create_entry(other, {"title": "Theirs", **fields}, by=operator)
        services.turns.wait_for_end(calendar.run_now(mine.id), PATIENCE_S)
        PublishedCalendar(calendar, install.app._capabilities._calendar.handlers._announcer).build(
            key, tmp_path / "calendar.db"
        )
        published = tmp_path / "home" / "workspaces" / "crab" / str(operator.id) / "data" / "calendar.db"
        assert published.exists()
    with closing(sqlite3.connect(tmp_path / "calendar.db")) as db:
        assert db.execute("SELECT id, title, words FROM entries").fetchall() == [
            (mine.id, "Mine", "every Monday at 09:00")
        ]
        assert db.execute("SELECT entry, turn FROM runs").fetchall() == [(mine.id, 1)]
        assert "changes nothing" in db.execute("SELECT value FROM about WHERE name = 'note'").fetchone()[0]
