"""``orchestrator.checkpoints.store``: points are taken, compared and read."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.checkpoints.models import MOST_FILE_BYTES, PointKind
from orchestrator.checkpoints.store import PointWish
from orchestrator.core.errors import Conflict, NotFound, UnsafePath
from tests.support.history_fixture import HistoryFixture, write

Deed = Callable[[Path], object]


def test_a_point_is_made_when_something_differs(history: HistoryFixture) -> None:
    """Else the newest one is the point that is now, whatever it was taken for."""
    first = history.take(PointKind.BEFORE)
    assert history.take(PointKind.COMMAND) == first
    write(history.work / "a", b"1")
    second = history.take(PointKind.COMMAND)
    assert (second.kind, second.changed) == (PointKind.COMMAND, 1)
    assert history.take(PointKind.AFTER) == second
    assert [point.id for point in history.store.list_checkpoints()] == [second.id, first.id]


def test_a_point_says_what_it_is_of(history: HistoryFixture) -> None:
    """Turn, step and label are those that were given."""
    point = history.store.take_checkpoint(PointWish(PointKind.COMMAND, 17, 3, "rm -rf build"))
    assert (point.kind, point.turn, point.step, point.label) == (PointKind.COMMAND, 17, 3, "rm -rf build")
    assert history.store.get_checkpoint(point.id) == point


def test_the_crabs_own_log_is_no_part_of_it(history: HistoryFixture) -> None:
    """It grows in every turn; going back leaves it as it is. A folder of that name, or the name elsewhere, counts."""
    write(history.work / "a", b"1")
    write(history.work / ".hermit.log", b"one\n")
    first = history.take()
    write(history.work / ".hermit.log", b"one\ntwo\n")
    write(history.work / ".hermit.log.1", b"older\n")
    assert history.take() == first
    write(history.work / "sub/.hermit.log", b"counts")
    second = history.take()
    assert [change.path[-1] for change in history.store.diff(first.id, second.id)] == [b"sub", b".hermit.log"]
    history.store.restore(first.id)
    assert (history.work / ".hermit.log").read_bytes() == b"one\ntwo\n"
    assert (history.work / ".hermit.log.1").read_bytes() == b"older\n"
    assert not (history.work / "sub").exists()


def test_a_name_is_given_to_a_point_of_its_own(history: HistoryFixture) -> None:
    """Also where nothing has changed."""
    first = history.take()
    named = history.take(PointKind.NAMED, "before the move")
    assert named.id > first.id
    assert history.store.diff(first.id, named.id) == []


def test_points_are_listed_by_the_page(history: HistoryFixture) -> None:
    """Newest first, each once."""
    for number in range(5):
        write(history.work / "a", b"%d" % number)
        history.take()
    page = history.store.list_checkpoints(limit=2)
    more = history.store.list_checkpoints(limit=10, before=page[-1].id)
    ids = [point.id for point in (*page, *more)]
    assert ids == sorted(ids, reverse=True)
    assert len(set(ids)) == 5


def _to_folder(work: Path) -> None:
    (work / "a").unlink()
    write(work / "a" / "inner", b"x")


def _to_file(work: Path) -> None:
    (work / "d" / "e" / "b").unlink()
    (work / "d" / "e").rmdir()
    (work / "d").rmdir()
    write(work / "d", b"a file now")


def _to_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("b")


def _to_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DIFFS: dict[str, tuple[Deed, list[tuple[str, str]]]] = {
    "nothing": (lambda _: None, []),
    "made": (lambda work: write(work / "new", b"n"), [("work/new", "made")]),
    "written": (lambda work: (work / "a").write_bytes(b"other"), [("work/a", "changed")]),
    "same size": (lambda work: (work / "a").write_bytes(b"0123456789"[::-1]), [("work/a", "changed")]),
    "written the same": (lambda work: (work / "a").write_bytes(b"0123456789"), []),
    "mode": (lambda work: (work / "a").chmod(0o755), [("work/a", "changed")]),
    "mode of a folder": (lambda work: (work / "d").chmod(0o700), [("work/d", "changed")]),
    "touched": (lambda work: os.utime(work / "a", (1, 1)), []),
    "deleted": (lambda work: (work / "a").unlink(), [("work/a", "deleted")]),
    "link elsewhere": (
        lambda work: _to_link(work / "l"),
        [("work/l", "changed")],
    ),
    "file to link": (
        lambda work: _to_link(work / "a"),
        [("work/a", "changed")],
    ),
    "file to folder": (_to_folder, [("work/a", "changed"), ("work/a/inner", "made")]),
    "folder to file": (_to_file, [("work/d", "changed"), ("work/d/e", "deleted"), ("work/d/e/b", "deleted")]),
    "moved": (
        lambda work: (work / "d").rename(work / "z"),
        [
            *(("work/d", "deleted"), ("work/d/e", "deleted"), ("work/d/e/b", "deleted")),
            *(("work/z", "made"), ("work/z/e", "made"), ("work/z/e/b", "made")),
        ],
    ),
    "second name": (lambda work: os.link(work / "a", work / "b"), [("work/b", "made")]),
    "empty folder": (lambda work: (work / "empty").mkdir(), [("work/empty", "made")]),
    "pipe": (lambda work: os.mkfifo(work / "pipe"), []),
    "file to pipe": (lambda work: _to_pipe(work / "a"), [("work/a", "deleted")]),
}


@pytest.mark.parametrize("case", DIFFS)
def test_what_differs_between_two_points(history: HistoryFixture, case: str) -> None:
    """By path, in the direction that was asked for; what comes before and after does not show."""
    deed, wanted = DIFFS[case]
    write(history.work / "a", b"0123456789")
    write(history.work / "d" / "e" / "b", b"b")
    (history.work / "l").symlink_to("a")
    first = history.take()
    deed(history.work)
    second = history.take()
    write(history.work / "later", b"later")
    third = history.take()
    found = [(b"/".join(change.path).decode(), change.kind) for change in history.store.diff(first.id, second.id)]
    assert found == wanted
    turned = {"made": "deleted", "deleted": "made", "changed": "changed"}
    back = [(b"/".join(change.path).decode(), change.kind) for change in history.store.diff(second.id, first.id)]
    assert back == [(path, turned[kind]) for path, kind in wanted]
    assert len(history.store.diff(second.id)) == len(history.store.diff(second.id, third.id)) == 1


def test_what_was_is_read_at_any_point(history: HistoryFixture) -> None:
    """Contents and folders are those of the point, whatever is there now; only so much as one wants is read."""
    write(history.work / "d" / "a", b"first")
    first = history.take()
    write(history.work / "d" / "a", b"second, and longer")
    (history.work / "l").symlink_to("/etc/passwd")
    second = history.take()
    (history.work / "d" / "a").unlink()
    history.take()
    read = history.store.read_content
    assert read(first.id, "work/d/a", max_bytes=100) == b"first"
    assert read(second.id, (b"work", b"d", b"a"), max_bytes=6) == b"second"
    assert read(second.id, "work/l", max_bytes=100) == b"/etc/passwd"
    assert [item.name for item in history.store.list_folder(first.id, "work/d")] == [b"a"]
    assert [item.name for item in history.store.list_folder(first.id, ())] == [b"out", b"work", b"www"]
    assert [item.name for item in history.store.list_folder(second.id, "work", after=b"d")] == [b"l"]


def test_what_is_not_there_is_not_found(history: HistoryFixture) -> None:
    """Points, paths, folders; what leads out is refused."""
    write(history.work / "a", b"a")
    point = history.take().id
    for call in (
        lambda: history.store.diff(point, 99),
        lambda: history.store.get_checkpoint(99),
        lambda: history.store.restore(99),
        lambda: history.store.read_content(point, "work/b", max_bytes=1),
        lambda: history.store.read_content(point, "work", max_bytes=1),
        lambda: history.store.list_folder(point, "work/a"),
        lambda: history.store.forget_checkpoint(99),
    ):
        with pytest.raises(NotFound):
            call()
    with pytest.raises(UnsafePath):
        history.store.restore(point, ["work/../../etc"])
    with pytest.raises(Conflict):
        history.store.finish_restore()
    with pytest.raises(Conflict):
        history.store.forget_checkpoint(point)


def test_a_cubicle_without_a_folder_has_no_points(history: HistoryFixture) -> None:
    """It is said, and nothing is made up."""
    history.take()
    for name in ("work", "out", "www"):
        (history.top / name).rmdir()
    history.top.rmdir()
    with pytest.raises(NotFound, match="no workspace"):
        history.take()


def test_pipes_sockets_and_devices_are_left_out(history: HistoryFixture) -> None:
    """Nothing waits at a pipe; what lies beside them is kept."""
    os.mkfifo(history.work / "pipe")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(history.work / "socket"))
    if os.geteuid() == 0:
        os.mknod(history.work / "device", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    write(history.work / "file", b"kept")
    point = history.take()
    assert [item.name for item in history.store.list_folder(point.id, "work")] == [b"file"]


def test_a_file_that_is_too_large_is_listed_as_not_kept(history: HistoryFixture) -> None:
    """It is not read again while it stays as it is; one below the limit is kept, its holes for next to nothing."""
    for name, size in (("large", MOST_FILE_BYTES + 1), ("huge", 1 << 40), ("holes", 64 << 20)):
        with (history.work / name).open("wb") as file:
            file.truncate(size)
    point = history.take()
    facts = {item.name: item.facts for item in history.store.list_folder(point.id, "work")}
    assert {name: found.is_kept for name, found in facts.items()} == {b"large": False, b"huge": False, b"holes": True}
    assert facts[b"huge"].size_bytes == 1 << 40
    assert point.unkept == 2
    assert history.size() < 1 << 20
    with pytest.raises(NotFound, match="not kept"):
        history.store.read_content(point.id, "work/huge", max_bytes=1)
    assert history.take() == point


def test_the_same_content_is_kept_once(history: HistoryFixture) -> None:
    """Wherever and whenever it is there."""
    content = os.urandom(3 << 20)
    write(history.work / "a", content)
    history.take()
    write(history.work / "b", content)
    (history.work / "a").rename(history.work / "c")
    point = history.take()
    assert history.size() < 4 << 20
    assert history.store.read_content(point.id, "work/b", max_bytes=4 << 20) == content


def test_the_history_is_for_its_owner_alone(history: HistoryFixture) -> None:
    """Folders 0700, files 0600."""
    write(history.work / "a", b"a")
    history.take()
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (history.folder, *history.folder.rglob("*"))}
    assert {mode for name, mode in modes.items() if name in ("history", "packs")} == {0o700}
    assert {mode for name, mode in modes.items() if name not in ("history", "packs")} == {0o600}


def test_only_the_covered_folders_count(history: HistoryFixture) -> None:
    """What the host puts beside them is no point's business."""
    point = history.take()
    (history.top / "in").mkdir()
    (history.top / "in" / "letter").write_bytes(b"x")
    (history.top / "README.txt").write_bytes(b"x")
    assert history.take() == point
