"""``orchestrator.files.workspace``: listing, copying out, storing, deleting and measuring what an agent has its
hands on.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.core.errors import (
    BadInput,
    Changing,
    NotFound,
    OrchestratorError,
    TooLarge,
    Unavailable,
    UnsafePath,
)
from orchestrator.core.models import CubicleKey
from orchestrator.files.models import FilePath, Use
from orchestrator.files.safe_open import Opening, best_opening, by_steps, in_one_call
from orchestrator.files.workspace import Workspaces
from tests.support.small_disks import mounted

KEY = CubicleKey("crab", 1)
CANARY = b"canary-4711"
MB = 1_000_000
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="takes root")


@pytest.fixture(params=["openat2", "steps"])
def workspaces(request: pytest.FixtureRequest, tmp_path: Path) -> Workspaces:
    """Workspaces over a fresh home, by each way to open."""
    if request.param == "openat2" and best_opening() is not in_one_call:
        pytest.skip("this kernel has no openat2")
    opening: Opening = by_steps if request.param == "steps" else in_one_call
    return Workspaces(tmp_path, opening=opening)


@pytest.fixture
def folder(workspaces: Workspaces, tmp_path: Path) -> Path:
    """The cubicle's folder; beside the workspaces lies a secret."""
    (tmp_path / "secret").write_bytes(CANARY)
    return workspaces.prepare_folders(KEY, uid=os.geteuid(), gid=os.getegid()).work.parent


def _copied(workspaces: Workspaces, path: FilePath, max_bytes: int = MB) -> bytes:
    with workspaces.copy_out(KEY, path, max_bytes=max_bytes) as snapshot:
        return snapshot.file.read()


# --- listing ---------------------------------------------------------------------------------------------------


def test_lists_the_five_and_what_is_in_them(workspaces: Workspaces, folder: Path) -> None:
    """The note for the host's own people is none of it."""
    assert [entry.name for entry in workspaces.list_folder(KEY).entries] == ["data", "in", "out", "work", "www"]
    (folder / "out" / "a.txt").write_bytes(b"four")
    (folder / "out" / "b").mkdir()
    (folder / "out" / "c").symlink_to(folder.parents[2] / "secret")
    os.mkfifo(folder / "out" / "d")
    (folder / "out" / "e").write_bytes(b"x")
    (folder / "out" / "f").hardlink_to(folder / "out" / "e")
    entries = workspaces.list_folder(KEY, "out").entries
    assert [(entry.name, entry.kind, entry.size_bytes) for entry in entries] == [
        ("a.txt", "file", 4),
        ("b", "folder", 0),
        ("c", "other", 0),
        ("d", "other", 0),
        ("e", "other", 0),
        ("f", "other", 0),
    ]
    assert abs(entries[0].modified - time.time()) < 60


def test_lists_in_pages(workspaces: Workspaces, folder: Path) -> None:
    """Each begins after the one before, also after a name that is no text."""
    names = sorted([f"{number:03}".encode() for number in range(9)] + [b"\xff", b"a\nb", b"n" * 255])
    for name in names:
        (folder / "work" / os.fsdecode(name)).touch()
    seen, after = [], None
    while True:
        page = workspaces.list_folder(KEY, "work", after=after, limit=4)
        seen += [entry.raw for entry in page.entries]
        if page.next is None:
            break
        after = page.next
    assert seen == names
    assert all(entry.name.isprintable() for entry in workspaces.list_folder(KEY, "work").entries)


@pytest.mark.parametrize("seconds", [-(2**31), 0, 2**31, 15_032_385_535])
def test_times_are_for_looking_at(workspaces: Workspaces, folder: Path, seconds: int) -> None:
    """1901 or 2446: a calendar can take it."""
    (folder / "out" / "old").touch()
    os.utime(folder / "out" / "old", (seconds, seconds))
    (entry,) = workspaces.list_folder(KEY, "out").entries
    assert time.gmtime(entry.modified).tm_year >= 1970
    assert _copied(workspaces, "out/old") == b""


def test_what_was_never_made_is_empty(workspaces: Workspaces) -> None:
    """Before the first start nothing is there, and nobody minds."""
    assert workspaces.list_folder(KEY).entries == workspaces.list_folder(KEY, "out").entries == ()
    assert workspaces.measure_usage(KEY) == Use(0, 0, is_complete=True)
    for refused in (lambda: workspaces.list_folder(KEY, "out/x"), lambda: _copied(workspaces, "out/x")):
        with pytest.raises(NotFound):
            refused()
    with pytest.raises(NotFound):
        workspaces.delete_path(KEY, "out/x")


@pytest.mark.parametrize("limit", [0, -1, 10_001])
def test_a_page_has_a_size(workspaces: Workspaces, folder: Path, limit: int) -> None:
    """From one to ten thousand."""
    with pytest.raises(BadInput):
        workspaces.list_folder(KEY, "out", limit=limit)
    with pytest.raises(BadInput):
        workspaces.list_folder(KEY, "out", after="\ud800")


# --- paths -----------------------------------------------------------------------------------------------------

ASKS: dict[str, Callable[[Workspaces, FilePath], object]] = {
    "list": lambda workspaces, path: workspaces.list_folder(KEY, path),
    "copy": _copied,
    "delete": lambda workspaces, path: workspaces.delete_path(KEY, path),
}


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize(
    "path",
    [
        "../2/out/x",
        "out/../../2",
        "/etc/passwd",
        "README.txt",
        "elsewhere/x",
        "out//x",
        "out/\0",
        ("out", "../x"),
        b"..",
    ],
)
def test_nobody_asks_beyond_the_five(workspaces: Workspaces, folder: Path, ask: str, path: FilePath) -> None:
    """Neither upwards nor beside them."""
    with pytest.raises((UnsafePath, NotFound)):
        ASKS[ask](workspaces, path)


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("level", ["out", "out/a"])
def test_no_link_on_the_way_is_followed(
    workspaces: Workspaces, folder: Path, tmp_path: Path, ask: str, level: str
) -> None:
    """Be it the agent's own or one in the place of a folder of ours."""
    outside = tmp_path / "outside"
    (outside / "a" / "b").mkdir(parents=True)
    (outside / "b").mkdir()
    if level == "out":
        (folder / "out").rmdir()
    (folder / level).symlink_to(outside)
    with pytest.raises(UnsafePath):
        ASKS[ask](workspaces, "out/a/b")
    assert (outside / "a" / "b").is_dir()
    assert (outside / "b").is_dir()


# --- copying out -----------------------------------------------------------------------------------------------


def test_a_copy_is_whole_and_private(workspaces: Workspaces, folder: Path, tmp_path: Path) -> None:
    """With its hash, at its beginning, and the file may change or go."""
    content = os.urandom(700_000)
    (folder / "out" / "big").write_bytes(content)
    before = sorted(path.name for path in tmp_path.iterdir())
    with workspaces.copy_out(KEY, "out/big", max_bytes=700_000) as snapshot:
        (folder / "out" / "big").write_bytes(b"changed")
        assert (snapshot.name, snapshot.size_bytes, snapshot.path) == (b"big", 700_000, None)
        assert snapshot.sha256 == hashlib.sha256(content).hexdigest()
        assert snapshot.file.read() == content
        assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert snapshot.file.closed


def test_a_copy_may_be_kept(workspaces: Workspaces, folder: Path, tmp_path: Path) -> None:
    """As a file that only we can read; one that fails is not."""
    keep = tmp_path / "outbox"
    keep.mkdir()
    (folder / "out" / "x").write_bytes(b"content")
    (folder / "out" / "x").chmod(0o777)
    with workspaces.copy_out(KEY, "out/x", max_bytes=7, keep_in=keep) as snapshot:
        assert snapshot.path is not None
    assert snapshot.path.read_bytes() == b"content"
    assert stat.S_IMODE(snapshot.path.stat().st_mode) == 0o600
    with pytest.raises(TooLarge):
        workspaces.copy_out(KEY, "out/x", max_bytes=6, keep_in=keep)
    assert list(keep.iterdir()) == [snapshot.path]
    with pytest.raises(Unavailable, match="HERMIT_HOME"):
        workspaces.copy_out(KEY, "out/x", max_bytes=7, keep_in=tmp_path / "missing")


def test_a_terabyte_of_nothing_is_too_large(workspaces: Workspaces, folder: Path) -> None:
    """And is not read to find out."""
    with (folder / "out" / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(TooLarge, match="50 MB"):
        workspaces.copy_out(KEY, "out/sparse", max_bytes=50 * MB)


class _Writer:
    """Does something to a file again and again until told to stop."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop)

    def _loop(self) -> None:
        while not self._stop.is_set():
            self._work()

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


@pytest.mark.parametrize("way", ["grows", "shrinks", "changes"])
def test_a_file_in_the_making_is_a_whole_copy_or_none(
    workspaces: Workspaces, folder: Path, tmp_path: Path, way: str
) -> None:
    """While it grows, shrinks or is overwritten: never more than the cap, and a refusal leaves nothing behind."""
    path, keep = folder / "out" / "file", tmp_path / "outbox"
    keep.mkdir()
    path.write_bytes(b"a" * MB)

    def work() -> None:
        with path.open("r+b") as file:
            if way == "grows":
                file.seek(0, os.SEEK_END)
                file.write(b"b" * 10_000)
            elif way == "shrinks":
                file.truncate(500_000)
                file.truncate(MB)
            else:
                file.write(os.urandom(MB))

    refused, began = 0, time.monotonic()
    with _Writer(work):
        while time.monotonic() < began + 0.7 or (not refused and time.monotonic() < began + 30):
            try:
                snapshot = workspaces.copy_out(KEY, "out/file", max_bytes=3 * MB, keep_in=keep)
            except (Changing, TooLarge):
                refused += 1
                continue
            with snapshot:
                content = snapshot.file.read()
            assert len(content) == snapshot.size_bytes <= 3 * MB
            assert hashlib.sha256(content).hexdigest() == snapshot.sha256
            assert snapshot.path is not None
            snapshot.path.unlink()
    assert refused
    assert list(keep.iterdir()) == []


def test_a_swap_in_time_delivers_nothing_from_outside(workspaces: Workspaces, folder: Path, tmp_path: Path) -> None:
    """File and link change places in the folder, and the folder with a link, while copies are made."""
    (folder / "out" / "d").mkdir()
    (tmp_path / "file").write_bytes(CANARY)
    good, bad, at = (folder / "out" / name for name in ("good", "bad", "d/file"))

    def work() -> None:
        good.write_bytes(b"inside")
        good.replace(at)
        bad.symlink_to("../../../../../secret")
        bad.replace(at)
        (folder / "out" / "d").rename(folder / "out" / "e")
        (folder / "out" / "d").symlink_to("../../../..")
        (folder / "out" / "d").unlink()
        (folder / "out" / "e").rename(folder / "out" / "d")

    seen, end = set[bytes](), time.monotonic() + 1.5
    with _Writer(work):
        while time.monotonic() < end:
            try:
                seen.add(_copied(workspaces, "out/d/file"))
            except OrchestratorError:
                continue
    assert seen <= {b"inside", b""}


# --- storing ---------------------------------------------------------------------------------------------------


def _store(workspaces: Workspaces, name: str | bytes, content: bytes = b"hello", max_bytes: int = MB) -> str:
    return workspaces.write_in(KEY, name, io.BytesIO(content), max_bytes=max_bytes).name


@pytest.mark.parametrize(
    "name",
    [
        "../../x",
        "/etc/x",
        "CON",
        "n" * 300,
        "",
        ".",
        "..",
        "a\0b",
        "a\r\nb",
        "-rf",
        ".ssh",
        "\u202egpj.exe",
        b"\xff/\xfe",
    ],
)
def test_whatever_its_name_it_stays_in_the_inbox(
    workspaces: Workspaces, folder: Path, tmp_path: Path, name: str | bytes
) -> None:
    """Twice the same name makes two files; whoever is inside can read them."""
    before = {path for path in tmp_path.rglob("*") if path.parent != folder / "in"}
    names = {_store(workspaces, name), _store(workspaces, name)}
    assert len(names) == 2
    assert {path.name for path in (folder / "in").iterdir()} == names
    assert {path for path in tmp_path.rglob("*") if path.parent != folder / "in"} == before
    for path in (folder / "in").iterdir():
        assert path.read_bytes() == b"hello"
        assert stat.S_IMODE(path.stat().st_mode) == 0o644
        assert path.stat().st_nlink == 1


def test_says_what_it_stored(workspaces: Workspaces, tmp_path: Path) -> None:
    """Also before the cubicle's first start."""
    content = os.urandom(600_000)
    stored = workspaces.write_in(KEY, "a.bin", io.BytesIO(content), max_bytes=600_000)
    assert (stored.name, stored.size_bytes) == ("a.bin", 600_000)
    assert stored.sha256 == hashlib.sha256(content).hexdigest()
    assert _copied(workspaces, "in/a.bin") == content
    made = tmp_path / "workspaces" / "crab" / "1"
    assert stat.S_IMODE(made.stat().st_mode) == 0o711
    assert stat.S_IMODE((made / "in").stat().st_mode) == 0o755


@pytest.mark.parametrize("trick", ["link", "dangling", "folder", "pipe"])
def test_nothing_planted_is_written_to(workspaces: Workspaces, folder: Path, tmp_path: Path, trick: str) -> None:
    """It lies there with the upload's name; the upload gets another one."""
    planted = folder / "in" / "photo.jpg"
    tricks: dict[str, Callable[[], object]] = {
        "link": lambda: planted.symlink_to(tmp_path / "secret"),
        "dangling": lambda: planted.symlink_to(tmp_path / "new"),
        "folder": planted.mkdir,
        "pipe": lambda: os.mkfifo(planted),
    }
    tricks[trick]()
    assert _store(workspaces, "photo.jpg") == "photo-2.jpg"
    assert (tmp_path / "secret").read_bytes() == CANARY
    assert not (tmp_path / "new").exists()


def test_an_inbox_that_is_a_link_takes_nothing(workspaces: Workspaces, folder: Path, tmp_path: Path) -> None:
    """And nothing arrives where it leads."""
    (folder / "in").rmdir()
    (tmp_path / "outside").mkdir()
    (folder / "in").symlink_to(tmp_path / "outside")
    with pytest.raises(UnsafePath):
        _store(workspaces, "x")
    assert list((tmp_path / "outside").iterdir()) == []


class _Broken(io.BytesIO):
    """An upload whose sender goes away."""

    def read(self, size: int | None = -1, /) -> bytes:
        raise ConnectionResetError("gone")


def test_half_a_file_is_none(workspaces: Workspaces, folder: Path) -> None:
    """Too large, or broken off: nothing is left; what a death left behind goes after a day."""
    with pytest.raises(TooLarge):
        _store(workspaces, "x", b"12345", max_bytes=4)
    with pytest.raises(ConnectionResetError):
        workspaces.write_in(KEY, "x", _Broken(), max_bytes=4)
    assert list((folder / "in").iterdir()) == []
    for name, age in ((".arriving-old", 100_000), (".arriving-new", 100)):
        (folder / "in" / name).touch()
        os.utime(folder / "in" / name, (time.time() - age,) * 2)
    _store(workspaces, "x")
    assert {path.name for path in (folder / "in").iterdir()} == {".arriving-new", "x"}


def test_many_at_once_each_get_a_name(workspaces: Workspaces, folder: Path) -> None:
    """None replaces another."""
    threads = [threading.Thread(target=_store, args=(workspaces, "x", b"%d" % number)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {path.read_bytes() for path in (folder / "in").iterdir()} == {b"%d" % number for number in range(12)}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A home of two megabytes."""
    with mounted(tmp_path / "small", "size=2m") as home:
        yield home


@needs_root
def test_a_full_disk_is_said_and_left_clean(small_disk: Path) -> None:
    """Coming in and going out."""
    workspaces = Workspaces(small_disk)
    folder = workspaces.prepare_folders(KEY, uid=0, gid=0).work.parent
    with pytest.raises(Unavailable, match="disk is full"):
        _store(workspaces, "x", b"x" * 3 * MB, max_bytes=9 * MB)
    assert list((folder / "in").iterdir()) == []
    (folder / "out" / "x").write_bytes(b"x" * 1_200_000)
    (small_disk / "outbox").mkdir()
    for keep in (None, small_disk / "outbox"):
        with pytest.raises(Unavailable, match="disk is full"):
            workspaces.copy_out(KEY, "out/x", max_bytes=9 * MB, keep_in=keep)
    assert list((small_disk / "outbox").iterdir()) == []
    assert _store(workspaces, "small") == "small"


# --- deleting and measuring ------------------------------------------------------------------------------------


def test_deletes_files_folders_and_links(workspaces: Workspaces, folder: Path, tmp_path: Path) -> None:
    """What a link leads to stays; what is gone is not found."""
    (folder / "work" / "a" / "b").mkdir(parents=True)
    (folder / "work" / "a" / "b" / "file").write_bytes(b"x")
    (folder / "www" / "link").symlink_to(tmp_path)
    (folder / "out" / os.fsdecode(b"\xff")).touch()
    for path in ("work/a", "www/link", b"out/\xff"):
        workspaces.delete_path(KEY, path)
        with pytest.raises(NotFound):
            workspaces.delete_path(KEY, path)
    assert (tmp_path / "secret").exists()
    for path in ("work", "in", "data/calendar.db"):
        with pytest.raises(UnsafePath):
            workspaces.delete_path(KEY, path)
    assert (folder / "work").is_dir()


def test_what_can_not_be_removed_is_said(workspaces: Workspaces, folder: Path) -> None:
    """With one of our errors: here a link lies where a folder of ours must be."""
    folder.parent.rename(folder.parents[1] / "moved")
    folder.parent.symlink_to("moved")
    with pytest.raises(UnsafePath):
        workspaces.remove_cubicle(KEY)
    assert (folder.parents[1] / "moved" / "1" / "work").is_dir()


def test_measures_the_whole_workspace(workspaces: Workspaces, folder: Path) -> None:
    """The five folders and the note included."""
    empty = workspaces.measure_usage(KEY)
    (folder / "out" / "big").write_bytes(b"x" * MB)
    use = workspaces.measure_usage(KEY)
    assert (empty.inodes, use.inodes, use.is_complete) == (6, 7, True)
    assert MB <= use.bytes - empty.bytes < 1.1 * MB
    assert not workspaces.measure_usage(KEY, max_entries=5).is_complete
