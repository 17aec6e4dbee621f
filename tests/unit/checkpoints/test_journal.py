"""``orchestrator.checkpoints.journal``: what the kernel tells is enough to know exactly what is there."""

from __future__ import annotations

import os
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.checkpoints import journal as journal_module
from orchestrator.checkpoints import store as store_module
from orchestrator.checkpoints.checkpoints import Checkpoints
from orchestrator.checkpoints.journal import ChangeJournal, open_journal
from orchestrator.checkpoints.models import EntryKind, Parts, PointKind
from orchestrator.core.errors import Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.files.workspace import Workspaces
from tests.support.history_fixture import HistoryFixture, assert_sound, write
from tests.support.small_disks import mounted

KEY, OTHER = CubicleKey("crab", 1), CubicleKey("crab", 2)


@dataclass
class Heard:
    """What the journal says of one cubicle, written down too."""

    journal: ChangeJournal
    last: set[Parts] | None = None

    def collect(self) -> set[Parts] | None:
        """The folders in which something happened."""
        self.last = self.journal.collect(KEY)
        return self.last

    def distrust(self) -> None:
        """What was told last got lost."""
        self.journal.distrust(KEY)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, since a journal hears of all that happens on one."""
    with mounted(tmp_path / "disk", "size=256m,mode=755") as made:
        yield made


@pytest.fixture
def history(disk: Path) -> Iterator[HistoryFixture]:
    """A cubicle's, which hears of changes."""
    (disk / "crab").mkdir()
    journal = open_journal(disk)
    if journal is None:
        pytest.skip("this kernel, or this user, has no journal")
    made = HistoryFixture(disk / "crab", name=str(KEY.user), news=Heard(journal))
    made.take()
    yield made
    assert_sound(made.store)
    made.store.close()
    journal.close()


def heard(history: HistoryFixture) -> set[Parts] | None:
    """What was heard for the last point."""
    assert isinstance(history.news, Heard)
    return history.news.last


def test_only_the_folders_with_changes_are_told(history: HistoryFixture) -> None:
    """Of all that was done, by whomever, in this cubicle and its covered folders."""
    write(history.work / "d" / "a", b"1")
    (history.top / "in").mkdir()
    write(history.top / "in" / "a", b"1")
    write(history.top.parent / "2" / "work" / "a", b"1")
    history.take()
    assert heard(history) == {(), (b"work",), (b"work", b"d")}
    point = history.take()
    assert heard(history) == set()
    (history.work / "d" / "a").write_bytes(b"22")
    assert history.take().id > point.id
    assert heard(history) == {(b"work", b"d")}


def test_the_crabs_own_log_is_not_told(history: HistoryFixture) -> None:
    """It grows with every command; a file beside it is told, and one that is called like it elsewhere."""
    write(history.work / "d" / "a", b"1")
    write(history.work / ".hermit.log", b"one\n")
    point = history.take()
    with (history.work / ".hermit.log").open("ab") as log:
        log.write(b"two\n")
    assert history.take() == point
    assert heard(history) == set()
    write(history.work / ".hermit.log", b"three\n")
    write(history.work / "b", b"1")
    assert history.take().id > point.id
    assert heard(history) == {(b"work",)}
    write(history.work / "d" / ".hermit.log", b"counts")
    found = history.take()
    assert heard(history) == {(b"work", b"d")}
    there = history.tree()
    del there[(b"work", b".hermit.log")]
    assert history.kept(found.id) == there


def _dig(folder: Path, name: str, levels: int) -> int:
    """So many folders in one another; the last one, open."""
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    return here


@pytest.mark.parametrize(("name", "levels"), [("aa", 1_500), ("b" * 255, 30), ("c" * 40, 120)])
def test_a_folder_too_deep_to_be_named_puts_its_own_cubicle_in_doubt(
    history: HistoryFixture, name: str, levels: int
) -> None:
    """What happens down there is found by a look at everything; others hear no more than of their own folders."""
    deepest = _dig(history.work, name, levels)
    try:
        history.take()
        os.close(os.open("new", os.O_CREAT | os.O_WRONLY, dir_fd=deepest))
        point = history.take()
        assert heard(history) is None
        found = history.store.get_entry(point.id, (b"work", *(name.encode(),) * levels, b"new"))
        assert found.kind is EntryKind.FILE
    finally:
        os.close(deepest)
    other = history.top.parent / "2" / "work"
    other.mkdir(parents=True)
    deepest = _dig(other, name, levels)
    try:
        history.take()
        os.close(os.open("new", os.O_CREAT | os.O_WRONLY, dir_fd=deepest))
        write(history.work / "mine", b"1")
        history.take()
        assert heard(history) == {(b"work",)}
    finally:
        os.close(deepest)


def test_news_that_can_not_be_read_put_everybody_in_doubt(
    history: HistoryFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read before is lost with it, so the next point looks at everything."""
    write(history.work / "a", b"1")

    def fail(_path: object) -> bytes | None:
        raise OSError(5, "the disk")

    with monkeypatch.context() as patch:
        patch.setattr(journal_module, "_path_of", fail)
        with pytest.raises(Unavailable):
            history.take()
    point = history.take()
    assert heard(history) is None
    assert (b"work", b"a") in history.kept(point.id)


def _put_in_place(work: Path) -> None:
    shutil.rmtree(work / "d")
    (work.parent / "aside").rename(work / "d")


def _write_through(work: Path) -> None:
    os.link(work / "d" / "e" / "a", work / "other")
    (work / "other").write_bytes(b"through the other name")


def _make_again(work: Path) -> None:
    shutil.rmtree(work / "d")
    write(work / "d" / "e" / "a", b"again")


DEEDS: dict[str, Callable[[Path], object]] = {
    "write": lambda work: (work / "d" / "e" / "a").write_bytes(b"other"),
    "mode of a file": lambda work: (work / "d" / "e" / "a").chmod(0o700),
    "mode of a folder": lambda work: (work / "d" / "e").chmod(0o700),
    "mode of a covered folder": lambda work: work.chmod(0o711),
    "delete": lambda work: (work / "d" / "e" / "a").unlink(),
    "folder moved": lambda work: (work / "d").rename(work / "new"),
    "folder moved in from elsewhere": lambda work: (work.parent / "aside").rename(work / "d" / "in"),
    "folder moved out": lambda work: (work / "d").rename(work.parent / "away"),
    "folder in the place of another": _put_in_place,
    "folder copied": lambda work: shutil.copytree(work / "d", work / "copy"),
    "links": lambda work: (work / "d" / "e" / "l").symlink_to("a"),
    "second name, written through": _write_through,
    "folders in folders": lambda work: write(work / "x" / "y" / "z" / "a", b"1"),
    "all of it": _make_again,
}


@pytest.mark.parametrize("deed", DEEDS)
def test_nothing_escapes_it(history: HistoryFixture, deed: str) -> None:
    """What a point has is what is there, without anything having been looked at but what was told."""
    write(history.work / "d" / "e" / "a", b"1")
    write(history.top / "aside" / "deep" / "b", b"2")
    history.take()
    time.sleep(0.03)
    history.take()
    DEEDS[deed](history.work)
    point = history.take()
    assert heard(history) is not None
    assert history.kept(point.id) == history.tree()


def test_a_write_through_another_name_of_long_ago(history: HistoryFixture) -> None:
    """It is told of a folder that has nothing to do with the other name's."""
    write(history.work / "a" / "one", b"1")
    (history.work / "b").mkdir()
    os.link(history.work / "a" / "one", history.work / "b" / "two")
    history.take()
    time.sleep(0.03)
    history.take()
    (history.work / "b" / "two").write_bytes(b"2")
    point = history.take()
    assert heard(history) == {(b"work", b"b")}
    assert history.kept(point.id) == history.tree()


@pytest.mark.parametrize("seed", range(6))
def test_a_random_history_is_exact(history: HistoryFixture, seed: int) -> None:
    """Folders and files made, written, moved, linked and deleted, again and again."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    for _ in range(25):
        for _ in range(chance.randrange(6)):
            _do_something(history.work, chance)
        point = history.take()
        assert heard(history) is not None
        assert history.kept(point.id) == history.tree()


@pytest.mark.parametrize("seed", range(6))
def test_going_back_and_forth_in_a_random_history(history: HistoryFixture, seed: int) -> None:
    """Also where names share a file that they did not share then, or the other way round."""
    chance = random.Random(100 + seed)  # noqa: S311 - no secret
    trees = {}
    for _ in range(12):
        for _ in range(chance.randrange(8)):
            _do_something(history.work, chance)
        trees[history.take().id] = history.tree()
    for _ in range(20):
        point = chance.choice(list(trees))
        done = history.store.restore(point)
        assert done.left == ()
        assert history.tree() == trees[point]
        assert history.kept(done.after.id) == trees[point]
        trees[done.after.id] = trees[point]
        _do_something(history.work, chance)


def _do_something(work: Path, chance: random.Random) -> None:
    """One deed; one that can't be done is none."""
    folders = [work, *(path for path in work.rglob("*") if path.is_dir() and not path.is_symlink())]
    there = [path for path in work.rglob("*") if path != work]
    where = chance.choice(folders) / chance.choice("abcdef")
    deed = chance.randrange(7)
    try:
        if deed == 0:
            where.mkdir()
        elif deed in (1, 2):
            where.write_bytes(chance.randbytes(chance.randrange(200)))
        elif deed == 3 and there:
            chance.choice(there).rename(where)
        elif deed == 4 and there:
            chance.choice(there).chmod(chance.randrange(0o1000) | 0o700)
        elif deed == 5 and there:
            os.link(chance.choice(there), where, follow_symlinks=False)
        elif there:
            path = chance.choice(there)
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    except OSError:
        return


def test_what_the_kernel_dropped_is_looked_for_everywhere(history: HistoryFixture) -> None:
    """More happened than it remembers: then nothing that it says is enough, and it says so."""
    most = int(Path("/proc/sys/fs/fanotify/max_queued_events").read_text())
    aside = history.base.parent / "aside"
    aside.mkdir()
    for number in range(most):  # each is told of another folder, so that no two are told as one
        (aside / f"{number}").mkdir()
        (aside / f"{number}").chmod(0o700)
    write(history.work / "d" / "last", b"1")
    point = history.take()
    assert heard(history) is None
    assert history.kept(point.id) == history.tree()
    history.take()
    assert heard(history) == set()


def test_a_look_that_failed_is_made_up_for(history: HistoryFixture) -> None:
    """What was told for it is not told again, so the next one looks everywhere."""
    write(history.work / "a", b"1")
    real = history.store._look

    def fail(*_: object) -> bool:
        raise OSError(5, "the disk")

    history.store._look = fail  # type: ignore[method-assign, assignment]
    with pytest.raises(Unavailable, match="the disk"):
        history.take()
    history.store._look = real  # type: ignore[method-assign]
    point = history.take()
    assert heard(history) is None
    assert history.kept(point.id) == history.tree()


def test_everything_is_looked_at_now_and_then(history: HistoryFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel does not tell of writes through a mapping: after some points, or some time, they are found."""
    monkeypatch.setattr(store_module, "FULL_LOOK_POINTS", 2)
    with history.store._db.writing() as db:  # as if a change had not been heard of
        write(history.work / "a", b"1")
        history.store._news.collect()
        assert db.in_transaction
    first = history.take()
    assert first.id == history.take().id
    assert history.take().id > first.id
    write(history.work / "b", b"1")
    history.store._news.collect()
    history.store._full_at -= store_module.FULL_LOOK_S
    assert history.kept(history.take().id) == history.tree()


def test_one_journal_hears_of_all_cubicles(disk: Path) -> None:
    """Each is told of its own, whoever asks first; many at once are fine."""
    workspaces = Workspaces(disk)
    mounts = {key: workspaces.prepare_folders(key, uid=os.geteuid(), gid=os.getegid()) for key in (KEY, OTHER)}
    points = Checkpoints(disk / "history", workspaces, cap=lambda _: 64 << 20)
    if not points.has_journal:
        points.close()
        pytest.skip("this kernel, or this user, has no journal")
    failures: list[str] = []

    def work(key: CubicleKey) -> None:
        for number in range(20):
            write(mounts[key].work / f"{number % 5}" / "a", f"{key.user} {number}".encode())
            point = points.take(key, PointKind.COMMAND)
            read = points.read_content(key, point.id, f"work/{number % 5}/a", max_bytes=99)
            if read != f"{key.user} {number}".encode():
                failures.append(f"{key} {number}: {read!r}")

    threads = [threading.Thread(target=work, args=(key,), name=f"turn-{key.user}") for key in mounts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    points.close()
    assert failures == []


def test_where_there_is_none_everything_is_looked_at(tmp_path: Path) -> None:
    """Here since the folder is not there; nothing else is different."""
    assert open_journal(tmp_path / "gone") is None
