"""``orchestrator.checkpoints.packs`` and the database beside them: what a death left behind is cleared away."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from orchestrator.checkpoints.packs import OutOfRoomError, PackFolder, PackWriter, Span
from orchestrator.core.errors import Unavailable
from tests.support.history_fixture import HistoryFixture, assert_sound, write
from tests.support.small_disks import mounted


def test_what_a_death_left_is_cleared_away(history: HistoryFixture) -> None:
    """Bytes behind the known end, and files that the database does not know."""
    write(history.work / "a", os.urandom(2000))
    first = history.take()
    packs = history.folder / "packs"
    known = next(packs.iterdir())
    with known.open("ab") as file:
        file.write(b"half of something")
    (packs / "00000077").write_bytes(b"never committed")
    history.reopen()
    assert_sound(history.store)
    write(history.work / "b", os.urandom(2000))
    second = history.take()
    assert history.kept(second.id) == history.tree()
    assert len(history.store.read_content(first.id, "work/a", max_bytes=9000)) == 2000


def test_a_file_that_lost_bytes_is_said_to_have(history: HistoryFixture) -> None:
    """By whoever needs them; others are read as before."""
    write(history.work / "a", os.urandom(2000))
    history.take()
    write(history.work / "b", os.urandom(2000))
    point = history.take()
    pack = next((history.folder / "packs").iterdir())
    whole = pack.read_bytes()
    pack.write_bytes(whole[:2100])
    assert len(history.store.read_content(point.id, "work/a", max_bytes=9000)) == 2000
    with pytest.raises(Unavailable, match="gone from the disk"):
        history.store.read_content(point.id, "work/b", max_bytes=9000)
    pack.write_bytes(whole)


@pytest.mark.parametrize("content", [b"no database at all" * 100, b""])
def test_a_database_that_is_none(tmp_path: Path, content: bytes) -> None:
    """It is said with what to do; an empty file is a new one."""
    history = HistoryFixture(tmp_path)
    history.take()
    history.store.close()
    (history.folder / "history.db").write_bytes(content)
    if content:
        with pytest.raises(Unavailable, match="HERMIT_HOME/history"):
            history.open()
    else:
        history.store = history.open()
        assert history.take().id == 1
        history.store.close()


def test_a_history_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    """Nobody guesses what is in it."""
    history = HistoryFixture(tmp_path)
    with history.store._db.writing() as db:
        db.execute("PRAGMA user_version=99")
    history.store.close()
    with pytest.raises(Unavailable, match="newer HermitShell"):
        history.open()


def test_a_full_disk_harms_nothing(tmp_path: Path) -> None:
    """It is said; what was kept is read as before, and once there is room it goes on."""
    history = HistoryFixture(tmp_path)
    write(history.work / "a", os.urandom(50_000))
    history.store.close()
    with mounted(history.folder, "size=3m,mode=700") as disk:
        history.store = history.open()
        first, tree = history.take(), history.tree()
        write(history.work / "a", os.urandom(2_000_000))
        history.take()
        filler = disk / "packs" / "filler"
        filler.write_bytes(bytes(100))
        with filler.open("r+b") as file:
            while True:
                try:
                    file.write(bytes(10_000))
                    file.flush()
                except OSError:
                    break
            with suppress(OSError):
                file.close()
        write(history.work / "a", os.urandom(300_000))
        with pytest.raises(Unavailable, match="disk is full"):
            history.take()
        assert history.kept(first.id) == tree
        assert not filler.exists()  # nobody knows it, and room is needed
        assert history.kept(history.take().id) == history.tree()
        assert_sound(history.store)
        history.store.close()


def test_a_writer_without_room_leaves_nothing(tmp_path: Path) -> None:
    """The file is as long as before, and goes on from there."""
    folder = PackFolder(tmp_path / "packs")
    writer = PackWriter(folder, None, 0, most_bytes=1000, room=lambda: 100)
    assert writer.append([b"x" * 60], expected=60) == Span(1, 0, 60)
    with pytest.raises(OutOfRoomError):
        writer.append([b"y" * 60, b"y" * 60], expected=120)
    assert writer.grown == {1: 60}
    span = writer.append([b"z" * 30], expected=30)
    writer.finish()
    writer.close()
    assert span == Span(1, 60, 30)
    assert b"".join(folder.read(span)) == b"z" * 30


def test_a_full_file_is_followed_by_another(tmp_path: Path) -> None:
    """One content is in one file; a number is never given twice."""
    folder = PackFolder(tmp_path / "packs")
    writer = PackWriter(folder, None, 41, most_bytes=100, room=lambda: 10_000)
    spans = [
        writer.append([bytes([65 + number]) * size], expected=size) for number, size in enumerate((0, 60, 60, 500))
    ]
    writer.finish()
    writer.close()
    assert [span.pack for span in spans] == [42, 42, 43, 44]
    assert [b"".join(folder.read(span)) for span in spans] == [b"", b"B" * 60, b"C" * 60, b"D" * 500]
