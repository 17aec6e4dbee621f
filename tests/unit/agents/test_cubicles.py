"""``orchestrator.agents.cubicles`` and ``wake``: containers are wanted here and made by the engine, whatever that
does.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from orchestrator.agents import deletion_rows as leaving
from orchestrator.agents.cubicles import Cubicles, InstallId
from orchestrator.agents.waker import Waker
from orchestrator.core.errors import NotFound, Unavailable, WallMissing
from orchestrator.core.hooks import CubicleFailed
from orchestrator.core.models import CubicleKey, TurnStatus
from tests.support.core_fixture import KEY, OTHER, CoreFixture, at_once, core_fixture
from tests.support.fakes import DeadEngine, FakeEngine, RefusingEngine, SlowEngine
from tests.support.histories import KeptHistories

NAME = "hermit-abcd1234-crab-1"


class FakeDoors:
    """Remembers which doors are open."""

    def __init__(self) -> None:
        self.now_open: dict[CubicleKey, tuple[int, int]] = {}
        self.renewed: list[CubicleKey] = []

    def open(self, key: CubicleKey, *, uid: int, gid: int) -> None:
        """It is open."""
        self.now_open[key] = (uid, gid)

    def renew(self, key: CubicleKey, *, uid: int, gid: int) -> None:
        """It is another one."""
        self.renewed.append(key)
        self.open(key, uid=uid, gid=gid)

    def close(self, key: CubicleKey) -> None:
        """It is closed."""
        self.now_open.pop(key, None)


class Block:
    """Cubicles over an engine."""

    def __init__(self, install: CoreFixture, engine: FakeEngine, *, image: str = "v1") -> None:
        self.engine = engine
        self.doors = FakeDoors()
        self.hooks = install.hooks
        self.cubicles = Cubicles(
            histories=KeptHistories(),
            install=InstallId("abcd1234", str(install.home), "", is_root=False, uid=os.geteuid(), gid=os.getegid()),
            store=install.store,
            engine=engine,
            workspaces=install.workspaces,
            doors=self.doors,
            agents=install.agents,
            broker=install.broker,
            hooks=install.hooks,
            image_tag=lambda target: f"hermitshell/cubicle:{target}-{image}",
        )


@pytest.fixture
def install(tmp_path: Path) -> Iterator[CoreFixture]:
    """The rules over a fresh database."""
    with core_fixture(tmp_path / "home") as made:
        yield made


def test_a_cubicle_is_started_with_its_door_open(install: CoreFixture) -> None:
    """Named after install, agent and person; the spec says what the agent's settings say; told once."""
    block = Block(install, FakeEngine())
    container = block.cubicles.ensure_running(KEY)
    assert (container.name, container.image) == (NAME, "hermitshell/cubicle:base-v1")
    spec = block.engine.specs[0]
    assert (spec.install, spec.limits, spec.key) == ("abcd1234", install.crab.limits, KEY)
    assert spec.mounts.work.is_dir()
    assert set(block.doors.now_open) == {KEY}
    assert block.cubicles.ensure_running(KEY).id == container.id
    assert block.doors.renewed == [KEY], "one container, one door of its own"
    assert [row.text for row in install.audited("cubicle.started")] == ["The cubicle of crab for ada started."]
    assert block.cubicles.list_running() == {KEY}
    assert block.cubicles.poll(KEY) is None


def test_twenty_at_once_are_one_container(install: CoreFixture) -> None:
    """Whoever asks gets the same."""
    block = Block(install, FakeEngine())
    results = at_once(*[partial(block.cubicles.ensure_running, KEY)] * 20)
    assert len({container.id for container in results}) == 1
    assert len(install.audited("cubicle.started")) == 1


def test_cubicles_of_root_run_as_users_of_their_own(install: CoreFixture) -> None:
    """Each keeps its number for ever."""
    block = Block(install, FakeEngine())
    block.cubicles._install = InstallId("abcd1234", str(install.home), "", is_root=True, uid=0, gid=0)
    numbers = [block.cubicles._choose_ids(key) for key in (KEY, OTHER, KEY)]
    first, second, again = (uid for uid, gid in numbers if uid == gid)
    assert again == first
    assert 20_000 <= first < 21_000
    assert second == 20_000 + (first - 20_000 + 1) % 1_000


def test_starting_by_hand_replaces_nothing_that_runs(install: CoreFixture) -> None:
    """New settings wait for the moment between two turns."""
    block = Block(install, FakeEngine())
    block.cubicles.start(KEY)
    first = block.cubicles.ensure_running(KEY).id
    install.agents.update_agent(KEY.agent, {"limits": {"memory_mb": 256}})
    block.cubicles.start(KEY)
    assert [container.id for container in block.engine.list_containers()] == [first]
    block.cubicles.stop(KEY)
    block.cubicles.start(KEY)
    assert block.engine.specs[-1].limits.memory_mb == 256


def test_stopping_and_resetting(install: CoreFixture) -> None:
    """Stopped twice is told once; a reset makes another container over the same workspace."""
    block = Block(install, FakeEngine())
    first = block.cubicles.ensure_running(KEY)
    (block.engine.specs[0].mounts.work / "kept").write_text("x")
    block.cubicles.stop(KEY)
    block.cubicles.stop(KEY)
    assert len(install.audited("cubicle.stopped")) == 1
    assert not block.cubicles.get_state(KEY).running
    second = block.cubicles.reset(KEY)
    assert second.id != first.id
    assert (block.engine.specs[0].mounts.work / "kept").read_text() == "x"
    assert block.cubicles.get_state(KEY).usage is not None


def test_removing_an_agent_leaves_nothing(install: CoreFixture) -> None:
    """Containers, doors and folders of all its people."""
    block = Block(install, FakeEngine())
    for key in (KEY, OTHER):
        block.cubicles.ensure_running(key)
    block.cubicles.remove_agent("crab")
    assert block.engine.containers == {}
    assert block.doors.now_open == {}
    assert not (install.home / "workspaces" / "crab").exists()
    block.cubicles.remove_agent("crab")


def test_nothing_of_an_agent_starts_while_it_is_deleted(install: CoreFixture) -> None:
    """A start that was under way is waited for and undone; later ones are refused."""
    engine = SlowEngine()
    block = Block(install, engine)
    starting = threading.Thread(target=block.cubicles.ensure_running, args=(KEY,))
    starting.start()
    assert engine.asked.wait(5)
    with install.store.writing() as db:
        leaving.mark_agent(db, "crab", 0)
    removing = threading.Thread(target=block.cubicles.remove_agent, args=("crab",))
    removing.start()
    engine.gate.set()
    removing.join(5)
    assert engine.containers == {}
    with pytest.raises(NotFound, match="being deleted"):
        block.cubicles.ensure_running(OTHER)
    starting.join(5)


def test_a_start_adopts_what_runs_and_clears_what_is_nobodys(install: CoreFixture) -> None:
    """Doors open again for running cubicles; containers of unknown cubicles go."""
    engine = FakeEngine()
    before = Block(install, engine)
    for key in (KEY, OTHER):
        before.cubicles.ensure_running(key)
    engine.containers["stray"] = engine.containers[NAME]
    stray = engine.containers.pop("stray")
    engine.containers["hermit-abcd1234-gone-1"] = type(stray)(
        "x", "hermit-abcd1234-gone-1", CubicleKey("gone", 1), "i", "s", running=True, started_at=0.0
    )
    engine.kill("hermit-abcd1234-crab-2")
    after = Block(install, engine)
    after.cubicles.reconcile()
    assert set(engine.containers) == {NAME}
    assert set(after.doors.now_open) == {KEY}


def test_what_a_death_left_frozen_goes_on(install: CoreFixture) -> None:
    """At our next start, and where a turn needs it first."""
    engine = FakeEngine()
    Block(install, engine).cubicles.ensure_running(KEY)
    engine.freeze(NAME)
    assert [container.is_frozen for container in engine.list_containers()] == [True]
    assert not engine.is_at_rest(NAME)
    after = Block(install, engine)
    after.cubicles.reconcile()
    assert engine.frozen == set()
    engine.freeze(NAME)
    after.cubicles.ensure_running(KEY)
    assert engine.frozen == set()


def test_changed_settings_reach_an_idle_cubicle_before_its_next_turn(install: CoreFixture) -> None:
    """Once replaced it is fresh; unchanged ones are never looked at again."""
    block = Block(install, FakeEngine())
    first = block.cubicles.ensure_running(KEY)
    assert block.cubicles.is_fresh(KEY)
    install.agents.update_agent("crab", {"limits": {"cpus": 2}})
    block.cubicles.mark_agent_changed("crab")
    assert not block.cubicles.is_fresh(KEY)
    assert block.cubicles.ensure_running(KEY).id != first.id
    assert block.cubicles.is_fresh(KEY)


def test_a_stopped_cubicle_is_not_fresh_until_it_runs_again(install: CoreFixture) -> None:
    """From before the engine stops it, so that a message meanwhile has it started again."""
    engine = FakeEngine()
    block = Block(install, engine)
    block.cubicles.ensure_running(KEY)
    seen: list[bool] = []
    engine.on_stop = lambda _: seen.append(block.cubicles.is_fresh(KEY))
    block.cubicles.stop(KEY)
    assert (seen, block.cubicles.is_fresh(KEY)) == ([False], False)
    block.cubicles.ensure_running(KEY)
    assert block.cubicles.is_fresh(KEY)


def test_a_change_while_a_cubicle_is_started_is_noticed(install: CoreFixture) -> None:
    """It is out of date until it is looked at once more."""
    engine = SlowEngine()
    block = Block(install, engine)
    block.cubicles._mark_changed(KEY)
    starting = threading.Thread(target=block.cubicles.ensure_running, args=(KEY,))
    starting.start()
    assert engine.asked.wait(5)
    assert not block.cubicles.is_fresh(KEY)
    block.cubicles.mark_agent_changed("crab")
    engine.gate.set()
    starting.join(5)
    assert not block.cubicles.is_fresh(KEY)


def test_an_engine_that_does_not_answer_is_said(install: CoreFixture) -> None:
    """And nothing is remembered of the attempt."""
    engine = DeadEngine()
    block = Block(install, engine)
    with pytest.raises(Unavailable, match="does not answer"):
        block.cubicles.ensure_running(KEY)
    engine.is_dead = False
    assert block.cubicles.ensure_running(KEY).running
    with pytest.raises(NotFound):
        block.cubicles.ensure_running(CubicleKey("nobody", 1))


# --- waking ----------------------------------------------------------------------------------------------------


def test_no_turn_is_handed_out_before_the_engine_is_content(install: CoreFixture) -> None:
    """A crab that asks while its walls are still looked at is told nothing; afterwards it is."""
    engine = FakeEngine()
    block = Block(install, engine)
    seen: list[bool] = []
    engine.on_start = lambda key: seen.append(block.cubicles.is_fresh(key))
    block.cubicles.ensure_running(KEY)
    assert (seen, block.cubicles.is_fresh(KEY)) == ([False], True)


class Ward:
    """A waker and what it reported."""

    def __init__(self, block: Block) -> None:
        self.failures: list[tuple[CubicleKey, str]] = []
        self.reported = threading.Event()
        block.hooks.cubicle_failed.subscribe(self._note)
        self.waker = Waker(block.cubicles, block.hooks)

    def _note(self, failed: CubicleFailed) -> None:
        self.failures.append((failed.cubicle, failed.why))
        self.reported.set()


def test_waking_returns_at_once_and_starts_once(install: CoreFixture) -> None:
    """Ten calls while the engine is slow make one start."""
    engine = SlowEngine()
    ward = Ward(Block(install, engine))
    for _ in range(10):
        ward.waker.wake(KEY)
    assert engine.asked.wait(5)
    assert ward.waker.is_waking(KEY)
    engine.gate.set()
    ward.waker.close()
    assert len(engine.specs) == 1
    assert ward.failures == []


def test_a_missing_wall_is_told_at_once(install: CoreFixture) -> None:
    """It is not tried again, as that would end the same way."""
    engine = FakeEngine()

    def refuse(_: CubicleKey) -> None:
        raise WallMissing("A cubicle has a network (eth0).")

    engine.on_start = refuse
    ward = Ward(Block(install, engine))
    ward.waker.wake(KEY)
    assert ward.reported.wait(5)
    ward.waker.close()
    assert ward.failures == [(KEY, "A cubicle has a network (eth0).")]
    assert len(engine.specs) == 1


def test_an_engine_that_restarts_is_waited_for(install: CoreFixture) -> None:
    """Nothing fails meanwhile."""
    engine = DeadEngine()
    ward, started = Ward(Block(install, engine)), threading.Event()
    engine.on_start = lambda _: started.set()
    ward.waker.wake(KEY)
    engine.is_dead = False
    assert started.wait(5)
    ward.waker.close()
    assert ward.failures == []


def test_what_can_not_start_fails_every_message_with_the_reason(install: CoreFixture) -> None:
    """Each gets its outcome."""
    turns = [install.turns.submit(KEY, text, source="test") for text in "ab"]
    ward = Ward(Block(install, RefusingEngine()))
    ward.waker.wake(KEY)
    outcomes = [install.turns.wait_for_end(turn.id, 5) for turn in turns]
    assert [(turn.status, turn.error) for turn in outcomes] == [(TurnStatus.FAILED, "There is no such image.")] * 2
    ward.waker.close()


def test_a_start_that_breaks_is_told_in_plain_words(install: CoreFixture) -> None:
    """Also when it is our own mistake, and the waker goes on."""
    engine = FakeEngine()
    engine.on_start = _break
    ward = Ward(Block(install, engine))
    ward.waker.wake(KEY)
    assert ward.reported.wait(5)
    assert "hermit doctor" in ward.failures[0][1]
    started = threading.Event()
    engine.on_start = lambda _: started.set()
    ward.waker.wake(OTHER)
    assert started.wait(5)
    ward.waker.close()


def test_closing_gives_up_and_leaves_the_messages(install: CoreFixture) -> None:
    """They stay queued for the next start; waking afterwards does nothing."""
    turn = install.turns.submit(KEY, "a", source="test")
    ward = Ward(Block(install, DeadEngine()))
    ward.waker.wake(KEY)
    ward.waker.close()
    ward.waker.wake(KEY)
    assert install.turns.get(turn.id).status is TurnStatus.QUEUED


def _break(_: CubicleKey) -> None:
    raise ZeroDivisionError
