"""``orchestrator.files.workspace``, ``locks``: folders and files that an agent has its hands on, and those it has
not.
"""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.approvals.lock_files import LockFiles
from orchestrator.core.errors import Unavailable, UnsafePath
from orchestrator.core.models import Approval, ApprovalStatus, CubicleKey
from orchestrator.files.workspace import Workspaces

KEY = CubicleKey("crab", 1)
CANARY = "canary-4711"


@pytest.fixture
def workspaces(tmp_path: Path) -> Workspaces:
    """Workspaces over a fresh home."""
    return Workspaces(tmp_path)


def _prepare(workspaces: Workspaces) -> Path:
    return workspaces.prepare_folders(KEY, uid=os.geteuid(), gid=os.getegid()).work.parent


def test_makes_five_folders_and_one_for_the_door(workspaces: Workspaces, tmp_path: Path) -> None:
    """Each with the rights that it needs, below folders that give nothing away; again is fine."""
    folder = _prepare(workspaces)
    assert _prepare(workspaces) == folder == tmp_path / "workspaces" / "crab" / "1"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir() if path.is_dir()}
    assert modes == {"work": 0o700, "out": 0o700, "www": 0o700, "in": 0o755, "data": 0o755}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o711
    assert (tmp_path / "run" / "crab" / "1").is_dir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give folders away")
def test_gives_the_agent_its_own_folders_alone(workspaces: Workspaces) -> None:
    """``in`` and ``data`` stay the host's; an owner that went astray is set right."""
    folder = workspaces.prepare_folders(KEY, uid=20_001, gid=20_001).work.parent
    os.chown(folder / "work", 0, 0)
    workspaces.prepare_folders(KEY, uid=20_001, gid=20_001)
    owners = {path.name: path.stat().st_uid for path in folder.iterdir() if path.is_dir()}
    assert owners == {"work": 20_001, "out": 20_001, "www": 20_001, "in": 0, "data": 0}


@pytest.mark.parametrize("name", ["work", "in", "out", "www", "data"])
@pytest.mark.parametrize("kind", ["link", "dangling link", "file", "fifo"])
def test_refuses_a_folder_that_is_something_else(workspaces: Workspaces, tmp_path: Path, name: str, kind: str) -> None:
    """A link is never mounted, wherever it leads, and what it leads to is left alone."""
    folder, outside = _prepare(workspaces), tmp_path / "outside"
    outside.mkdir(mode=0o750)
    (folder / name).rmdir()
    tricks: dict[str, Callable[[Path], object]] = {
        "link": lambda path: path.symlink_to(outside),
        "dangling link": lambda path: path.symlink_to(tmp_path / "nowhere"),
        "file": lambda path: path.write_text("x"),
        "fifo": os.mkfifo,
    }
    tricks[kind](folder / name)
    with pytest.raises(UnsafePath, match=name):
        _prepare(workspaces)
    assert stat.S_IMODE(outside.stat().st_mode) == 0o750


@pytest.mark.parametrize(
    "level", ["workspaces", "workspaces/crab", "workspaces/crab/1", "run", "run/crab", "run/crab/1"]
)
def test_refuses_a_link_on_the_way(workspaces: Workspaces, tmp_path: Path, level: str) -> None:
    """At every level."""
    _prepare(workspaces)
    (tmp_path / level).rename(tmp_path / "moved")
    (tmp_path / level).symlink_to(tmp_path / "moved")
    with pytest.raises(UnsafePath):
        _prepare(workspaces)


# --- the agent's own log ---------------------------------------------------------------------------------------


def test_reads_the_end_of_the_log(workspaces: Workspaces) -> None:
    """Text as it is, broken bytes marked, a long one from its end."""
    log = _prepare(workspaces) / "work" / ".hermit.log"
    assert workspaces.log_text(KEY) == ""
    log.write_bytes(b"one\xff\ntwo\n")
    assert workspaces.log_text(KEY) == "one\ufffd\ntwo\n"
    assert workspaces.log_text(KEY, max_bytes=4) == "two\n"


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


TRICKS: dict[str, Callable[[Path], object]] = {
    "a link to a secret": lambda path: path.symlink_to(path.parents[4] / "secret"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a hard link": lambda path: path.hardlink_to(path.parents[4] / "secret"),
    "a folder": lambda path: path.mkdir(),
    "a fifo": os.mkfifo,
    "a socket": _socket,
}


@pytest.mark.parametrize("trick", TRICKS.values(), ids=TRICKS)
def test_a_log_that_is_no_plain_file_is_empty(
    workspaces: Workspaces, tmp_path: Path, trick: Callable[[Path], object]
) -> None:
    """Nothing outside is ever read, and nobody hangs on a fifo."""
    (tmp_path / "secret").write_text(CANARY)
    trick(_prepare(workspaces) / "work" / ".hermit.log")
    assert workspaces.log_text(KEY) == ""


def test_a_work_folder_that_is_a_link_gives_nothing_away(workspaces: Workspaces, tmp_path: Path) -> None:
    """The step before the file counts too."""
    folder = _prepare(workspaces)
    (tmp_path / ".hermit.log").write_text(CANARY)
    (folder / "work").rmdir()
    (folder / "work").symlink_to(tmp_path)
    assert workspaces.log_text(KEY) == ""


# --- deleting --------------------------------------------------------------------------------------------------


def test_deletes_everything_and_nothing_else(workspaces: Workspaces, tmp_path: Path) -> None:
    """Links go, what they lead to stays; unreadable folders go; another person's cubicle stays."""
    other = workspaces.prepare_folders(CubicleKey("crab", 2), uid=os.geteuid(), gid=os.getegid()).work
    folder, outside = _prepare(workspaces), tmp_path / "outside"
    outside.mkdir()
    (outside / "keep").write_text("x")
    (folder / "work" / "link").symlink_to(outside)
    (folder / "work" / "deep" / "er").mkdir(parents=True)
    (folder / "work" / "deep" / "er" / "out").symlink_to(outside / "keep")
    (folder / "work" / "deep").chmod(0)
    os.mkfifo(folder / "out" / "fifo")
    (folder / "out" / os.fsdecode(b"\xff\n..name")).write_text("x")
    workspaces.remove_cubicle(KEY)
    workspaces.remove_cubicle(KEY)
    assert not folder.exists()
    assert (outside / "keep").read_text() == "x"
    assert other.is_dir()


def test_deletes_what_is_deeper_than_any_path(workspaces: Workspaces) -> None:
    """Three thousand folders in each other, far beyond the longest path and the deepest recursion."""
    folder = _prepare(workspaces)
    here = os.open(folder / "work", os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(3_000):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    workspaces.remove_cubicle(KEY)
    assert not folder.exists()


def test_deletes_an_agent_with_all_its_people(workspaces: Workspaces, tmp_path: Path) -> None:
    """Gone already is fine."""
    for user in (1, 2):
        workspaces.prepare_folders(CubicleKey("crab", user), uid=os.geteuid(), gid=os.getegid())
    helper = workspaces.prepare_folders(CubicleKey("helper", 1), uid=os.geteuid(), gid=os.getegid()).work
    for _ in range(2):
        workspaces.remove_agent("crab")
    assert not (tmp_path / "workspaces" / "crab").exists()
    assert not (tmp_path / "run" / "crab").exists()
    assert helper.is_dir()


def test_an_unusable_home_is_said(tmp_path: Path) -> None:
    """With a sentence instead of a trace."""
    with pytest.raises(Unavailable, match="cannot be prepared"):
        _prepare(Workspaces(tmp_path / "missing"))


# --- lock files ------------------------------------------------------------------------------------------------


def _approval(status: ApprovalStatus) -> Approval:
    return Approval("abcd2345", KEY, 7, 3, "command", "rm x", "00ff", "why", {}, status, 1.0, 61.0, 2.0, "ada", None)


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (ApprovalStatus.APPROVED, "hermit_approval.abcd2345.lock"),
        (ApprovalStatus.DENIED, "hermit_deny.abcd2345.lock"),
        (ApprovalStatus.EXPIRED, "hermit_deny.abcd2345.lock"),
        (ApprovalStatus.CANCELLED, "hermit_deny.abcd2345.lock"),
    ],
)
def test_a_lock_says_what_was_decided(
    workspaces: Workspaces, tmp_path: Path, status: ApprovalStatus, name: str
) -> None:
    """Readable for the cubicle's user, whole at once, nothing else in the folder; again is the same."""
    locks = LockFiles(workspaces)
    for _ in range(2):
        locks.write_decision(_approval(status))
    folder = tmp_path / "run" / "crab" / "1"
    assert [path.name for path in folder.iterdir()] == [name]
    assert stat.S_IMODE((folder / name).stat().st_mode) == 0o644
    assert json.loads((folder / name).read_text()) == {
        "id": "abcd2345",
        "status": str(status),
        "turn": 7,
        "n": 3,
        "sha256": "00ff",
        "expires_at": 61.0,
    }
    locks.clear_approval(KEY, "abcd2345")
    locks.clear_approval(KEY, "abcd2345")
    assert list(folder.iterdir()) == []


def test_a_stop_is_a_lock_too(workspaces: Workspaces, tmp_path: Path) -> None:
    """Named after its turn."""
    locks = LockFiles(workspaces)
    locks.write_stop(KEY, 9)
    path = tmp_path / "run" / "crab" / "1" / "hermit_stop.9.lock"
    assert json.loads(path.read_text()) == {"turn": 9}
    locks.clear_stop(KEY, 9)
    locks.clear_stop(KEY, 9)
    assert not path.exists()


def test_a_lock_that_can_not_be_written_is_said(workspaces: Workspaces, tmp_path: Path) -> None:
    """Whoever called can try again."""
    folder = tmp_path / "run" / "crab" / "1"
    (folder / "hermit_stop.9.lock").mkdir(parents=True)
    with pytest.raises(Unavailable, match="could not be written"):
        LockFiles(workspaces).write_stop(KEY, 9)
