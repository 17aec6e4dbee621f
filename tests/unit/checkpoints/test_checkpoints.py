"""``orchestrator.checkpoints.checkpoints``: a history for each cubicle, open while it is needed."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orchestrator.checkpoints import checkpoints as module
from orchestrator.checkpoints.checkpoints import Checkpoints
from orchestrator.checkpoints.models import PendingRestore, PointKind
from orchestrator.checkpoints.store import CheckpointStore
from orchestrator.core.errors import Conflict, NotFound, Unavailable
from orchestrator.core.home import prepare_home
from orchestrator.core.models import CubicleKey
from orchestrator.files.workspace import Workspaces
from tests.support.history_fixture import write

KEY = CubicleKey("crab", 1)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home."""
    return prepare_home(tmp_path / "home").path


@pytest.fixture
def workspaces(home: Path) -> Workspaces:
    """The workspaces in it."""
    return Workspaces(home)


@pytest.fixture(params=[True, False], ids=["journal", "no journal"])
def points(request: pytest.FixtureRequest, home: Path, workspaces: Workspaces) -> Iterator[Checkpoints]:
    """Its points of time, with the kernel's news and without."""
    made = Checkpoints(home / "history", workspaces, cap=lambda _: 64 << 20, has_journal=request.param)
    yield made
    made.close()


def work_of(workspaces: Workspaces, key: CubicleKey = KEY) -> Path:
    """Where an agent works."""
    return workspaces.prepare_folders(key, uid=os.geteuid(), gid=os.getegid()).work


def test_a_turn_is_undone_and_redone(points: Checkpoints, workspaces: Workspaces) -> None:
    """The whole way, as the rest of the program goes it."""
    work = work_of(workspaces)
    write(work / "a", b"1")
    before = points.take(KEY, PointKind.BEFORE, turn=7)
    write(work / "a", b"2")
    step = points.take(KEY, PointKind.COMMAND, turn=7, step=1, label="sed -i s/1/2/ a")
    write(work / "new", b"3")
    after = points.take(KEY, PointKind.AFTER, turn=7)
    assert [change.path[1] for change in points.diff(KEY, before.id, step.id)] == [b"a"]
    assert [change.path[1] for change in points.diff(KEY, before.id)] == [b"a", b"new"]
    plan = points.preview_revert(KEY, before.id, after.id)
    assert (len(plan.changes), plan.conflicts) == (2, ())
    done = points.revert(KEY, before.id, after.id, turn=7)
    assert {path.name: path.read_bytes() for path in work.iterdir()} == {"a": b"1"}
    points.restore(KEY, done.before.id)
    assert {path.name: path.read_bytes() for path in work.iterdir()} == {"a": b"2", "new": b"3"}
    assert points.read_content(KEY, before.id, "work/a", max_bytes=9) == b"1"
    assert points.get_entry(KEY, before.id, "work/a").size_bytes == 1
    assert [item.name for item in points.list_folder(KEY, after.id, "work")] == [b"a", b"new"]
    assert points.get_checkpoint(KEY, step.id).step == 1
    assert points.measure(KEY) > 1000


def test_what_was_there_is_there_after_a_restart(home: Path, workspaces: Workspaces) -> None:
    """Points, and what was changed while nobody looked."""
    work = work_of(workspaces)
    write(work / "a", b"1")
    first = Checkpoints(home / "history", workspaces, cap=lambda _: 64 << 20)
    point = first.take(KEY, PointKind.BEFORE)
    first.close()
    write(work / "a", b"2")
    second = Checkpoints(home / "history", workspaces, cap=lambda _: 64 << 20)
    assert second.list_cubicles() == [KEY]
    assert second.list_checkpoints(KEY) == [point]
    assert second.take(KEY, PointKind.PERSON).id > point.id
    assert second.get_pending(KEY) is None
    with pytest.raises(Conflict):
        second.finish_restore(KEY)
    second.close()


def test_what_a_death_cut_short_is_found_and_finished(points: Checkpoints, workspaces: Workspaces) -> None:
    """Its point stays until then, whatever else goes."""
    work = work_of(workspaces)
    write(work / "a", b"1")
    target = points.take(KEY, PointKind.BEFORE)
    write(work / "a", b"2")
    points.take(KEY, PointKind.AFTER)
    with points._using(KEY) as store:
        _cut_short(store, target.id)
    pending = points.get_pending(KEY)
    assert pending is not None
    assert (pending.target, pending.paths) == (target.id, ((b"work", b"a"),))
    with pytest.raises(Conflict):
        points.forget(KEY, target.id)
    done = points.finish_restore(KEY)
    assert done.changed == ((b"work", b"a"),)
    assert (work / "a").read_bytes() == b"1"
    assert points.get_pending(KEY) is None
    points.forget(KEY, target.id)


def _cut_short(store: CheckpointStore, target: int) -> None:
    real = store._open_top

    def fail() -> object:
        raise OSError(5, "as if killed")

    newest = store.list_checkpoints(limit=1)[0]
    store._open_top = fail  # type: ignore[assignment]
    pending = PendingRestore(target, "", None, is_exact=False, paths=((b"work", b"a"),))
    with pytest.raises(Unavailable, match="as if killed"):
        store._go_back(pending, newest)
    store._open_top = real


def test_cubicles_and_agents_are_deleted(points: Checkpoints, home: Path, workspaces: Workspaces) -> None:
    """With all of their history and nobody else's; a new one begins anew."""
    keys = [KEY, CubicleKey("crab", 2), CubicleKey("shrimp", 1)]
    for key in keys:
        write(work_of(workspaces, key) / "a", b"1")
        points.take(key, PointKind.BEFORE)
    assert sorted(map(str, points.list_cubicles())) == sorted(map(str, keys))
    points.delete_cubicle(KEY)
    points.delete_cubicle(KEY)
    assert points.list_checkpoints(KEY) == []
    assert points.take(KEY, PointKind.BEFORE).changed == 4
    points.delete_agent("crab")
    points.delete_agent("nobody")
    assert points.list_cubicles() == [keys[2]]
    assert [path.name for path in (home / "history").iterdir()] == ["shrimp"]


def test_not_all_are_kept_open(points: Checkpoints, workspaces: Workspaces, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were used last are; the others open again when they are needed."""
    monkeypatch.setattr(module, "_MOST_OPEN", 2)
    keys = [CubicleKey(f"agent-{number}", 1) for number in range(6)]
    for key in keys:
        write(work_of(workspaces, key) / "a", b"1")
        points.take(key, PointKind.BEFORE)
    open_now = [key for key, slot in points._slots.items() if slot.store is not None]
    assert open_now == keys[-2:]
    assert [len(points.list_checkpoints(key)) for key in keys] == [1] * 6


def test_many_at_once_use_many_histories(
    points: Checkpoints, workspaces: Workspaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads meets whole points only; histories open and close meanwhile."""
    monkeypatch.setattr(module, "_MOST_OPEN", 1)
    keys = [CubicleKey(f"agent-{number}", 1) for number in range(3)]
    works = {key: work_of(workspaces, key) for key in keys}

    def go(key: CubicleKey) -> None:
        for number in range(12):
            write(works[key] / "a", f"{number}".encode() * 100)
            write(works[key] / "b", f"{number}".encode() * 100)
            points.take(key, PointKind.COMMAND)

    def look(key: CubicleKey) -> None:
        for _ in range(30):
            for point in points.list_checkpoints(key, limit=3):
                texts = [points.read_content(key, point.id, f"work/{name}", max_bytes=999) for name in ("a", "b")]
                assert texts[0] == texts[1]

    with ThreadPoolExecutor(6, thread_name_prefix="turn") as pool:
        for done in [*(pool.submit(go, key) for key in keys), *(pool.submit(look, key) for key in keys)]:
            done.result()
    assert {len(points.list_checkpoints(key)) for key in keys} == {12}


def test_reading_does_not_wait_for_a_long_look(points: Checkpoints, workspaces: Workspaces) -> None:
    """A first look at a large workspace may take a minute."""
    write(work_of(workspaces) / "a", b"1")
    point = points.take(KEY, PointKind.BEFORE)
    looking, go_on = threading.Event(), threading.Event()
    write(work_of(workspaces) / "b", b"1")
    with points._using(KEY) as store:
        real = store._look

        def hold(*arguments: object) -> bool:
            looking.set()
            assert go_on.wait(10)
            return real(*arguments)  # type: ignore[arg-type]

        store._look = hold  # type: ignore[method-assign, assignment]
        taker = threading.Thread(target=points.take, args=(KEY, PointKind.COMMAND), name="turn")
        taker.start()
        assert looking.wait(10)
        assert points.list_checkpoints(KEY) == [point]
        assert points.read_content(KEY, point.id, "work/a", max_bytes=9) == b"1"
        go_on.set()
        taker.join()


def test_one_that_is_deleted_while_it_is_used_says_so(points: Checkpoints, home: Path, workspaces: Workspaces) -> None:
    """Whoever still had it open makes nothing of it come back."""
    write(work_of(workspaces) / "a", b"1")
    point = points.take(KEY, PointKind.BEFORE)
    with points._using(KEY) as store:
        points.delete_cubicle(KEY)
        for call in (store.list_checkpoints, lambda: store.get_checkpoint(point.id), lambda: store.restore(point.id)):
            with pytest.raises(Unavailable, match="closed meanwhile"):
                call()
    assert not (home / "history" / "crab" / "1").exists()


def test_without_a_workspace_there_is_none(points: Checkpoints) -> None:
    """It is said."""
    with pytest.raises(NotFound, match="no workspace"):
        points.take(KEY, PointKind.BEFORE)


def test_nobody_uses_it_once_it_is_closed(home: Path, workspaces: Workspaces) -> None:
    """It is said, and nothing is opened again."""
    points = Checkpoints(home / "history", workspaces, cap=lambda _: 64 << 20)
    points.close()
    with pytest.raises(Unavailable, match="being stopped"):
        points.list_checkpoints(KEY)
