"""``orchestrator.files.person_changes``: moving, making folders and saving by hand, in a tree that an agent changes at
the worst moments."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.core.errors import BadInput, Conflict, NotFound, OrchestratorError, Outdated, TooLarge, UnsafePath
from orchestrator.core.models import CubicleKey
from orchestrator.files.models import FilePath
from orchestrator.files.person_changes import MOST_SAVED_BYTES, create_file, make_folder, move_path, save_file
from orchestrator.files.safe_open import by_steps, in_one_call
from orchestrator.files.workspace import Workspaces

KEY = CubicleKey("crab", 1)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="takes root")


@pytest.fixture(params=[in_one_call, by_steps], ids=["openat2", "steps"])
def workspaces(request: pytest.FixtureRequest, tmp_path: Path) -> Workspaces:
    """Workspaces over a fresh home, by each way to open."""
    return Workspaces(tmp_path, opening=request.param)


@pytest.fixture
def folder(workspaces: Workspaces, tmp_path: Path) -> Path:
    """The cubicle's folder; beside the workspaces lies something that nobody may touch."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_bytes(b"kept")
    return workspaces.prepare_folders(KEY, uid=os.geteuid(), gid=os.getegid()).work.parent


def _nothing() -> None:
    """Nobody notes anything."""


def move(workspaces: Workspaces, path: FilePath, to: FilePath, note: Callable[[], None] = _nothing) -> bytes:
    """Where it is then."""
    return b"/".join(move_path(workspaces, KEY, path, to, note=note))


def save(workspaces: Workspaces, content: bytes, before: bytes, note: Callable[[], None] = _nothing) -> str:
    """The hash of ``work/a`` then."""
    expected = hashlib.sha256(before).hexdigest()
    return save_file(workspaces, KEY, "work/a", content, expected=expected, note=note).sha256


def hidden(folder: Path) -> list[str]:
    """What was left behind under names of ours."""
    return [path.name for path in folder.rglob(".arriving-*")]


def test_moves_whatever_it_is(workspaces: Workspaces, folder: Path, tmp_path: Path) -> None:
    """Files, folders with what is in them, links as links, names that are no text; between the agent's own folders."""
    (folder / "work" / "deep" / "er").mkdir(parents=True)
    (folder / "work" / "deep" / "er" / "a").write_bytes(b"a")
    (folder / "work" / "link").symlink_to(tmp_path / "outside")
    (folder / "work" / os.fsdecode(b"\xff")).write_bytes(b"odd")
    assert move(workspaces, "work/deep", "www/app") == b"www/app"
    assert move(workspaces, "work/link", "out/link") == b"out/link"
    assert move(workspaces, b"work/\xff", b"www/app/\xff") == b"www/app/\xff"
    assert (folder / "www" / "app" / "er" / "a").read_bytes() == b"a"
    assert (folder / "out" / "link").is_symlink()
    assert (folder / "www" / "app" / os.fsdecode(b"\xff")).read_bytes() == b"odd"
    assert (tmp_path / "outside" / "kept").read_bytes() == b"kept"
    assert list((folder / "work").iterdir()) == []


def test_nothing_is_replaced(workspaces: Workspaces, folder: Path) -> None:
    """Not by a move, a folder or a new file: not even what appears when all was looked at."""
    (folder / "work" / "a").write_bytes(b"a")
    (folder / "work" / "b").write_bytes(b"b")
    late = folder / "work" / "late"
    with pytest.raises(Conflict):
        move(workspaces, "work/a", "work/b")
    with pytest.raises(Conflict):
        move(workspaces, "work/a", "work/late", late.mkdir)
    with pytest.raises(Conflict):
        make_folder(workspaces, KEY, "work/late/x", note=(late / "x").touch)
    with pytest.raises(Conflict):
        create_file(workspaces, KEY, "work/late/y", b"", note=lambda: (late / "y").symlink_to("x"))
    assert (folder / "work" / "b").read_bytes() == b"b"
    assert (folder / "work" / "a").read_bytes() == b"a"
    assert (late / "x").is_file()
    assert hidden(folder) == []


@pytest.mark.parametrize(
    ("ways", "error"),
    [
        (("work", "work/b"), UnsafePath),
        (("work/a", "work"), UnsafePath),
        (("data/x", "work/x"), UnsafePath),
        (("work/a", "data/x"), UnsafePath),
        (("in/up.txt", "work/up.txt"), UnsafePath),
        (("work/a", "in/a"), UnsafePath),
        (("work/a", "elsewhere/a"), NotFound),
        (("work/a", "work/../out/a"), UnsafePath),
        (("work/a", "work/none/a"), NotFound),
        (("work/none", "work/b"), NotFound),
        (("work/a", "work/link/a"), UnsafePath),
        (("work/link/kept", "work/b"), UnsafePath),
        (("work/d", "work/d/e"), BadInput),
        (("work/a", "work/b\u202egpj.exe"), BadInput),
        (("work/a", "work/b "), BadInput),
        (("work/a", "work/b\n"), BadInput),
    ],
)
def test_what_is_not_moved(
    workspaces: Workspaces, folder: Path, tmp_path: Path, ways: tuple[str, str], error: type[OrchestratorError]
) -> None:
    """The five folders, what is in data/, in or out of in/, through links, into itself, under names that hide."""
    (folder / "work" / "a").write_bytes(b"a")
    (folder / "work" / "d").mkdir()
    (folder / "work" / "link").symlink_to(tmp_path / "outside")
    (folder / "in" / "up.txt").write_bytes(b"up")
    (folder / "data" / "x").write_bytes(b"x")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(error):
        move(workspaces, *ways)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_that_is_moved_away_meanwhile_is_left(workspaces: Workspaces, folder: Path, tmp_path: Path) -> None:
    """When it was looked at, the agent puts a link in its place: what the link leads to is not touched."""
    (folder / "work" / "d").mkdir()
    (folder / "work" / "d" / "kept").write_bytes(b"mine")

    def swap() -> None:
        (folder / "work" / "d").rename(folder / "work" / "away")
        (folder / "work" / "d").symlink_to(tmp_path / "outside")

    assert move(workspaces, "work/d/kept", "out/kept", swap) == b"out/kept"
    assert (folder / "out" / "kept").read_bytes() == b"mine"
    assert (tmp_path / "outside" / "kept").read_bytes() == b"kept"


def test_a_name_in_in_is_safe(workspaces: Workspaces, folder: Path) -> None:
    """As an upload's would be."""
    (folder / "in" / "up.txt").write_bytes(b"up")
    assert move(workspaces, "in/up.txt", "in/--rm\u202e.txt") == b"in/rm_.txt"


@needs_root
def test_what_is_made_is_the_agents(tmp_path: Path) -> None:
    """Folders and files belong to whom the folder above belongs; a saved one to whom it did, and runs if it did."""
    workspaces = Workspaces(tmp_path)
    folder = workspaces.prepare_folders(KEY, uid=4711, gid=4712).work
    make_folder(workspaces, KEY, "work/new", note=_nothing)
    create_file(workspaces, KEY, "work/new/a.txt", b"x", note=_nothing)
    (folder / "a").write_bytes(b"old")
    (folder / "a").chmod(0o4750)
    os.chown(folder / "a", 4711, 4713)
    (folder / "a").chmod(0o4750)
    save(workspaces, b"new", b"old")
    made = [path.stat() for path in (folder / "new", folder / "new" / "a.txt", folder / "a")]
    assert [(one.st_uid, one.st_gid) for one in made] == [(4711, 4712), (4711, 4712), (4711, 4713)]
    assert [one.st_mode & 0o7777 for one in made] == [0o755, 0o644, 0o750]


def test_a_text_is_saved_over_what_was_read(workspaces: Workspaces, folder: Path) -> None:
    """Whole, and nothing of it stays beside it."""
    (folder / "work" / "a").write_bytes(b"old")
    assert save(workspaces, b"new", b"old") == hashlib.sha256(b"new").hexdigest()
    assert (folder / "work" / "a").read_bytes() == b"new"
    assert [path.name for path in (folder / "work").iterdir()] == ["a"]


def _rewrite(path: Path) -> None:
    path.write_bytes(b"agent")


def _swap(path: Path) -> None:
    path.with_name("other").write_bytes(b"agent")
    path.with_name("other").rename(path)


def _link(path: Path) -> None:
    path.unlink()
    path.symlink_to("../../../../outside/kept")


@pytest.mark.parametrize("change", [_rewrite, _swap, _link])
@pytest.mark.parametrize("when", ["early", "late"])
def test_what_the_agent_wrote_meanwhile_stays(
    workspaces: Workspaces, folder: Path, tmp_path: Path, change: Callable[[Path], None], when: str
) -> None:
    """Before the person's save, or when it was just found to be as it was: nothing of theirs is lost."""
    path = folder / "work" / "a"
    path.write_bytes(b"old")
    if when == "early":
        change(path)
    with pytest.raises((Outdated, UnsafePath)):
        save(workspaces, b"new", b"old", _nothing if when == "early" else lambda: change(path))
    assert path.is_symlink() == (change is _link)
    assert path.read_bytes() == (b"kept" if change is _link else b"agent")
    assert (tmp_path / "outside" / "kept").read_bytes() == b"kept"
    assert hidden(folder) == []


def test_what_went_meanwhile_is_not_made_again(workspaces: Workspaces, folder: Path) -> None:
    """It is not there any more."""
    path = folder / "work" / "a"
    path.write_bytes(b"old")
    with pytest.raises(NotFound):
        save(workspaces, b"new", b"old", path.unlink)
    assert list((folder / "work").iterdir()) == []


def test_too_much_is_not_saved(workspaces: Workspaces, folder: Path) -> None:
    """Neither a long text nor over a large file."""
    (folder / "work" / "a").write_bytes(b"x" * (MOST_SAVED_BYTES + 1))
    for content in (b"small", b"x" * (MOST_SAVED_BYTES + 1)):
        with pytest.raises(TooLarge):
            save(workspaces, content, b"x" * (MOST_SAVED_BYTES + 1))
    assert (folder / "work" / "a").stat().st_size == MOST_SAVED_BYTES + 1
