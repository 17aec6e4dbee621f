"""``orchestrator.files.tree``: trees of any depth, width and mode are measured and deleted, and nothing beside them."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.core.errors import Unavailable
from orchestrator.files import tree

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="takes root")
NOBODY = 20_001


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """The folder with what is measured and deleted; beside it what must stay."""
    (tmp_path / "keep").mkdir()
    (tmp_path / "keep" / "file").write_bytes(b"x")
    (tmp_path / "top").mkdir()
    return tmp_path / "top"


@pytest.fixture
def parent(top: Path) -> Iterator[int]:
    """A descriptor of the folder above."""
    descriptor = os.open(top.parent, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def folder(top: Path) -> Iterator[int]:
    """A descriptor of the tree itself."""
    descriptor = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


def _dig(top: Path, levels: int, *beside: str) -> None:
    """Folders in each other, each with others beside it."""
    here = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(levels):
        for name in ("d", *beside):
            os.mkdir(name, dir_fd=here)
        below = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def _open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def _fill(top: Path, count: int) -> None:
    folder = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    for number in range(count):
        os.close(os.open(f"{number}", os.O_WRONLY | os.O_CREAT, dir_fd=folder))
    os.close(folder)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def _odd(top: Path) -> None:
    """One of everything."""
    for name in (b"\xff", b"a\nb", b"n" * 255, b"-rf", b"..."):
        (top / os.fsdecode(name)).mkdir()
    os.mkfifo(top / "pipe")
    _socket(top / "socket")
    (top / "link").symlink_to("../keep")
    (top / "dangling").symlink_to("nothing")
    (top / "loop").symlink_to("loop")
    (top / "hard").hardlink_to(top.parent / "keep" / "file")
    (top / "closed" / "inner").mkdir(parents=True)
    (top / "closed" / "inner" / "file").write_bytes(b"x")
    (top / "closed" / "inner").chmod(0)
    (top / "closed").chmod(0)
    os.utime(top / "hard", (2**33, 2**33))


SHAPES: dict[str, tuple[Callable[[Path], None], int]] = {
    "nothing": (Path.touch, 0),
    "one of everything": (_odd, 14),
    "5,000 levels": (lambda top: _dig(top, 5_000), 5_000),
    "2,500 levels with more beside each": (lambda top: _dig(top, 2_500, "c", "e"), 7_500),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_measures_and_deletes(top: Path, parent: int, folder: int, shape: str) -> None:
    """Every shape, whole, with no descriptor left and nothing gone beside it."""
    make, count = SHAPES[shape]
    make(top)
    before = _open_descriptors()
    use = tree.measure_tree(folder, max_entries=100_000)
    assert (use.inodes, use.is_complete) == (count, True)
    tree.remove_tree(parent, "top")
    tree.remove_tree(parent, "top")
    assert [path.name for path in top.parent.iterdir()] == ["keep"]
    assert (top.parent / "keep" / "file").read_bytes() == b"x"
    assert _open_descriptors() == before


def test_more_files_than_one_pass_takes(top: Path, parent: int, folder: int) -> None:
    """In a time that nobody minds, and in bounded steps."""
    _fill(top, 60_000)
    began = time.monotonic()
    assert tree.measure_tree(folder, max_entries=1_000_000).inodes == 60_000
    assert len(tree.names_after(folder, b"5", 100)) == 100
    tree.remove_tree(parent, "top")
    assert time.monotonic() - began < 60
    assert not top.exists()


def test_measures_what_is_on_the_disk(top: Path, folder: int) -> None:
    """Not what a file claims, and a file with two names once."""
    with (top / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    (top / "real").write_bytes(b"x" * 1_000_000)
    (top / "again").hardlink_to(top / "real")
    use = tree.measure_tree(folder, max_entries=10)
    assert 1_000_000 <= use.bytes < 1_200_000
    assert use.inodes == 2


def test_finds_what_takes_the_most(top: Path, folder: int) -> None:
    """Files and folders with all beneath them, the heaviest first; links and what is not there weigh nothing."""
    for name, size in (("work/a", 300_000), ("work/deep/er/b", 200_000), ("work/deep/c", 200_000), ("out/d", 100_000)):
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
    (top / "work" / "link").symlink_to(top / "work" / "a")
    (top / "www").symlink_to(top / "work")
    found = tree.find_largest(folder, (b"work", b"out", b"www", b"gone"), 3)
    assert [name for name, _ in found] == [(b"work", b"deep"), (b"work", b"a"), (b"out", b"d")]
    assert [size >= least for (_, size), least in zip(found, (400_000, 300_000, 100_000), strict=True)] == [True] * 3


@pytest.mark.parametrize("allowed", [0, 1, 99])
def test_measures_no_more_than_allowed(top: Path, folder: int, allowed: int) -> None:
    """And says that it is not all."""
    _dig(top, 50, "c")
    use = tree.measure_tree(folder, max_entries=allowed)
    assert (use.inodes, use.is_complete) == (allowed, False)
    assert tree.measure_tree(folder, max_entries=100).is_complete


def test_names_come_in_pages(top: Path, folder: int) -> None:
    """In the order of their bytes."""
    for name in (b"b", b"a", b"\xff", b"B", b"c"):
        (top / os.fsdecode(name)).mkdir()
    assert tree.names_after(folder, b"", 3) == [b"B", b"a", b"b"]
    assert tree.names_after(folder, b"b", 3) == [b"c", b"\xff"]


@pytest.mark.parametrize("make", [lambda p: p.write_bytes(b"x"), lambda p: p.symlink_to("keep"), os.mkfifo])
def test_deletes_what_is_no_folder(top: Path, parent: int, make: Callable[[Path], object]) -> None:
    """The thing itself, never what it leads to."""
    make(top.parent / "thing")
    tree.remove_tree(parent, b"thing")
    assert {path.name for path in top.parent.iterdir()} == {"keep", "top"}
    assert (top.parent / "keep" / "file").exists()


def _as_nobody(parent: int, work: Callable[[], bool]) -> bool:
    """Whether it went well for a user without any privilege, in that folder."""
    child = os.fork()
    if child == 0:
        try:
            os.fchdir(parent)
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@needs_root
def test_deletes_closed_folders_without_being_root(top: Path, parent: int, folder: int) -> None:
    """The owner opens them first; measuring skips them and says so."""
    for path in (top.parent, top):
        os.chown(path, NOBODY, NOBODY)

    def measured() -> bool:
        _close_folders(Path("top"))
        return not tree.measure_tree(folder, max_entries=100).is_complete

    def removed() -> bool:
        tree.remove_tree(parent, "top")
        return not Path("top").exists()

    assert _as_nobody(parent, measured)
    assert _as_nobody(parent, removed)
    assert (top.parent / "keep" / "file").exists()


def _close_folders(top: Path) -> None:
    for name in ("a", "b"):
        (top / name / "inner" / "deep").mkdir(parents=True)
        (top / name / "inner" / "deep" / "file").write_bytes(b"x")
        for inner in ("inner/deep", "inner", "."):
            (top / name / inner).chmod(0)


@needs_root
def test_says_what_may_not_be_deleted(top: Path, parent: int) -> None:
    """Somebody else's file in somebody else's folder."""
    (top / "theirs").mkdir()
    (top / "theirs" / "file").write_bytes(b"x")
    top.parent.chmod(0o755)

    def refused() -> bool:
        try:
            tree.remove_tree(parent, "top")
        except PermissionError:
            return True
        return False

    assert _as_nobody(parent, refused)
    assert (top / "theirs" / "file").exists()


# --- races -----------------------------------------------------------------------------------------------------


def _in_a_loop(work: Callable[[], None], stop: threading.Event) -> threading.Thread:
    def loop() -> None:
        while not stop.is_set():
            try:
                work()
            except OSError:
                continue

    thread = threading.Thread(target=loop)
    thread.start()
    return thread


def test_a_link_put_in_a_folders_place_leads_nowhere(top: Path, parent: int) -> None:
    """Folders become links to a folder outside while the tree is measured and deleted: outside stays as it is."""
    outside, stop = top.parent / "keep", threading.Event()

    def swap() -> None:
        (top / "a" / "b").mkdir(parents=True, exist_ok=True)
        (top / "a" / "b" / "file").touch()
        (top / "link").symlink_to(outside)
        (top / "a").rename(top / "away")
        (top / "link").rename(top / "a")
        (top / "a").unlink()

    thread, end = _in_a_loop(swap, stop), time.monotonic() + 2
    try:
        while time.monotonic() < end:
            with_descriptor = os.open(top.parent, os.O_RDONLY | os.O_DIRECTORY)
            assert tree.measure_tree(with_descriptor, max_entries=1000).inodes < 30
            os.close(with_descriptor)
            try:
                tree.remove_tree(parent, "top")
            except Unavailable:
                continue
            top.mkdir(exist_ok=True)
    finally:
        stop.set()
        thread.join()
    assert (outside / "file").read_bytes() == b"x"
    assert outside.stat().st_nlink == 2


def test_a_folder_moved_while_it_is_measured_ends_it(top: Path, folder: int, tmp_path: Path) -> None:
    """Then ``..`` leads elsewhere, and what is counted there is none of ours."""
    _dig(top, 300, "c")
    (tmp_path / "elsewhere").mkdir()
    _fill(tmp_path / "elsewhere", 2_000)
    stop = threading.Event()

    def move() -> None:
        (top / "d" / "d").rename(tmp_path / "elsewhere" / "d")
        (tmp_path / "elsewhere" / "d").rename(top / "d" / "d")

    thread, end = _in_a_loop(move, stop), time.monotonic() + 1
    try:
        while time.monotonic() < end:
            assert tree.measure_tree(folder, max_entries=10_000).inodes <= 600
    finally:
        stop.set()
        thread.join()
    assert tree.measure_tree(folder, max_entries=10_000) == tree.measure_tree(folder, max_entries=600)


def test_what_is_newer_is_found_at_any_depth(top: Path, folder: int) -> None:
    """By the kernel's own time, which nobody can set; beyond the limits nothing is looked at."""
    deep = top / "a" / "b" / "c"
    deep.mkdir(parents=True)
    (deep / "old").write_text("x")
    time.sleep(0.03)
    since = time.time()
    assert not tree.is_newer(folder, since, max_entries=100)
    time.sleep(0.03)
    (deep / "old").write_text("y")
    os.utime(deep / "old", (1.0, 1.0))
    assert tree.is_newer(folder, since, max_entries=100)
    assert not tree.is_newer(folder, since, max_entries=100, max_depth=2)
    assert not tree.is_newer(folder, since, max_entries=3)


def test_a_link_is_not_followed_in_looking_for_the_new(top: Path, folder: int, tmp_path: Path) -> None:
    """What lies behind it is nobody's app."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (top / "link").symlink_to(outside)
    time.sleep(0.03)
    since = time.time()
    time.sleep(0.03)
    (outside / "new").write_text("x")
    assert not tree.is_newer(folder, since, max_entries=100)
