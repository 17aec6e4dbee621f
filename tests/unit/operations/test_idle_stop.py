"""``orchestrator.operations.idle_stop``: what has nothing to do sleeps, and no turn is ever cut by that."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.core.models import TurnStatus
from orchestrator.operations.idle_stop import IdleStop
from orchestrator.turns.queue import Turns
from tests.support.core_fixture import KEY, CoreFixture, core_fixture
from tests.support.fakes import DeadEngine
from tests.unit.agents.test_cubicles import NAME, Block

HOUR_S = 3600.0


class Dormitory:
    """A cubicle that runs, and who puts it to sleep."""

    def __init__(self, install: CoreFixture) -> None:
        self.install = install
        self.engine = DeadEngine()
        self.engine.is_dead = False
        self.cubicles = Block(install, self.engine).cubicles
        self.turns = Turns(
            store=install.store,
            broker=install.broker,
            hooks=install.hooks,
            locks=install.locks,
            wake=install.woken.append,
            is_fresh=self.cubicles.is_fresh,
        )
        self.waking = False
        self.now = time.time()
        self.idle_stop = IdleStop(
            self.cubicles, install.store, after_s=HOUR_S, is_waking=lambda _: self.waking, now=lambda: self.now
        )
        self.cubicles.ensure_running(KEY)

    @property
    def is_up(self) -> bool:
        """It runs."""
        return self.cubicles.poll(KEY) is None

    def look(self, later_s: float) -> bool:
        """A look some time later; whether it still runs then."""
        self.now += later_s
        self.idle_stop.run_once()
        return self.is_up


@pytest.fixture
def dormitory(tmp_path: Path) -> Iterator[Dormitory]:
    """A fresh one."""
    with core_fixture(tmp_path / "home") as install:
        yield Dormitory(install)


def test_it_sleeps_after_an_hour(dormitory: Dormitory) -> None:
    """Not before, and the audit log says why."""
    assert dormitory.look(HOUR_S - 60)
    assert not dormitory.look(120)
    assert dormitory.engine.stopped == [NAME]
    assert "nothing to do" in dormitory.install.audited("cubicle.stopped")[0].text
    assert not dormitory.look(HOUR_S)
    assert dormitory.engine.stopped == [NAME]


def test_a_turn_begins_the_hour_anew(dormitory: Dormitory) -> None:
    """From its end on."""
    turn = dormitory.turns.submit(KEY, "go", source="test")
    assert dormitory.turns.take_next(KEY, "boot", 0) is not None
    assert dormitory.look(HOUR_S + 60)
    dormitory.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="done")
    dormitory.now = time.time()
    assert dormitory.look(HOUR_S - 60)
    assert not dormitory.look(120)


@pytest.mark.parametrize("reason", ["it waits", "it is waking", "something runs inside"])
def test_who_is_needed_stays_awake(dormitory: Dormitory, reason: str) -> None:
    """A message in its queue, a start under way, a server that the agent left running."""
    if reason == "it waits":
        dormitory.turns.submit(KEY, "go", source="test")
    elif reason == "it is waking":
        dormitory.waking = True
    else:
        dormitory.engine.busy.add(NAME)
    assert dormitory.look(HOUR_S + 60)
    assert dormitory.engine.stopped == []


def test_no_turn_goes_to_a_cubicle_that_is_being_stopped(dormitory: Dormitory) -> None:
    """A message that comes in that moment is not handed over, but wakes the cubicle again."""
    taken = []

    def is_idle() -> bool:
        answer = dormitory.idle_stop.is_idle(KEY)
        dormitory.turns.submit(KEY, "just now", source="test")
        taken.append(dormitory.turns.take_next(KEY, "boot", 0))
        return answer

    assert dormitory.cubicles.put_to_sleep(KEY, is_idle=is_idle)
    assert taken == [None]
    assert KEY in dormitory.install.woken
    dormitory.cubicles.ensure_running(KEY)
    handed = dormitory.turns.take_next(KEY, "boot", 0)
    assert handed is not None
    assert handed.prompt == "just now"


def test_a_turn_that_came_before_keeps_it_awake(dormitory: Dormitory) -> None:
    """It was claimed between the look and the stop."""
    dormitory.turns.submit(KEY, "go", source="test")
    assert dormitory.turns.take_next(KEY, "boot", 0) is not None
    assert not dormitory.cubicles.put_to_sleep(KEY, is_idle=lambda: dormitory.idle_stop.is_idle(KEY))
    assert dormitory.is_up


def test_never_is_never(dormitory: Dormitory) -> None:
    """No thread is begun, and closing is fine."""
    asleep = IdleStop(dormitory.cubicles, dormitory.install.store, after_s=0, is_waking=lambda _: False)
    asleep.start()
    asleep.close()
    assert dormitory.is_up


@pytest.mark.parametrize("years", [-2, 2])
def test_a_clock_that_jumped_keeps_nobody_awake_for_years(dormitory: Dormitory, years: int) -> None:
    """Back or ahead: it sleeps at once, as after an hour; and a turn is claimed by nobody meanwhile."""
    dormitory.turns.submit(KEY, "go", source="test")
    assert dormitory.look(years * 365 * 24 * HOUR_S)
    turn = dormitory.turns.take_next(KEY, "boot", 0)
    assert turn is not None
    assert dormitory.look(0)
    dormitory.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="done")
    assert not dormitory.look(0)
