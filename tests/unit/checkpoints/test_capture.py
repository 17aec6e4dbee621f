"""``orchestrator.checkpoints.capture``: what is being written is known as such, and looked at until it rests."""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orchestrator.checkpoints import capture
from orchestrator.checkpoints.capture import Trust
from orchestrator.checkpoints.models import MOST_DEPTH
from orchestrator.files.tree import measure_tree, remove_tree
from tests.support.history_fixture import HistoryFixture, write

OLD_S = 0.03
"""A time of change that is older than this is trusted."""


def trust_of(history: HistoryFixture, name: bytes) -> int:
    """How far a look at the kernel's facts of a file in ``work`` is trusted."""
    with history.store._db.reading() as db:
        row = db.execute("SELECT trust FROM entries WHERE name = ? AND until IS NULL", (name,)).fetchone()
    return int(row[0])


def read(history: HistoryFixture, name: str) -> bytes:
    """What the newest point has of a file in ``work``."""
    newest = history.store.list_checkpoints(limit=1)[0]
    return history.store.read_content(newest.id, f"work/{name}", max_bytes=1 << 30)


def test_a_quiet_file_is_trusted(history: HistoryFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not read again; one of just now is, until it is older than any clock's tick."""
    write(history.work / "a", b"1")
    with monkeypatch.context() as patched:
        patched.setattr(capture, "_YOUNG_NS", 10**12)
        history.take()
    assert trust_of(history, b"a") == Trust.NONE
    time.sleep(OLD_S)
    history.take()
    assert trust_of(history, b"a") == Trust.FULL


def test_a_file_that_somebody_can_write_is_read_again(history: HistoryFixture) -> None:
    """Whatever the kernel says of it, until nobody can."""
    path = history.work / "a"
    write(path, b"1")
    with path.open("ab"):
        time.sleep(OLD_S)
        history.take()
        assert trust_of(history, b"a") == Trust.NONE
    history.take()
    assert trust_of(history, b"a") == Trust.FULL


@contextmanager
def mapped(path: Path) -> Iterator[int]:
    """The address of a shared writable mapping whose descriptor is closed."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    size = ctypes.c_size_t(path.stat().st_size)
    file = os.open(path, os.O_RDWR)
    address = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, file, ctypes.c_long(0))
    os.close(file)
    try:
        yield address
    finally:
        libc.munmap(ctypes.c_void_p(address), size)


def test_writes_through_a_mapping_are_seen(history: HistoryFixture) -> None:
    """The second one to a page changes no time at all; the mapping alone tells of it."""
    path = history.work / "a"
    write(path, b"0" * 8192)
    with mapped(path) as address:
        ctypes.memset(address, ord("1"), 1)
        time.sleep(OLD_S)
        history.take()
        times = path.stat().st_ctime_ns
        ctypes.memset(address + 1, ord("2"), 1)
        assert path.stat().st_ctime_ns == times
        history.take()
        assert read(history, "a")[:3] == b"120"


def test_a_file_that_never_rests_is_torn_and_then_whole(history: HistoryFixture) -> None:
    """Each point says whether it is; the one after the last write has that."""
    path, over = history.work / "a", threading.Event()

    def rewrite() -> None:
        number = 0
        while not over.is_set():
            number += 1
            with path.open("r+b", buffering=0) as file:
                for _ in range(50):
                    file.write(bytes([65 + number % 26]) * 100_000)

    write(path, b"0" * 5_000_000)
    writer = threading.Thread(target=rewrite, name="agent")
    writer.start()
    points = [history.take()]
    try:
        while len(points) < 10 or not any(point.torn for point in points):
            points.append(history.take())
    finally:
        over.set()
        writer.join()
    for point in points:
        content = history.store.read_content(point.id, "work/a", max_bytes=10_000_000)
        assert point.torn or len(set(content)) <= 2
    history.take()
    assert read(history, "a") == path.read_bytes()


@pytest.mark.parametrize("size", [0, 1, 64, 65, 4096, 1 << 20, (1 << 20) + 1, 5_000_001])
@pytest.mark.parametrize("kind", ["random", "text", "deceptive"])
def test_contents_of_any_size_come_back(history: HistoryFixture, size: int, kind: str) -> None:
    """Those that deflating helps and those that it does not, and those whose beginning lies about it."""
    text = (b"the tide comes in, " * (size // 19 + 1))[:size]
    content = {"random": os.urandom(size), "text": text, "deceptive": text[:4096] + os.urandom(max(0, size - 4096))}[
        kind
    ]
    write(history.work / "a", content)
    history.take()
    assert read(history, "a") == content
    if kind == "text" and size > 4096:
        assert sum(pack.stat().st_size for pack in (history.folder / "packs").iterdir()) < size // 10


def test_second_names_are_looked_at_each_time(history: HistoryFixture) -> None:
    """A write through one of them is a write to all."""
    write(history.work / "a" / "one", b"1")
    (history.work / "b").mkdir()
    os.link(history.work / "a" / "one", history.work / "b" / "two")
    time.sleep(OLD_S)
    history.take()
    assert trust_of(history, b"one") == trust_of(history, b"two") == Trust.LOOK
    (history.work / "b" / "two").write_bytes(b"22")
    history.take()
    assert read(history, "a/one") == b"22"
    (history.work / "b" / "two").unlink()
    time.sleep(OLD_S)
    history.take()
    assert trust_of(history, b"one") == Trust.FULL


@pytest.fixture
def deep(history: HistoryFixture) -> Iterator[int]:
    """A descriptor of ``work``, in which folders lie in each other, deeper than anybody looks. Nobody else could
    delete them afterwards."""
    work = os.open(history.work, os.O_RDONLY)
    here = os.dup(work)
    try:
        for _ in range(MOST_DEPTH + 20):
            os.mkdir("d", dir_fd=here)
            below = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        yield work
    finally:
        os.close(here)
        for name in ("d", "e"):
            remove_tree(work, name)
        os.close(work)


def test_what_lies_too_deep_is_not_looked_at(history: HistoryFixture, deep: int) -> None:
    """A folder at the edge is listed as not kept; it does not come back, and what is there comes to no harm."""
    first = history.take()
    assert (first.changed, first.unkept) == (3 + MOST_DEPTH, 0)
    edge = (b"work", *[b"d"] * MOST_DEPTH)
    assert not history.store.get_entry(first.id, edge).is_kept
    (history.work / "d").rename(history.work / "e")
    history.take()
    done = history.store.restore(first.id)
    assert {left.path[1] for left in done.left} == {b"d", b"e"}
    assert measure_tree(deep, max_entries=10_000).inodes == (MOST_DEPTH + 20) + (MOST_DEPTH - 1)
