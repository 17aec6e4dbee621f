"""``orchestrator.operations.watchdog``: one pass at a time, with a clock that the test sets."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.agents.cubicles import Cubicles, InstallId
from orchestrator.core.errors import Unavailable
from orchestrator.core.models import CubicleKey, Turn, TurnStatus
from orchestrator.operations.watchdog import SILENCE_S, STOP_GRACE_S, Watchdog
from tests.support.core_fixture import KEY, CoreFixture, core_fixture
from tests.support.fakes import DeadEngine
from tests.support.histories import KeptHistories

NAME = "hermit-abcd1234-crab-1"


class _NoDoors:
    def __init__(self) -> None:
        self.on_renew: Callable[[], object] = lambda: None

    def open(self, key: CubicleKey, *, uid: int, gid: int) -> None:
        """Nothing to open."""

    def renew(self, key: CubicleKey, *, uid: int, gid: int) -> None:
        """Nothing to renew, but for what the test does then."""
        self.on_renew()

    def close(self, key: CubicleKey) -> None:
        """Nothing to close."""


class Post:
    """A watch and what it looks after."""

    def __init__(self, install: CoreFixture) -> None:
        self.install = install
        self.engine = DeadEngine()
        self.engine.is_dead = False
        self.woken: list[CubicleKey] = []
        self.waking: set[CubicleKey] = set()
        self.busy: set[CubicleKey] = set()
        self.doors = _NoDoors()
        self.cubicles = Cubicles(
            histories=KeptHistories(),
            install=InstallId("abcd1234", str(install.home), "", is_root=False, uid=os.geteuid(), gid=os.getegid()),
            store=install.store,
            engine=self.engine,
            workspaces=install.workspaces,
            doors=self.doors,
            agents=install.agents,
            broker=install.broker,
            hooks=install.hooks,
            image_tag=lambda target: target,
        )
        self.watch = Watchdog(
            turns=install.turns,
            cubicles=self.cubicles,
            approvals=install.approvals,
            agents=install.agents,
            wake=self.woken.append,
            is_waking=self.waking.__contains__,
            is_busy=self.busy.__contains__,
            hooks=install.hooks,
            tidy=(install.store.checkpoint_log,),
        )
        self.now = time.monotonic()

    def running(self) -> Turn:
        """A turn in a cubicle that runs."""
        self.cubicles.ensure_running(KEY)
        return self.install.under_way()

    def look(self, later_s: float = 0.0) -> None:
        """A pass, some time after the last."""
        self.now += later_s
        self.watch.run_once(self.now)

    def status(self, turn: Turn) -> TurnStatus:
        """How a turn stands."""
        return self.install.turns.get(turn.id).status


@pytest.fixture
def post(tmp_path: Path) -> Iterator[Post]:
    """A watch over a fresh install."""
    with core_fixture(tmp_path / "home") as made:
        yield Post(made)


def test_leaves_alone_what_goes_well(post: Post) -> None:
    """A running turn in a running cubicle."""
    turn = post.running()
    for _ in range(5):
        post.look(1)
    assert post.status(turn) is TurnStatus.RUNNING
    assert post.woken == []


def test_a_turn_whose_cubicle_ended_is_begun_again(post: Post) -> None:
    """And its cubicle woken, when nothing had been done yet."""
    turn = post.running()
    post.engine.kill(NAME)
    post.look(1)
    assert post.status(turn) is TurnStatus.QUEUED
    assert post.woken == [KEY]


def test_a_turn_whose_cubicle_ended_at_work_fails_with_the_reason(post: Post) -> None:
    """What ended it is said."""
    turn = post.running()
    post.install.steps.start_step(KEY, turn.id, 1, thought="", command="ls", approval=None)
    post.engine.kill(NAME, "its container was killed, perhaps because it used more memory than it may")
    post.look(1)
    assert post.status(turn) is TurnStatus.FAILED
    assert "more memory" in (post.install.turns.get(turn.id).error or "")


def test_its_door_is_another_before_its_turn_is_given_up(post: Post) -> None:
    """A crab that lives on in a container that the engine forgot hears of nothing, and ends nothing."""
    turn, states = post.running(), []
    stopped: list[int] = []
    post.install.hooks.turn_stopping.subscribe(lambda moment: stopped.append(moment.turn))
    post.engine.kill(NAME)
    post.doors.on_renew = lambda: states.append((post.status(turn), tuple(stopped)))
    post.look(1)
    assert states == [(TurnStatus.RUNNING, ())]
    assert (post.status(turn), stopped) == (TurnStatus.QUEUED, [turn.id])


def test_a_door_that_can_not_be_replaced_keeps_no_turn(post: Post) -> None:
    """The old one is closed by then."""
    turn = post.running()
    post.engine.kill(NAME)

    def refuse() -> None:
        raise Unavailable("The door can't be opened.")

    post.doors.on_renew = refuse
    post.look(1)
    assert post.status(turn) is TurnStatus.QUEUED


def test_a_cubicle_that_was_started_meanwhile_keeps_its_turn(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked at once more when nobody else can start it."""
    turn = post.running()
    post.engine.kill(NAME)
    poll = post.cubicles.poll
    monkeypatch.setattr(post.cubicles, "poll", lambda key: (poll(key), post.cubicles.ensure_running(key))[0])
    post.look(1)
    assert post.status(turn) is TurnStatus.RUNNING


def test_a_cubicle_that_is_being_started_is_not_gone(post: Post) -> None:
    """Its turn waits for the start's end."""
    turn = post.running()
    post.engine.kill(NAME)
    post.waking.add(KEY)
    post.look(1)
    assert post.status(turn) is TurnStatus.RUNNING


def test_a_stop_that_nobody_heeds_is_enforced(post: Post) -> None:
    """After its grace, by stopping the container; not before."""
    turn = post.running()
    post.install.turns.stop(turn.id)
    post.look()
    post.look(STOP_GRACE_S - 0.1)
    assert post.status(turn) is TurnStatus.RUNNING
    post.look(0.2)
    assert post.status(turn) is TurnStatus.STOPPED
    assert post.engine.stopped == [NAME]
    assert post.install.lock_names() == set()


def test_a_stop_that_was_heeded_needs_no_force(post: Post) -> None:
    """The next turn in that cubicle is not hit by the old stop."""
    turn = post.running()
    post.install.turns.stop(turn.id)
    post.look()
    post.install.turns.end_turn(KEY, turn.id, TurnStatus.STOPPED)
    after = post.install.under_way("b")
    post.look(STOP_GRACE_S * 3)
    assert post.status(after) is TurnStatus.RUNNING
    assert post.engine.stopped == []


def test_a_crab_that_falls_silent_is_ended(post: Post) -> None:
    """Beyond its longest command and some; a word from it starts the count again."""
    turn = post.running()
    patience_s = post.install.crab.command_timeout_s + SILENCE_S
    post.look()
    post.look(patience_s - 1)
    post.watch._heard[KEY] = post.now
    post.look(patience_s - 1)
    assert post.status(turn) is TurnStatus.RUNNING
    post.look(2)
    assert post.engine.stopped == [NAME]
    assert post.status(turn) in (TurnStatus.QUEUED, TurnStatus.FAILED)


@pytest.mark.parametrize("why", ["a model call", "a question"])
def test_waiting_is_no_silence(post: Post, why: str) -> None:
    """For a model, or for a person, it may wait for days."""
    turn = post.running()
    if why == "a model call":
        post.busy.add(KEY)
    else:
        post.install.steps.start_step(KEY, turn.id, 1, thought="", command="rm -rf x", approval=None)
        post.install.steps.ask_person(KEY, turn.id, 1)
    for _ in range(5):
        post.look(100_000)
    assert post.engine.stopped == []
    assert not post.status(turn).is_final


def test_questions_expire_by_themselves(post: Post) -> None:
    """Nobody needs to look at the inbox for it."""
    turn = post.running()
    post.install.steps.start_step(KEY, turn.id, 1, thought="", command="rm -rf x", approval=None)
    approval = post.install.steps.ask_person(KEY, turn.id, 1)
    with post.install.store.writing() as db:
        db.execute("UPDATE approvals SET expires_at = 1")
    post.look(1)
    assert post.install.approvals.get(approval.id).status == "expired"


def test_a_queue_that_nobody_serves_wakes_its_cubicle(post: Post) -> None:
    """At every pass until somebody does."""
    post.install.turns.submit(KEY, "a", source="test")
    post.look(1)
    post.look(1)
    assert post.woken == [KEY, KEY]
    post.running()
    post.look(1)
    assert post.woken == [KEY, KEY]


def test_an_engine_that_does_not_answer_costs_no_turn(post: Post) -> None:
    """The pass is given up, the next one looks again."""
    turn = post.running()
    post.engine.is_dead = True
    with pytest.raises(Unavailable):
        post.look(1)
    post.engine.is_dead = False
    post.look(1)
    assert post.status(turn) is TurnStatus.RUNNING


def test_the_thread_begins_and_ends(post: Post) -> None:
    """Closing one that was never begun is fine, too."""
    post.watch.close()
    other = Post(post.install)
    other.watch.start()
    assert "watch" in [thread.name for thread in threading.enumerate()]
    other.watch.close()
    assert "watch" not in [thread.name for thread in threading.enumerate()]
