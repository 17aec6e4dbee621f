"""``orchestrator.operations.quota`` and ``files.free_space``: when is looked, and what follows; a clock and a disk
that the test sets.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from orchestrator.agents.cubicles import Cubicles, InstallId
from orchestrator.core.audit import Audit
from orchestrator.core.errors import Conflict, NotFound, Unavailable
from orchestrator.core.models import CubicleKey, Turn, TurnStatus
from orchestrator.files.free_space import BALLAST_BYTES, Reserve
from orchestrator.files.models import Use
from orchestrator.files.quota import MB, TRIES, QuotaLevel, Room
from orchestrator.files.workspace import Workspaces
from orchestrator.operations.quota.monitor import QuotaMonitor
from orchestrator.operations.quota.sampling import ROUTINE_S, ROUTINE_SHARE, URGENT_SHARE
from orchestrator.turns.rows import TurnClaim
from tests.support.core_fixture import KEY, OTHER, CoreFixture, core_fixture, heard, of_kind, watching
from tests.support.fakes import ENGINE_SILENT, FakeEngine
from tests.support.histories import KeptHistories
from tests.support.small_disks import mounted

NAMES = {KEY: "hermit-abcd1234-crab-1", OTHER: "hermit-abcd1234-crab-2"}
LIMIT_MB = 100
GB = 1 << 30


class NoDoors:
    """Nobody knocks."""

    def open(self, key: CubicleKey, *, uid: int, gid: int) -> None:
        """Nothing to open."""

    def renew(self, key: CubicleKey, *, uid: int, gid: int) -> None:
        """Nothing to renew."""

    def close(self, key: CubicleKey) -> None:
        """Nothing to close."""


class Scales(Workspaces):
    """Workspaces that weigh what the test says; each weighing takes time on the test's clock."""

    def __init__(self, home: Path, clock: Clock) -> None:
        super().__init__(home)
        self.clock = clock
        self.used: dict[CubicleKey, Use] = {}
        self.looks: list[CubicleKey] = []
        self.cost_s = 0.001

    def measure_usage(self, key: CubicleKey, *, max_entries: int = 1_000_000) -> Use:
        """What it was told."""
        self.looks.append(key)
        self.clock.now += self.cost_s
        return self.used.get(key, Use(0, 0, is_complete=True))


class StuckEngine(FakeEngine):
    """Stops nothing while it is stuck."""

    is_stuck = False

    def stop(self, name: str, *, grace_s: float = 2.0) -> None:
        """Raises while stuck."""
        if self.is_stuck:
            raise Unavailable(ENGINE_SILENT)
        super().stop(name, grace_s=grace_s)


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        """The time."""
        return self.now


class FakeDisk(Reserve):
    """A file system of numbers."""

    def __init__(self, ballast: Path) -> None:
        super().__init__(ballast.parent, ballast=ballast)
        self.free = 50 * GB
        self.free_inodes = 1_000_000

    def measure_room(self) -> Room:
        """What is left."""
        return Room(self.free, self.free_inodes, 100 * GB)

    def keep_reserve(self, room: Room) -> None:
        """There is no real disk to keep anything on."""


class Post:
    """A disk that is looked after."""

    def __init__(self, install: CoreFixture, home: Path) -> None:
        self.install = install
        self.clock = Clock()
        self.scales = Scales(home, self.clock)
        self.paper = FakeDisk(home / "ballast")
        self.engine = StuckEngine()
        self.cubicles = Cubicles(
            histories=KeptHistories(),
            install=InstallId("abcd1234", str(home), "", is_root=False, uid=os.geteuid(), gid=os.getegid()),
            store=install.store,
            engine=self.engine,
            workspaces=install.workspaces,
            doors=NoDoors(),
            agents=install.agents,
            broker=install.broker,
            hooks=install.hooks,
            image_tag=lambda target: target,
        )
        self.disk = self.made()

    def made(self) -> QuotaMonitor:
        """A fresh one, as after a restart."""
        self.install.hooks.cubicle_starting.__init__("cubicle_starting")  # type: ignore[misc]  # the one before is gone
        return QuotaMonitor(
            workspaces=self.scales,
            reserve=self.paper,
            agents=self.install.agents,
            cubicles=self.cubicles,
            turns=self.install.turns,
            audit=Audit(self.install.store),
            broker=self.install.broker,
            hooks=self.install.hooks,
            clock=self.clock,
        )

    def running(self, key: CubicleKey = KEY) -> Turn:
        """A turn in a cubicle that runs, which was looked at."""
        self.cubicles.ensure_running(key)
        turn = self.install.under_way(key=key)
        self.look()
        return turn

    def writes(self, megabytes: float, *, key: CubicleKey = KEY, inodes: int = 1) -> None:
        """A cubicle adds files."""
        before = self.scales.used.get(key, Use(0, 0, is_complete=True))
        grown = int(megabytes * MB)
        self.scales.used[key] = Use(before.bytes + grown, before.inodes + inodes, is_complete=True)
        self.paper.free -= grown
        self.paper.free_inodes -= inodes

    def look(self, later_s: float = 0.25) -> None:
        """A pass, some time after the last."""
        self.clock.now += later_s
        self.disk.run_once()

    def turn(self, turn: Turn) -> Turn:
        """The turn as it stands now."""
        return self.install.turns.get(turn.id)


@pytest.fixture
def post(tmp_path: Path) -> Iterator[Post]:
    """A fresh install with a limit of 100 MB."""
    with core_fixture(tmp_path / "home", limits={"disk_mb": LIMIT_MB}) as install:
        yield Post(install, tmp_path / "home")


# --- looking ---------------------------------------------------------------------------------------------------


def test_while_nothing_is_written_nobody_looks(post: Post) -> None:
    """Only the routine look comes, once a minute."""
    post.running()
    before = len(post.scales.looks)
    for _ in range(200):
        post.look()
    assert len(post.scales.looks) == before
    post.look(ROUTINE_S)
    assert len(post.scales.looks) == before + 1


def test_a_cubicle_that_writes_is_looked_at_at_once(post: Post) -> None:
    """In the same pass in which the file system's free space has fallen enough, and not before."""
    post.running()
    before = len(post.scales.looks)
    post.writes(30)
    post.look()
    assert len(post.scales.looks) == before
    post.writes(15)
    post.look()
    assert len(post.scales.looks) == before + 1


def test_many_small_files_are_noticed_too(post: Post) -> None:
    """By the inodes that are left."""
    post.running()
    before = len(post.scales.looks)
    post.writes(0, inodes=60_000)
    post.look()
    assert len(post.scales.looks) > before


def test_what_others_free_hides_nothing(post: Post) -> None:
    """What goes is counted up, what comes back is not counted against it."""
    turn = post.running()
    for _ in range(12):
        post.writes(10)
        post.look()
        post.paper.free += 10 * MB
        post.look()
    assert post.turn(turn).status is TurnStatus.FAILED


@pytest.mark.parametrize(("is_filling", "most"), [(False, ROUTINE_SHARE), (True, URGENT_SHARE)])
def test_looks_take_a_small_share_of_the_time(post: Post, is_filling: bool, most: float) -> None:  # noqa: FBT001 - a table's column
    """With workspaces that take seconds to walk, and somebody on the host who writes all the time or nobody."""
    for key in (KEY, OTHER):
        post.cubicles.ensure_running(key)
    post.look()
    post.scales.cost_s = 3.0
    post.scales.looks.clear()
    began = post.clock.now
    while post.clock.now - began < 3_600:
        post.paper.free -= 2 * MB if is_filling else 0
        post.look()
    spent = len(post.scales.looks) * post.scales.cost_s / (post.clock.now - began)
    assert most / 4 < spent <= most * 1.1


def test_many_small_workspaces_are_looked_at_in_one_pass(post: Post) -> None:
    """Nobody has to wait for the next when looks are cheap."""
    keys = [CubicleKey("crab", post.install.users.add({"name": f"p{number}"}).id) for number in range(20)]
    for key in keys:
        post.cubicles.ensure_running(key)
    post.look()
    post.scales.looks.clear()
    post.paper.free -= 60 * MB
    post.look()
    assert sorted(post.scales.looks, key=str) == sorted(keys, key=str)


def test_a_start_during_the_count_of_what_runs_is_not_forgotten(post: Post) -> None:
    """The engine does not name it yet, but it will write."""
    post.disk.check_start(KEY)
    post.look()
    post.writes(50)
    post.scales.looks.clear()
    post.look()
    assert post.scales.looks == [KEY]


# --- what follows ----------------------------------------------------------------------------------------------


def test_at_80_percent_people_are_told_once_and_the_agent_before_its_next_turn(post: Post) -> None:
    """An event, a row, a note; the turn goes on."""
    turn = post.running()
    assert post.disk.turn_note(KEY) == ""
    with watching(post.install.broker) as news:
        post.writes(85)
        for _ in range(3):
            post.look()
        told = of_kind(heard(news), "cubicle")
    assert [body["state"] for body in told] == ["nearly full"]
    assert "85 of 100 MB" in post.install.audited("disk.warning")[0].text
    assert "nearly full: 85 of 100 MB" in post.disk.turn_note(KEY)
    assert post.turn(turn).status is TurnStatus.RUNNING
    assert post.disk.use_of(KEY).level is QuotaLevel.NEARLY_FULL


def test_at_the_limit_the_turn_fails_and_the_container_is_stopped(post: Post) -> None:
    """With the reason; the other cubicle goes on."""
    other, turn = post.running(OTHER), post.running()
    with watching(post.install.broker) as news:
        post.writes(101)
        post.look()
        states = [body["state"] for body in of_kind(heard(news), "cubicle")]
    assert post.turn(turn).status is TurnStatus.FAILED
    assert "workspace is full: 101 of 100 MB" in (post.turn(turn).error or "")
    assert post.engine.stopped == [NAMES[KEY]]
    assert post.turn(other).status is TurnStatus.RUNNING
    assert states == ["stopped", "full"]
    assert len(post.install.audited("disk.full")) == 1


def test_a_background_writer_is_stopped_too(post: Post) -> None:
    """Without any turn."""
    post.cubicles.ensure_running(KEY)
    post.look()
    post.writes(150)
    post.look()
    assert post.engine.stopped == [NAMES[KEY]]


def test_the_agent_may_clean_up_and_go_on(post: Post) -> None:
    """The next turn runs above the limit, and writes a little while it deletes; then all is as before."""
    post.running()
    post.writes(110)
    post.look()
    turn = post.running()
    assert "FULL" in post.disk.turn_note(KEY)
    post.writes(5)
    post.look(ROUTINE_S)
    assert post.turn(turn).status is TurnStatus.RUNNING
    post.scales.used[KEY] = Use(10 * MB, 5, is_complete=True)
    post.look(ROUTINE_S)
    post.writes(60)
    post.look()
    assert post.turn(turn).status is TurnStatus.RUNNING
    assert post.disk.turn_note(KEY) == ""


@pytest.mark.parametrize("way_out", ["delete", "raise"])
def test_one_that_only_grows_needs_a_person_in_the_end(post: Post, way_out: str) -> None:
    """After its tries it does not start any more, until there is room again."""
    for _ in range(TRIES):
        post.running()
        post.writes(110)
        post.look()
    assert len(post.engine.stopped) == TRIES
    with pytest.raises(Conflict, match="can't start until you delete"):
        post.cubicles.ensure_running(KEY)
    if way_out == "delete":
        post.scales.used[KEY] = Use(10 * MB, 5, is_complete=True)
    else:
        post.install.agents.update_agent("crab", {"limits": {"disk_mb": 1_000}})
    post.running()
    post.look(ROUTINE_S)
    assert len(post.engine.stopped) == TRIES


def test_after_a_restart_a_cubicle_above_its_limit_is_found(post: Post) -> None:
    """It may have been written to while nobody looked."""
    turn = post.running()
    post.writes(120)
    post.disk = post.made()
    post.look()
    assert post.turn(turn).status is TurnStatus.FAILED


def test_use_is_measured_for_whoever_asks_but_not_at_every_question(post: Post) -> None:
    """Also of a cubicle that never ran; of an agent that is not there, not."""
    post.scales.used[KEY] = Use(7 * MB, 3, is_complete=True)
    for _ in range(10):
        found = post.disk.use_of(KEY)
    assert (found.used_bytes, found.limit_bytes, found.inodes, found.level) == (7 * MB, LIMIT_MB * MB, 3, QuotaLevel.OK)
    assert len(post.scales.looks) == 1
    with pytest.raises(NotFound):
        post.disk.use_of(CubicleKey("nobody", 1))


def test_an_agent_that_is_deleted_meanwhile_is_left_out(post: Post) -> None:
    """And the others are looked after."""
    post.install.agents.create({"name": "second", "limits": {"disk_mb": LIMIT_MB}})
    other = CubicleKey("second", 1)
    post.cubicles.ensure_running(KEY)
    post.cubicles.ensure_running(other)
    post.look()
    post.install.agents.remove("second")
    post.disk.forget_agent("second")
    post.writes(150)
    post.look()
    post.look()
    assert post.engine.stopped == [NAMES[KEY]]


def test_an_engine_that_does_not_answer_is_asked_again(post: Post) -> None:
    """What could not be stopped stays looked after, and is stopped when the engine is back."""
    turn = post.running()
    post.writes(110)
    post.engine.is_stuck = True
    with pytest.raises(Unavailable):
        post.look()
    assert post.turn(turn).status is TurnStatus.FAILED
    post.engine.is_stuck = False
    post.writes(10)
    post.look()
    assert post.engine.stopped == [NAMES[KEY]]


# --- the host's reserve ----------------------------------------------------------------------------------------


def test_below_the_reserve_those_who_write_are_stopped(post: Post) -> None:
    """With the reason; the quiet one goes on, but nothing starts, and a row says so once."""
    post.install.agents.update_agent("crab", {"limits": {"disk_mb": 100_000}})
    quiet, turn = post.running(OTHER), post.running()
    post.paper.free = int(0.9 * GB)
    post.writes(20)
    for _ in range(3):
        post.look()
    assert post.turn(turn).status is TurnStatus.FAILED
    assert "disk of the machine" in (post.turn(turn).error or "")
    assert post.turn(quiet).status is TurnStatus.RUNNING
    assert post.engine.stopped == [NAMES[KEY]]
    assert len(post.install.audited("disk.host_full")) == 1
    with pytest.raises(Unavailable, match="kept in reserve"):
        post.cubicles.ensure_running(KEY)
    post.paper.free = 50 * GB
    assert post.cubicles.ensure_running(KEY).running


def test_below_half_of_the_reserve_everybody_is_stopped(post: Post) -> None:
    """Without looking who writes."""
    turns = [post.running(OTHER), post.running()]
    post.paper.free = int(0.4 * GB)
    post.scales.looks.clear()
    post.look()
    assert {post.turn(turn).status for turn in turns} == {TurnStatus.FAILED}
    assert set(post.engine.stopped) == set(NAMES.values())
    assert post.scales.looks == []


def test_a_turn_that_begins_once_there_is_room_again_goes_on(post: Post) -> None:
    """A person makes room while the pass that saw the full disk is under way: nothing is stopped for it any more."""
    post.cubicles.ensure_running(OTHER)
    turn = post.running()
    after = post.install.turns.submit(OTHER, "after", source="test")
    list_running = post.install.turns.list_running

    def list_and_free() -> list[tuple[CubicleKey, TurnClaim]]:
        claims = list_running()
        post.paper.free = 50 * GB
        assert post.install.turns.take_next(OTHER, "boot", 0.0) is not None
        return claims

    post.paper.free = int(0.4 * GB)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(post.install.turns, "list_running", list_and_free)
        post.look()
    assert {post.turn(each).status for each in (turn, after)} == {TurnStatus.RUNNING}
    assert post.engine.stopped == []


# --- the ballast, on a real disk -------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """64 MiB, mounted."""
    with mounted(tmp_path / "disk", "size=64m") as disk:
        yield disk


def test_the_ballast_lets_the_database_go_on(small_disk: Path) -> None:
    """On a disk that is full to the last byte a turn still gets its outcome, once the ballast is let go; when there is
    room again, it is laid again."""
    with core_fixture(small_disk / "home") as install:
        reserve = Reserve(small_disk, ballast=small_disk / "ballast")
        reserve.keep_reserve(reserve.measure_room())
        assert (small_disk / "ballast").stat().st_blocks * 512 == min(BALLAST_BYTES, 64 * MB // 128)
        turn = install.under_way()
        filler = small_disk / "filler"
        with filler.open("wb", buffering=0) as file:
            _until_it_fails(lambda: file.write(b"x" * 4096), OSError)
        with pytest.raises(Unavailable, match="kept in reserve"):
            reserve.check_room()
        for text in ("x" * 100_000, "x"):
            _until_it_fails(partial(install.turns.submit, OTHER, text, source="test"), Unavailable)
        with pytest.raises(Unavailable, match="disk is full"):
            install.turns.end_turn(KEY, turn.id, TurnStatus.FAILED, error="The disk was full.")
        reserve.keep_reserve(reserve.measure_room())
        assert not (small_disk / "ballast").exists()
        assert install.turns.end_turn(KEY, turn.id, TurnStatus.FAILED, error="The disk was full.")
        filler.unlink()
        reserve.keep_reserve(reserve.measure_room())
        assert (small_disk / "ballast").exists()


def _until_it_fails(deed: Callable[[], object], error: type[Exception]) -> None:
    for _ in range(100_000):
        try:
            deed()
        except error:
            return
    raise AssertionError("it never failed")


def test_a_disk_that_does_not_answer_is_said(tmp_path: Path) -> None:
    """With what to look at."""
    with pytest.raises(Unavailable, match="does not answer"):
        Reserve(tmp_path / "gone", ballast=tmp_path / "ballast").measure_room()


def test_the_thread_begins_and_ends(post: Post) -> None:
    """Closing one that was never begun is fine, too."""
    post.disk.close()
    other = post.made()
    other.start()
    assert "disk" in [thread.name for thread in threading.enumerate()]
    other.close()
    assert "disk" not in [thread.name for thread in threading.enumerate()]
