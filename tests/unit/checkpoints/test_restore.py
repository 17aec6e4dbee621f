"""Going back: what is there afterwards is what was there then, and nothing is lost on the way."""

from __future__ import annotations

import itertools
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.checkpoints import tree_writer
from orchestrator.checkpoints.models import MOST_FILE_BYTES, PointKind
from orchestrator.checkpoints.store import CHANGED_SINCE
from orchestrator.core.errors import Unavailable
from tests.fuzzing import bounded
from tests.support.history_fixture import HistoryFixture, assert_sound, write

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="takes root")
IS_ROOT = os.geteuid() == 0
MODES = st.integers(0, 0o7777) if IS_ROOT else st.integers(0, 0o777).map(lambda mode: mode | 0o700)
NAMES = (
    st.binary(min_size=1, max_size=40)
    .map(lambda raw: raw.replace(b"/", b"_").replace(b"\0", b"0"))
    .filter(lambda raw: raw not in (b".", b".."))
)
TIMES = st.integers(0, 2**33 * 10**9)


@dataclass(frozen=True)
class File:
    """A file to be made."""

    content: bytes
    mode: int
    modified_ns: int


@dataclass(frozen=True)
class Link:
    """A link to be made."""

    target: bytes
    modified_ns: int


@dataclass(frozen=True)
class Folder:
    """A folder to be made."""

    mode: int
    inner: dict[bytes, File | Link | Folder]


FILES = st.builds(File, st.binary(max_size=200), MODES, TIMES)
LINKS = st.builds(Link, st.binary(min_size=1, max_size=60).map(lambda raw: raw.replace(b"\0", b"0")), TIMES)
NODES = st.recursive(
    FILES | LINKS, lambda inner: st.builds(Folder, MODES, st.dictionaries(NAMES, inner, max_size=4)), max_leaves=12
)
TREES = st.dictionaries(st.sampled_from([b"a", b"b", b"c"]) | NAMES, NODES, max_size=5)
_NUMBERS = itertools.count()


def build(where: bytes, tree: dict[bytes, File | Link | Folder]) -> None:
    """Make all of it."""
    for name, node in tree.items():
        path = where + b"/" + name
        if isinstance(node, Folder):
            os.mkdir(path)  # noqa: PTH102 - names are bytes here
            build(path, node.inner)
            os.chmod(path, node.mode)  # noqa: PTH101
        elif isinstance(node, Link):
            os.symlink(node.target, path)  # noqa: PTH211
            os.utime(path, ns=(node.modified_ns, node.modified_ns), follow_symlinks=False)
        else:
            Path(os.fsdecode(path)).write_bytes(node.content)
            os.chmod(path, node.mode)  # noqa: PTH101
            os.utime(path, ns=(node.modified_ns, node.modified_ns))


def clear(folder: Path) -> None:
    """Nothing is in it."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


@given(first=TREES, second=TREES, third=TREES)
@bounded(20)
def test_going_back_gives_what_was(
    first: dict[bytes, File | Link | Folder],
    second: dict[bytes, File | Link | Folder],
    third: dict[bytes, File | Link | Folder],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Names of any bytes, modes, times, links, empty folders: from anywhere to anywhere, and undoing it too."""
    history = HistoryFixture(tmp_path_factory.mktemp("history"))
    trees, points = [], []
    for tree in (first, second, third):
        clear(history.work)
        build(os.fsencode(history.work), tree)
        trees.append(history.tree())
        points.append(history.take().id)
        assert history.kept(points[-1]) == trees[-1]
    for index in (0, 1):
        before = history.tree()
        done = history.store.restore(points[index])
        assert not done.left
        assert history.tree() == trees[index]
        history.store.restore(done.before.id)
        assert history.tree() == before
        history.store.restore(done.after.id)
    assert history.tree() == trees[1]
    assert_sound(history.store)
    history.store.close()


def test_only_what_was_named_goes_back(history: HistoryFixture) -> None:
    """A file, or a folder with all that is in it; the folders above come back where they are gone."""
    write(history.work / "d" / "e" / "a", b"1")
    write(history.work / "d" / "e" / "b", b"1")
    write(history.work / "f" / "c", b"1")
    point = history.take()
    shutil.rmtree(history.work / "d")
    (history.work / "f" / "c").write_bytes(b"2")
    write(history.work / "f" / "new", b"2")
    done = history.store.restore(point.id, ["work/d/e/a"])
    assert done.changed == ((b"work", b"d"), (b"work", b"d", b"e"), (b"work", b"d", b"e", b"a"))
    assert sorted(path.name for path in (history.work / "d" / "e").iterdir()) == ["a"]
    assert (history.work / "f" / "c").read_bytes() == b"2"
    done = history.store.restore(point.id, ["work/f"])
    assert done.changed == ((b"work", b"f", b"c"), (b"work", b"f", b"new"))
    assert not (history.work / "f" / "new").exists()
    assert not (history.work / "d" / "e" / "b").exists()


def test_a_link_is_no_file_of_the_same_words(history: HistoryFixture) -> None:
    """Their contents are one and the same in the history."""
    write(history.work / "a", b"elsewhere")
    (history.work / "b").symlink_to("elsewhere")
    point, tree = history.take(), history.tree()
    clear(history.work)
    write(history.work / "b", b"elsewhere")
    (history.work / "a").symlink_to("elsewhere")
    assert history.store.restore(point.id).left == ()
    assert history.tree() == tree


def test_going_back_is_two_points(history: HistoryFixture) -> None:
    """What was there before, if nobody had it yet, and what is there after."""
    write(history.work / "a", b"1")
    first = history.take()
    write(history.work / "a", b"2")
    done = history.store.restore(first.id, label="back to the start", turn=5)
    assert [point.kind for point in (done.before, done.after)] == [PointKind.RESTORE] * 2
    assert (done.after.label, done.after.turn) == ("back to the start", 5)
    assert done.after.id > done.before.id > first.id
    again = history.store.restore(first.id)
    assert (again.before, again.after, again.changed) == (done.after, done.after, ())


def test_folders_that_nobody_may_write_in(history: HistoryFixture) -> None:
    """As package managers make them: what is in them goes and comes back, and they are as closed as before."""
    for name in ("d", "d/e"):
        write(history.work / name / "a", b"1", mode=0o444)
    closed = [history.work / "d", history.work / "d" / "e"]
    for folder in closed:
        folder.chmod(0o555)
    first, tree = history.take(), history.tree()
    closed[0].chmod(0o755)
    closed[1].chmod(0o755)
    for name in ("d", "d/e"):
        (history.work / name / "a").unlink()
        write(history.work / name / "b", b"2")
    for folder in closed:
        folder.chmod(0o555)
    second = history.tree()
    done = history.store.restore(first.id)
    assert (done.left, history.tree()) == ((), tree)
    assert history.store.restore(done.before.id).left == ()
    assert history.tree() == second
    for folder in closed:
        folder.chmod(0o755)


def test_a_file_that_nobody_may_read(history: HistoryFixture) -> None:
    """Root reads it; for others it is listed as not kept, until they may."""
    write(history.work / "a", b"1", mode=0)
    point = history.take()
    assert history.store.get_entry(point.id, "work/a").is_kept == IS_ROOT
    (history.work / "a").chmod(0o600)
    assert history.kept(history.take().id) == history.tree()


@needs_root
def test_what_comes_back_belongs_to_whom_its_folder_belongs(history: HistoryFixture) -> None:
    """Files, folders and links."""
    os.chown(history.work, 20_077, 20_077)
    write(history.work / "d" / "a", b"1")
    (history.work / "l").symlink_to("d")
    point = history.take()
    clear(history.work)
    history.store.restore(point.id)
    made = [history.work / "d", history.work / "d" / "a", history.work / "l"]
    assert {(path.lstat().st_uid, path.lstat().st_gid) for path in made} == {(20_077, 20_077)}


def test_what_is_not_kept_stays(history: HistoryFixture) -> None:
    """It is neither deleted, nor overwritten, nor made up, and it is said."""
    write(history.work / "small", b"1")
    with (history.work / "then").open("wb") as file:
        file.truncate(MOST_FILE_BYTES + 1)
    point = history.take()
    for name in ("small", "d"):
        path = history.work / name / "large" if name == "d" else history.work / name
        path.parent.mkdir(exist_ok=True)
        with path.open("wb") as file:
            file.truncate(MOST_FILE_BYTES + 2)
    (history.work / "then").unlink()
    done = history.store.restore(point.id)
    assert done.changed == ()
    assert {left.path[1:]: left.why for left in done.left} == {
        (b"small",): tree_writer.NOT_KEPT_NOW,
        (b"then",): tree_writer.NOT_KEPT_THEN,
        (b"d", b"large"): tree_writer.NOT_KEPT_NOW,
        (b"d",): tree_writer.NOT_EMPTY,
    }
    assert (history.work / "small").stat().st_size == MOST_FILE_BYTES + 2


def test_a_folder_with_a_pipe_in_it_stays(history: HistoryFixture) -> None:
    """Nobody could bring the pipe back."""
    point = history.take()
    (history.work / "d").mkdir()
    os.mkfifo(history.work / "d" / "pipe")
    write(history.work / "d" / "file", b"1")
    done = history.store.restore(point.id)
    assert done.changed == ((b"work", b"d", b"file"),)
    assert [(left.path, left.why) for left in done.left] == [((b"work", b"d"), tree_writer.NOT_EMPTY)]


def test_holes_stay_holes(history: HistoryFixture) -> None:
    """A file that claims much and holds little takes no more than before."""
    with (history.work / "holes").open("wb") as file:
        file.truncate(32 << 20)
        file.seek(10 << 20)
        file.write(b"here")
    point = history.take()
    wanted = history.tree()
    (history.work / "holes").unlink()
    history.store.restore(point.id)
    assert history.tree() == wanted
    assert (history.work / "holes").stat().st_blocks * 512 < 1 << 20


def test_a_change_in_the_last_moment_is_left_alone(history: HistoryFixture) -> None:
    """Between the point of now and the deed; nobody has a copy of it, so it stays."""
    write(history.work / "a", b"1")
    write(history.work / "b", b"1")
    point = history.take()
    write(history.work / "a", b"2")
    write(history.work / "b", b"2")
    write(history.work / "new", b"2")
    real = history.store._go_back

    def late(*arguments: object) -> object:
        write(history.work / "a", b"much later")
        write(history.work / "new", b"much later")
        return real(*arguments)  # type: ignore[arg-type]

    history.store._go_back = late  # type: ignore[method-assign, assignment]
    done = history.store.restore(point.id)
    assert done.changed == ((b"work", b"b"),)
    assert {left.path[-1]: left.why for left in done.left} == dict.fromkeys((b"a", b"new"), tree_writer.CHANGED)
    assert (history.work / "a").read_bytes() == b"much later"


def test_a_damaged_content_harms_nothing(history: HistoryFixture) -> None:
    """It is noticed before anything is renamed into its place, and the others come back."""
    write(history.work / "a", os.urandom(5000))
    write(history.work / "b", b"1")
    point = history.take()
    write(history.work / "a", b"2")
    write(history.work / "b", b"2")
    history.take()
    pack = next((history.folder / "packs").iterdir())
    damaged = bytearray(pack.read_bytes())
    damaged[100] ^= 1
    pack.write_bytes(damaged)
    done = history.store.restore(point.id)
    assert [(left.path[1], "damaged" in left.why) for left in done.left] == [(b"a", True)]
    assert {path.name: path.read_bytes() for path in history.work.iterdir()} == {"a": b"2", "b": b"1"}
    with pytest.raises(Unavailable, match="damaged"):
        history.store.read_content(point.id, "work/a", max_bytes=10_000)


def test_a_change_that_hides_is_seen_all_the_same(history: HistoryFixture) -> None:
    """Size, mode and time are as before; the kernel's own time is not, and nobody has a copy of the new content."""
    write(history.work / "a", b"1")
    point = history.take()
    write(history.work / "a", b"2")
    facts = (history.work / "a").stat()
    time.sleep(0.03)
    history.take()
    history.take()
    real = history.store._go_back

    def late(*arguments: object) -> object:
        write(history.work / "a", b"3")
        os.utime(history.work / "a", ns=(facts.st_atime_ns, facts.st_mtime_ns))
        return real(*arguments)  # type: ignore[arg-type]

    history.store._go_back = late  # type: ignore[method-assign, assignment]
    done = history.store.restore(point.id)
    assert [(left.path[1], left.why) for left in done.left] == [(b"a", tree_writer.CHANGED)]
    assert (history.work / "a").read_bytes() == b"3"


# --- the undo of one turn --------------------------------------------------------------------------------------


def _turn(history: HistoryFixture, deed: Callable[[], object]) -> tuple[int, int]:
    before = history.take(PointKind.BEFORE).id
    deed()
    return before, history.take(PointKind.AFTER).id


def test_only_what_a_turn_changed_is_undone(history: HistoryFixture) -> None:
    """What came later stays; what was changed again since is a conflict, and stays unless it is named."""
    for name in ("changed", "deleted", "again", "same"):
        write(history.work / name, b"before")

    def deed() -> None:
        for name in ("changed", "again", "same", "made"):
            write(history.work / name, b"by the turn")
        (history.work / "deleted").unlink()

    before, after = _turn(history, deed)
    write(history.work / "again", b"later")
    write(history.work / "later", b"later")
    write(history.work / "same", b"before")
    history.take()
    plan = history.store.preview_revert(before, after)
    assert [(change.path[1], change.kind) for change in plan.changes] == [
        (b"changed", "changed"),
        (b"deleted", "deleted"),
        (b"made", "made"),
    ]
    assert [change.path[1] for change in plan.conflicts] == [b"again"]
    done = history.store.revert_changes(before, after)
    assert [(left.path[1], left.why) for left in done.left] == [(b"again", CHANGED_SINCE)]
    contents = {path.name: path.read_bytes() for path in history.work.iterdir()}
    assert contents == {
        "changed": b"before",
        "deleted": b"before",
        "same": b"before",
        "again": b"later",
        "later": b"later",
    }
    done = history.store.revert_changes(before, after, including=["work/again"])
    assert done.changed == ((b"work", b"again"),)
    assert (history.work / "again").read_bytes() == b"before"
    assert history.store.revert_changes(before, after).changed == ()


def test_undoing_the_undo_is_going_back(history: HistoryFixture) -> None:
    """Byte for byte."""
    write(history.work / "a", b"1")
    before, after = _turn(history, lambda: write(history.work / "d" / "b", b"2"))
    tree = history.tree()
    done = history.store.revert_changes(before, after)
    assert not (history.work / "d").exists()
    history.store.restore(done.before.id)
    assert history.tree() == tree


def test_a_folder_that_others_use_by_now_stays(history: HistoryFixture) -> None:
    """The turn made it; what somebody else put into it later is not touched."""
    before, after = _turn(history, lambda: write(history.work / "d" / "b", b"2"))
    write(history.work / "d" / "later", b"3")
    done = history.store.revert_changes(before, after)
    assert done.changed == ((b"work", b"d", b"b"),)
    assert [(left.path, left.why) for left in done.left] == [((b"work", b"d"), tree_writer.NOT_EMPTY)]
    assert (history.work / "d" / "later").read_bytes() == b"3"
