"""``.hermit.log``: one safe line a record, bounded, and never in the way of a turn."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crab.log import MAX_BYTES, Log, escape_line


def test_records(tmp_path: Path) -> None:
    """A record has time, step, kind and the text on one line."""
    path = tmp_path / ".hermit.log"
    log = Log(str(path))
    log.write("command", "echo a\necho 'é'", step="17.2")
    log.write("output", "\x1b[31mred\r\n\x9b2J\u202egpj.exe\0", step="17.2")
    first, second = path.read_text().splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z 17\.2 command echo a\\necho 'é'", first)
    assert second.endswith(r"17.2 output \x1b[31mred\r\n\x9b2J\u202egpj.exe\x00")


@given(st.text())
def test_escaped_is_safe_to_show(text: str) -> None:
    """No control character gets through, and a text stays one line."""
    shown = escape_line(text)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]", shown)
    assert len(shown.splitlines()) <= 1


def test_rotation(tmp_path: Path) -> None:
    """Beyond its size the log goes on in a new file and the last one is kept."""
    path = tmp_path / ".hermit.log"
    path.write_bytes(b"x" * (MAX_BYTES - 10))
    Log(str(path)).write("turn", "hello", step="1")
    assert path.read_text().endswith(" 1 turn hello\n")
    assert (tmp_path / ".hermit.log.1").stat().st_size == MAX_BYTES - 10


def test_a_huge_text_is_cut(tmp_path: Path) -> None:
    """One record never floods the log."""
    path = tmp_path / ".hermit.log"
    Log(str(path)).write("reply", "x" * 1_000_000, step="1")
    assert path.stat().st_size < 70_000
    assert path.read_text().endswith(" more characters]\n")


@pytest.mark.parametrize("kind", ["link", "folder", "pipe", "nothing there", "full disk", "rotation blocked"])
def test_trouble_is_silent(tmp_path: Path, kind: str) -> None:
    """Whatever lies where the log should be, writing a record neither fails, hangs, nor follows a link."""
    path, target = tmp_path / ".hermit.log", tmp_path / "target"
    target.write_text("mine")
    if kind == "link":
        path.symlink_to(target)
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "nothing there":
        path = tmp_path / "gone" / ".hermit.log"
    elif kind == "full disk":
        path = Path("/dev/full")
    else:
        path.write_bytes(b"x" * MAX_BYTES)
        (tmp_path / ".hermit.log.1").mkdir()
        (tmp_path / ".hermit.log.1" / "x").touch()
    Log(str(path)).write("turn", "hello\ud800", step="1")
    assert target.read_text() == "mine"
