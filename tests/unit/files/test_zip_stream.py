"""``orchestrator.files.zip_stream``: what is in the folder is in the archive, byte for byte, and nothing else; no
name in it leads anywhere.
"""

from __future__ import annotations

import io
import os
import socket
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.core.models import CubicleKey
from orchestrator.files.names import MOST_BYTES, archived_name
from orchestrator.files.workspace import Workspaces
from orchestrator.files.zip_stream import LEFT_OUT, stream_zip

KEY = CubicleKey("crab", 1)
CANARY = "canary-that-must-not-appear"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The ``out`` of a workspace."""
    return Workspaces(tmp_path).prepare_folders(KEY, uid=os.geteuid(), gid=os.getegid()).out


def archive_of(home: Path, *parts: bytes, most_entries: int = 1_000) -> ZipFile:
    """The archive of a folder, taken in one go."""
    pieces = stream_zip(Workspaces(home), KEY, parts, most_entries=most_entries)
    archive = ZipFile(io.BytesIO(b"".join(pieces)))
    assert archive.testzip() is None
    return archive


def test_everything_is_in_it(tmp_path: Path, out: Path) -> None:
    """Files of every size, hidden ones and empty folders too, as they are."""
    files = {
        "a.txt": b"hello",
        ".hidden": b"seen",
        "empty": b"",
        "sub/deep/deeper/x.bin": os.urandom(3_000_001),
        "sub/Ä ö.txt": "grüße".encode(),
        "zeros": bytes(5_000_000),
    }
    (out / "sub" / "deep" / "deeper").mkdir(parents=True)
    (out / "hollow").mkdir()
    for name, content in files.items():
        (out / name).write_bytes(content)
    with archive_of(tmp_path, b"out") as archive:
        held = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
        folders = {name for name in archive.namelist() if name.endswith("/")}
    assert held == {f"out/{name}": content for name, content in files.items()}
    assert folders == {"out/", "out/sub/", "out/sub/deep/", "out/sub/deep/deeper/", "out/hollow/"}


def test_a_whole_workspace_is_its_five_folders(tmp_path: Path, out: Path) -> None:
    """Without a folder's name, all of it; what lies beside the five is the host's."""
    (out / "a.txt").write_bytes(b"hello")
    with archive_of(tmp_path) as archive:
        assert sorted(archive.namelist()) == ["data/", "in/", "out/", "out/a.txt", "work/", "www/"]


def test_what_is_no_plain_file_is_left_out_and_said(tmp_path: Path, out: Path) -> None:
    """Links, loops, pipes, sockets, hard links, folders behind links: none is in it, each is named at the end."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "canary").write_text(CANARY)
    (out / "link").symlink_to(secret / "canary")
    (out / "folder-link").symlink_to(secret)
    (out / "loop").symlink_to("loop")
    (out / "dangling").symlink_to("nowhere")
    os.mkfifo(out / "pipe")
    (out / "one").write_text("two names")
    (out / "two").hardlink_to(out / "one")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(out / "socket"))
        (out / "good.txt").write_text("good")
        with archive_of(tmp_path, b"out") as archive:
            assert sorted(archive.namelist()) == [LEFT_OUT, "out/", "out/good.txt"]
            said = archive.read(LEFT_OUT).decode()
    for name in ("link", "folder-link", "loop", "dangling", "pipe", "one", "two", "socket"):
        assert f"out/{name} is not a regular file" in said
    assert CANARY not in said


EVIL = [
    b"..\\..\\windows",
    b"C:evil",
    b"C:\\evil.txt",
    b"\\\\server\\share",
    b"a\\b",
    b".. ",
    b"...",
    b"trailing. . ",
    b"CON",
    b"nul.txt",
    b"new\nline",
    b"cr\rlf\n",
    b"esc\x1b[2J",
    "rtl\u202egpj.exe".encode(),
    "zero\u200bwidth".encode(),
    b"\xff\xfe",
    b"half\xc3",
    b"x" * 255,
    b"<script>",
    b"-rf",
    b" ",
    b"%2e%2e%2f",
    LEFT_OUT.encode(),
]


def test_evil_names_are_single_harmless_components(tmp_path: Path, out: Path) -> None:
    """Whatever a file or folder is called, it unpacks inside the folder, on every system, with its content."""
    for number, raw in enumerate(EVIL):
        path = out / os.fsdecode(raw)
        if number % 2:
            path.mkdir()
        (path / "inner" if number % 2 else path).write_bytes(raw)
    with archive_of(tmp_path, b"out") as archive:
        names = archive.namelist()
        contents = {archive.read(name) for name in names if not name.endswith("/") and name != LEFT_OUT}
    assert contents == set(EVIL)
    assert len(set(names)) == len(names)
    for name in names:
        if name != LEFT_OUT:
            assert name.startswith("out/")
            assert all(is_harmless(part) for part in name.removesuffix("/").split("/")), name


def is_harmless(part: str) -> bool:
    """A component that leads nowhere, hides nothing and has room on a disk."""
    is_seen = all(unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") for char in part)
    is_kept = part not in ("", ".", "..") and part == part.rstrip(". ")
    return is_seen and is_kept and not set(part) & set('\\/:*?"<>|') and len(part.encode()) <= MOST_BYTES


@given(st.binary(min_size=1, max_size=255).filter(lambda raw: raw not in (b".", b"..") and not set(raw) & {0, 47}))
def test_any_name_that_a_file_can_have_becomes_harmless(raw: bytes) -> None:
    """Any bytes but a slash and NUL."""
    assert is_harmless(archived_name(raw))


def test_names_that_fall_together_stay_apart(tmp_path: Path, out: Path) -> None:
    """Two names that only differ in what is not kept are two entries."""
    raw_names = {b"a\x01", b"a\x02", b"a_", b"a_-2"}
    for raw in raw_names:
        (out / os.fsdecode(raw)).write_bytes(raw)
    with archive_of(tmp_path, b"out") as archive:
        assert {archive.read(name) for name in archive.namelist() if name.startswith("out/a")} == raw_names


def test_a_folder_called_like_the_list_does_not_hide_it(tmp_path: Path, out: Path) -> None:
    """The list has another name then."""
    (out / LEFT_OUT).mkdir()
    (out / LEFT_OUT / "link").symlink_to("x")
    with archive_of(tmp_path, b"out", LEFT_OUT.encode()) as archive:
        assert [name for name in archive.namelist() if not name.endswith("/")] == [LEFT_OUT.replace(".txt", "-2.txt")]


def test_too_many_and_too_deep_ends(tmp_path: Path, out: Path) -> None:
    """The bound holds, the archive is whole and says that there was more."""
    for number in range(50):
        (out / f"f{number}").write_bytes(b"x")
    with archive_of(tmp_path, b"out", most_entries=20) as archive:
        assert len(archive.namelist()) == 22
        assert "too many files" in archive.read(LEFT_OUT).decode()
    here = os.open(out, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d" * 20, dir_fd=here)
        below = os.open("d" * 20, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    with archive_of(tmp_path, b"out") as archive:
        assert max(len(name) for name in archive.namelist()) <= 2_001
        assert "lies too deep" in archive.read(LEFT_OUT).decode()


def test_an_unreadable_or_huge_file_does_not_stop_the_others(tmp_path: Path, out: Path) -> None:
    """A sparse file over the cap is named, the next file is in it."""
    with (out / "a-huge").open("wb") as file:
        file.truncate(1 << 40)
    (out / "b.txt").write_text("fine")
    with archive_of(tmp_path, b"out") as archive:
        assert archive.read("out/b.txt") == b"fine"
        assert "out/a-huge is larger" in archive.read(LEFT_OUT).decode()


@pytest.mark.parametrize("modified", [-5e9, 0.0, 315_532_799.0, 4.4e9, 1.5e10])
def test_times_that_no_archive_can_tell_are_no_matter(tmp_path: Path, out: Path, modified: float) -> None:
    """1901 and 2446 too."""
    (out / "a").write_text("x")
    os.utime(out / "a", (modified, modified))
    with archive_of(tmp_path, b"out") as archive:
        assert 1980 <= archive.getinfo("out/a").date_time[0] <= 2107


def test_a_reader_who_leaves_leaves_nothing_behind(tmp_path: Path, out: Path) -> None:
    """In the middle of a file; no descriptor stays open, and no copy."""
    (out / "noise").write_bytes(os.urandom(20_000_000))
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208 - descriptors, not files
    pieces: Iterator[bytes] = stream_zip(Workspaces(tmp_path), KEY, (b"out",))
    next(pieces)
    pieces.close()  # type: ignore[attr-defined]  # it is a generator
    assert set(os.listdir("/proc/self/fd")) - before == set()  # noqa: PTH208 - as above
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "workspaces"]
