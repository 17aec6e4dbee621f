"""Points of time against an agent that wants to hurt the host by them: what it makes is never followed, run or waited
for, and going back writes nowhere else. A canary stands for whatever of the host must never get in."""

from __future__ import annotations

import itertools
import os
import random
import socket
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.checkpoints.models import PointKind
from orchestrator.files.tree import remove_tree
from tests.support.history_fixture import HistoryFixture, assert_sound, describe_tree, list_contents, write
from tests.support.meanwhile import meanwhile

CANARY = b"canary-that-must-not-appear"
NESTED = 1_500
_STARTS = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "pty.spawn")


class Starts:
    """What this process has started, as Python itself tells; a hook can't be taken out, so it is switched."""

    def __init__(self) -> None:
        self.is_on = False
        self.seen: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, _: object) -> None:
        if self.is_on and event in _STARTS:
            self.seen.append(event)


_starts = Starts()


@pytest.fixture
def history(tmp_path: Path) -> Iterator[HistoryFixture]:
    """A cubicle with a history, a secret beside it, and nothing started while a test runs."""
    (tmp_path / "secret" / "deep").mkdir(parents=True)
    (tmp_path / "secret" / "file").write_bytes(CANARY)
    (tmp_path / "secret" / "deep" / "file").write_bytes(CANARY)
    made = HistoryFixture(tmp_path)
    _starts.seen.clear()
    _starts.is_on = True
    yield made
    _starts.is_on = False
    assert _starts.seen == []
    assert_sound(made.store)
    assert [content for content in list_contents(made.store) if CANARY in content] == []
    made.store.close()


def outside(history: HistoryFixture) -> dict[str, tuple[int, int, int, bytes]]:
    """Everything that is not the cubicle's, to the last bit."""
    found = {}
    for path in sorted((history.base / "secret").rglob("*")):
        facts = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(facts.st_mode) else b""
        found[str(path)] = (facts.st_mode, facts.st_uid, facts.st_mtime_ns, content)
    return found


def test_every_odd_thing_at_once(history: HistoryFixture) -> None:
    """Pipes, sockets, devices, links out, long links, names of every byte, several names, closed files, huge files:
    a point is taken, all that can be kept comes back, and nothing is waited for."""
    work, secret = history.work, history.base / "secret"
    os.mkfifo(work / "pipe")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(work / "socket"))
    if os.geteuid() == 0:
        os.mknod(work / "device", 0o600 | stat.S_IFBLK, os.makedev(1, 0))
    (work / "out").symlink_to(secret / "file")
    (work / "folder-out").symlink_to(secret)
    (work / "root").symlink_to("/")
    (work / "self").symlink_to("self")
    (work / "long").symlink_to("x" * 4000)
    for number in (number for number in range(1, 256) if number != ord("/")):
        Path(os.fsdecode(os.fsencode(work) + b"/n-" + bytes([number]))).write_bytes(bytes([number]))
    Path(os.fsdecode(os.fsencode(work) + b"/" + b"\xff" * 255)).mkdir()
    os.link(work / "n-A", work / "hard")
    write(work / "closed", b"closed", mode=0 if os.geteuid() == 0 else 0o400)
    with (work / "terabyte").open("wb") as file:
        file.truncate(1 << 40)
    point, tree = history.take(), _tree_but(history, "terabyte")
    for path in work.iterdir():
        if not path.is_symlink() and path.is_dir():
            path.rmdir()
        elif path.name != "terabyte":
            path.unlink()
    before = outside(history)
    done = history.store.restore(point.id)
    assert done.left == ()
    assert _tree_but(history, "terabyte") == tree
    assert outside(history) == before
    assert not any((work / name).exists() for name in ("pipe", "socket", "device"))


def _tree_but(history: HistoryFixture, name: str) -> dict[tuple[bytes, ...], tuple[str, int, int, bytes]]:
    path = history.work / name
    aside = history.base / "aside"
    path.rename(aside)
    found = describe_tree(history.top)
    aside.rename(path)
    return found


def test_a_repository_is_files_as_any_others(history: HistoryFixture) -> None:
    """What git would run of it is not run, by nobody; its hooks and its index come back as they were."""
    ran = history.base / "ran"
    evil = f"#!/bin/sh\ntouch {ran}\n".encode()
    repository = history.work / "project" / ".git"
    write(repository / "config", f'[core]\n\tfsmonitor = touch {ran}\n[filter "x"]\n\tclean = touch {ran}\n'.encode())
    write(repository / "HEAD", b"ref: refs/heads/main\n")
    write(repository / "index", os.urandom(500))
    for hook in ("pre-commit", "post-checkout", "post-index-change"):
        write(repository / "hooks" / hook, evil, mode=0o755)
    write(history.work / "project" / ".gitattributes", b"* filter=x\n")
    write(history.work / "broken" / ".git", b"gitdir: /nowhere\n")
    point, tree = history.take(), history.tree()
    write(repository / "HEAD", b"ref: refs/heads/other\n")
    (repository / "hooks" / "pre-commit").unlink()
    history.store.restore(point.id)
    assert history.tree() == tree
    assert not ran.exists()


@pytest.fixture
def nested(history: HistoryFixture) -> Iterator[HistoryFixture]:
    """Folders in each other, deeper than a path can name, with a file at the bottom."""
    work = os.open(history.work, os.O_RDONLY)
    here = os.dup(work)
    for _ in range(NESTED):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    bottom = os.open("bottom", os.O_CREAT | os.O_WRONLY, dir_fd=here)
    os.write(bottom, b"deep down")
    os.close(bottom)
    os.close(here)
    yield history
    remove_tree(work, "d")
    os.close(work)


def test_folders_in_folders_in_folders(nested: HistoryFixture) -> None:
    """No path, no recursion and no more than a few descriptors: what lies at the bottom goes and comes back."""
    point = nested.take()
    bottom = (b"work", *[b"d"] * NESTED, b"bottom")
    assert nested.store.read_content(point.id, bottom, max_bytes=99) == b"deep down"
    work = os.open(nested.work, os.O_RDONLY)
    remove_tree(work, "d")
    os.close(work)
    done = nested.store.restore(point.id)
    assert (len(done.changed), done.left) == (NESTED + 1, ())
    again = nested.take()
    assert nested.store.read_content(again.id, bottom, max_bytes=99) == b"deep down"


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    """A descriptor of it, and of nothing that it leads to: what is outside is not changed by the test itself."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def swapper(history: HistoryFixture, seed: int) -> Callable[[], None]:
    """Folders and files that are links to the secret every other moment."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    secret, numbers = history.base / "secret", itertools.count()

    def swap() -> None:
        folder = history.work / f"d{chance.randrange(20)}"
        aside = history.work / f"aside-{seed}-{next(numbers)}"
        folder.rename(aside)
        folder.symlink_to(secret / "deep")
        folder.unlink()
        aside.rename(folder)
        name = f"file{chance.randrange(3) or ''}"
        with opened(folder) as inner:
            os.unlink(name, dir_fd=inner)
            os.symlink(secret / "file", name, dir_fd=inner)
            os.unlink(name, dir_fd=inner)
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o640, dir_fd=inner))

    return swap


def test_swaps_bring_nothing_in(history: HistoryFixture) -> None:
    """A folder on the way, or the file itself, becomes a link between any two steps of a look."""
    for folder, name in itertools.product(range(20), ("file", "file1", "file2")):
        write(history.work / f"d{folder}" / name, b"inside")
    with meanwhile(swapper(history, 1), swapper(history, 2)):
        while history.take().id < 25:
            continue
    assert any(CANARY in content for content in list_contents(history.store)) is False


def test_going_back_under_swaps_writes_nothing_outside(history: HistoryFixture) -> None:
    """Neither a file, nor a mode, nor a time; what was swapped away is said not to be back."""
    for folder, name in itertools.product(range(20), ("file", "file1", "file2")):
        write(history.work / f"d{folder}" / name, b"inside", mode=0o640)
    first = history.take()
    for folder, name in itertools.product(range(20), ("file", "file1", "new")):
        write(history.work / f"d{folder}" / name, b"later", mode=0o666)
    second = history.take(PointKind.NAMED)
    before, changed = outside(history), 0
    with meanwhile(swapper(history, 3), swapper(history, 4)):
        for number in range(30):
            done = history.store.restore((first, second)[number % 2].id)
            changed += len(done.changed)
            assert outside(history) == before
    assert changed > 100
    history.store.restore(first.id)
    assert history.kept(first.id) == history.tree()


def test_a_file_in_the_place_that_is_written_beside(history: HistoryFixture) -> None:
    """The name is known to whoever reads this: a link, a folder or a pipe there leads nowhere."""
    write(history.work / "a", b"1")
    first = history.take()
    write(history.work / "a", b"2")
    history.take()
    (history.work / "a").unlink()
    history.store.restore(first.id)
    beside = _beside(history, first.id)
    before = outside(history)
    traps: list[Callable[[], None]] = [
        lambda: beside.symlink_to(history.base / "secret" / "file"),
        lambda: os.link(history.work / "a", beside),
        lambda: os.mkfifo(beside),
    ]
    for trap in traps:
        write(history.work / "a", b"3")
        trap()
        history.store.restore(first.id, ["work/a"])
        assert (history.work / "a").read_bytes() == b"1"
        assert not beside.exists()
    beside.mkdir()
    write(history.work / "a", b"4")
    done = history.store.restore(first.id, ["work/a"])
    assert [left.path[1] for left in done.left] == [b"a"]
    assert outside(history) == before


def _beside(history: HistoryFixture, point: int) -> Path:
    """Where ``work/a`` is written before it is renamed."""
    names: set[str] = set()
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            names.update(name for name in os.listdir(history.work) if name.startswith("."))  # noqa: PTH208

    watcher = threading.Thread(target=look, name="agent")
    watcher.start()
    while not names:
        write(history.work / "a", os.urandom(50))
        history.store.restore(point, ["work/a"])
    over.set()
    watcher.join()
    return history.work / names.pop()
