"""``orchestrator.files.safe_open``: whatever lies in a folder and is swapped meanwhile, nothing outside is ever
opened.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.core.errors import Changing, NotFound, OrchestratorError, TooLarge, UnsafePath
from orchestrator.files.safe_open import FILE, Opening, best_opening, by_steps, in_one_call, open_file, open_folder
from orchestrator.files.tree import remove_tree

CANARY = b"canary-4711"
RACE_S = 1.5
OPENINGS: dict[str, Opening] = {"openat2": in_one_call, "steps": by_steps}
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="takes root")


@pytest.fixture(params=OPENINGS)
def opening(request: pytest.FixtureRequest) -> Opening:
    """Each way to open; openat2 only where the kernel has it."""
    if request.param == "openat2" and best_opening() is not in_one_call:
        pytest.skip("this kernel has no openat2")
    return OPENINGS[request.param]


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """The folder that strangers write; beside it a secret."""
    (tmp_path / "secret").write_bytes(CANARY)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_bytes(CANARY)
    folder = tmp_path / "top"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "file").write_bytes(b"inside")
    return folder


@pytest.fixture
def folder(top: Path) -> Iterator[int]:
    """A descriptor of it."""
    descriptor = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


def _read(opening: Opening, folder: int, *parts: bytes, max_bytes: int | None = 1000) -> bytes:
    with open_file(opening, folder, parts, max_bytes=max_bytes) as opened:
        return os.read(opened.descriptor, 100)


def _open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_opens_what_is_there(opening: Opening, folder: int) -> None:
    """A file in a folder, a folder, the folder itself; and says what is not there. No descriptor is left open."""
    before = _open_descriptors()
    assert _read(opening, folder, b"a", b"b", b"file") == b"inside"
    for parts, names in (((b"a",), ["b"]), ((), ["a"])):
        with open_folder(opening, folder, parts) as opened:
            assert [entry.name for entry in os.scandir(opened)] == names
    for missing in ((b"x",), (b"a", b"x", b"file"), (b"a", b"b", b"x")):
        with pytest.raises(NotFound):
            _read(opening, folder, *missing)
    assert _open_descriptors() == before


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def _device(path: Path) -> None:
    os.mknod(path, 0o666 | 0o020000, os.makedev(1, 5))  # /dev/zero: reading it would never end


TRICKS: dict[str, Callable[[Path], object]] = {
    "an absolute link": lambda path: path.symlink_to(path.parents[1] / "secret"),
    "a relative link": lambda path: path.symlink_to("../secret"),
    "a link to its neighbour": lambda path: path.symlink_to("a/b/file"),
    "a dangling link": lambda path: path.symlink_to("nothing"),
    "a loop": lambda path: path.symlink_to("trick"),
    "a magic link": lambda path: path.symlink_to("/proc/self/environ"),
    "a magic link to a root": lambda path: path.symlink_to("/proc/self/root/etc/hostname"),
    "a link to a descriptor": lambda path: path.symlink_to("/proc/self/fd/0"),
    "a hard link": lambda path: path.hardlink_to(path.parents[1] / "secret"),
    "a folder": lambda path: path.mkdir(),
    "a pipe": os.mkfifo,
    "a socket": _socket,
    "a device": _device,
}


@pytest.mark.parametrize("trick", TRICKS)
def test_refuses_all_but_plain_files(opening: Opening, folder: int, top: Path, trick: str) -> None:
    """At once: nobody waits for a pipe's other end."""
    if trick == "a device" and os.geteuid():
        pytest.skip("devices take root")
    TRICKS[trick](top / "trick")
    with pytest.raises(UnsafePath):
        _read(opening, folder, b"trick")


@pytest.mark.parametrize("target", ["../outside", "/proc/self/cwd", "/proc/self/root", ".", "a", "nothing", "link"])
def test_refuses_a_link_on_the_way(opening: Opening, folder: int, top: Path, target: str) -> None:
    """Wherever it leads, and one that leads back inside too."""
    (top / "link").symlink_to(target)
    for parts in ((b"link", b"file"), (b"link", b"b", b"file")):
        with pytest.raises((UnsafePath, NotFound)):
            _read(opening, folder, *parts)
    with pytest.raises(UnsafePath), open_folder(opening, folder, (b"link",)):
        pass


@pytest.mark.parametrize("way", [b"pipe", b"a/b/file"])
def test_refuses_a_way_through_something_else(opening: Opening, folder: int, top: Path, way: bytes) -> None:
    """A pipe or a file in the middle of a path."""
    os.mkfifo(top / "pipe")
    with pytest.raises(UnsafePath):
        _read(opening, folder, *way.split(b"/"), b"x")


def test_refuses_what_is_too_large(opening: Opening, folder: int, top: Path) -> None:
    """By its size, before anything is read: a terabyte of nothing costs nothing."""
    with (top / "huge").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(TooLarge, match="50 MB"):
        _read(opening, folder, b"huge", max_bytes=50_000_000)
    assert _read(opening, folder, b"huge", max_bytes=None)


def test_names_are_data(opening: Opening, folder: int, top: Path) -> None:
    """Bytes that are no text, newlines, 255 bytes, a leading dash: opened, and refused with a tame sentence."""
    for name in (b"\xff\xfe", b"a\nb\x1b[31m", b"n" * 255, b"-rf", " \u202e ".encode(), b"...", b"%s{0}"):
        path = os.fsencode(top) + b"/" + name
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.write(descriptor, b"x")
        os.close(descriptor)
        assert _read(opening, folder, name) == b"x"
        with pytest.raises(TooLarge) as caught:
            _read(opening, folder, name, max_bytes=0)
        assert caught.value.message.isprintable()


@pytest.mark.parametrize(("levels", "name"), [(5_000, b"d"), (60, b"n" * 255)])
def test_goes_deeper_than_any_path(opening: Opening, folder: int, levels: int, name: bytes) -> None:
    """Where the kernel takes 4,096 bytes at a time."""
    here = os.dup(folder)
    for _ in range(levels):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)
    before = _open_descriptors()
    try:
        assert _read(opening, folder, *[name] * levels, b"file") == b""
        assert _open_descriptors() == before
    finally:
        remove_tree(folder, name)  # pytest's own tidying gives up on so deep a tree


def test_a_lease_keeps_nobody_waiting(opening: Opening, folder: int, top: Path) -> None:
    """A program that leases its file could hold whoever opens it for 45 seconds."""
    holder = (
        "import fcntl, os, signal, sys\n"
        "signal.signal(signal.SIGIO, signal.SIG_IGN)\n"
        "fcntl.fcntl(os.open(sys.argv[1], os.O_RDWR), fcntl.F_SETLEASE, fcntl.F_WRLCK)\n"
        "print('held', flush=True)\nsys.stdin.read()\n"
    )
    command = [sys.executable, "-c", holder, str(top / "a" / "b" / "file")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        began = time.monotonic()
        with pytest.raises(Changing):
            _read(opening, folder, b"a", b"b", b"file")
        assert time.monotonic() - began < 10
        process.send_signal(signal.SIGKILL)


@needs_root
def test_says_when_permissions_keep_it_out(opening: Opening, folder: int, top: Path) -> None:
    """Root reads everything; anybody else is told what to do."""
    (top / "closed").write_bytes(b"x")
    (top / "closed").chmod(0)
    assert _read(opening, folder, b"closed") == b"x"
    child = os.fork()
    if child == 0:
        os.setuid(20_001)
        try:
            opening(folder, (b"closed",), FILE)
        except PermissionError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


# --- races -----------------------------------------------------------------------------------------------------


def _swap_file(top: Path, stop: threading.Event) -> None:
    """The last component is now a file, now a link."""
    good, bad = top / "a" / "good", top / "a" / "bad"
    while not stop.is_set():
        good.write_bytes(b"inside")
        good.replace(top / "a" / "file")
        bad.symlink_to("../../secret")
        bad.replace(top / "a" / "file")


def _swap_parent(top: Path, stop: threading.Event) -> None:
    """The folder above is now a folder, now a link to one outside."""
    (top / "spare").symlink_to("../outside")
    (top / "a" / "file").write_bytes(b"inside")
    while not stop.is_set():
        (top / "a").rename(top / "real")
        (top / "spare").rename(top / "a")
        (top / "a").rename(top / "spare")
        (top / "real").rename(top / "a")


@pytest.mark.parametrize("swap", [_swap_file, _swap_parent])
def test_a_swap_in_time_gains_nothing(
    opening: Opening, folder: int, top: Path, swap: Callable[[Path, threading.Event], None]
) -> None:
    """While one thread swaps, another opens as fast as it can: what it reads is from inside, or it is refused."""
    stop, tries = threading.Event(), 0
    seen: set[bytes] = set()
    swapper = threading.Thread(target=swap, args=(top, stop))
    swapper.start()
    end = time.monotonic() + RACE_S
    try:
        while time.monotonic() < end:
            tries += 1
            try:
                seen.add(_read(opening, folder, b"a", b"file"))
            except OrchestratorError as refused:
                seen.add(refused.code.encode())
    finally:
        stop.set()
        swapper.join()
    assert not any(CANARY in content for content in seen)
    assert seen >= {b"inside"}
    assert tries > 100
