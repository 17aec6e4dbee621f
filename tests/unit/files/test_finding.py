"""``orchestrator.files.finding``: names with all the words, whatever tree they are in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.core.errors import BadInput, NotFound
from orchestrator.core.models import CubicleKey
from orchestrator.files.finding import MOST_DEPTH, FoundEntries, find_entries
from orchestrator.files.workspace import Workspaces

KEY = CubicleKey("crab", 1)


@pytest.fixture
def workspaces(tmp_path: Path) -> Workspaces:
    """Workspaces over a fresh home."""
    return Workspaces(tmp_path)


@pytest.fixture
def folder(workspaces: Workspaces) -> Path:
    """The cubicle's folder."""
    return workspaces.prepare_folders(KEY, uid=os.geteuid(), gid=os.getegid()).work.parent


def paths(found: FoundEntries) -> list[bytes]:
    """Where everything was found."""
    return [b"/".join((*one.folder, one.entry.raw)) for one in found.entries]


def test_all_words_however_written(workspaces: Workspaces, folder: Path) -> None:
    """Near ones first, folders too, and the whole workspace without a folder; a pipe is no trouble."""
    (folder / "work" / "a" / "Tide Report").mkdir(parents=True)
    (folder / "work" / "REPORT of the tide.txt").touch()
    (folder / "work" / "a" / "tide.txt").touch()
    os.mkfifo(folder / "out" / "tide report")
    found = find_entries(workspaces, KEY, "work", "report TIDE")
    assert paths(found) == [b"work/REPORT of the tide.txt", b"work/a/Tide Report"]
    assert found.is_complete
    assert set(paths(find_entries(workspaces, KEY, (), "report tide"))) == {*paths(found), b"out/tide report"}
    assert find_entries(workspaces, KEY, "work", "none").entries == ()


def test_no_link_is_followed(workspaces: Workspaces, folder: Path, tmp_path: Path) -> None:
    """It is found as what it is."""
    (tmp_path / "secret-folder").mkdir()
    (tmp_path / "secret-folder" / "secret-file").touch()
    (folder / "work" / "secret-link").symlink_to(tmp_path / "secret-folder")
    found = find_entries(workspaces, KEY, "work", "secret")
    assert [(path, one.entry.kind) for path, one in zip(paths(found), found.entries, strict=True)] == [
        (b"work/secret-link", "other")
    ]


def test_it_ends(workspaces: Workspaces, folder: Path) -> None:
    """At so many names, finds and levels, and says that there is more."""
    for n in range(30):
        (folder / "work" / f"x{n}").touch()
    assert len(find_entries(workspaces, KEY, "work", "x", most_found=10).entries) == 10
    assert not find_entries(workspaces, KEY, "work", "x", most_found=10).is_complete
    assert not find_entries(workspaces, KEY, "work", "none", most_looked=29).is_complete
    assert find_entries(workspaces, KEY, "work", "none", most_looked=31).is_complete
    deep = folder / "out" / "/".join(["d"] * (MOST_DEPTH + 2))
    deep.mkdir(parents=True)
    (deep / "deepest").touch()
    found = find_entries(workspaces, KEY, "out", "deepest")
    assert (found.entries, found.is_complete) == ((), False)


def test_what_is_no_search(workspaces: Workspaces, folder: Path) -> None:
    """Without a word, or where nothing is."""
    with pytest.raises(BadInput):
        find_entries(workspaces, KEY, "work", "  ")
    with pytest.raises(NotFound):
        find_entries(workspaces, KEY, "work/none", "x")
