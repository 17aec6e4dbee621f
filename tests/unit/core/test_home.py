"""``orchestrator.core.home``: the folder of everything, for its owner alone, used by one orchestrator at a time."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from orchestrator.core.errors import Conflict, Unavailable
from orchestrator.core.home import Home, HomeLock, prepare, running_pid
from tests.support.core_fixture import at_once

HOLDER = """
import sys, pathlib
from orchestrator.core.home import HomeLock, prepare
claim = HomeLock(prepare(pathlib.Path(sys.argv[1])))
print("held", flush=True)
sys.stdin.read()
"""


def test_is_for_its_owner_alone(tmp_path: Path) -> None:
    """Folders 0700, secrets 0600, also where they were more open before."""
    home = tmp_path / "home"
    (home / "db").mkdir(parents=True)
    (home / "db").chmod(0o755)
    (home / "hermit.env").touch(mode=0o644)
    prepare(home)
    assert stat.S_IMODE((home / "hermit.env").stat().st_mode) == 0o600
    folders = [home, *(path for path in home.iterdir() if path.is_dir())]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (home / "keys").iterdir()} == {0o600}


def test_settings_that_lie_elsewhere_are_left_alone(tmp_path: Path) -> None:
    """What a link leads to is not ours to close."""
    (tmp_path / "settings").touch(mode=0o644)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "hermit.env").symlink_to(tmp_path / "settings")
    prepare(tmp_path / "home")
    assert stat.S_IMODE((tmp_path / "settings").stat().st_mode) == 0o644


def test_its_secrets_are_made_once(tmp_path: Path) -> None:
    """The same afterwards, others elsewhere."""
    first = prepare(tmp_path / "a")
    assert prepare(tmp_path / "a") == first
    other = prepare(tmp_path / "b")
    assert first.install != other.install
    assert first.command_token != other.command_token
    assert len(first.install) == 8
    assert first.command_token.startswith("hs_")


def test_many_first_commands_at_once_agree(tmp_path: Path) -> None:
    """One id, one token, nothing left over."""
    results = at_once(*[partial(prepare, tmp_path / "home")] * 16)
    assert len({(home.install, home.command_token) for home in results if isinstance(home, Home)}) == 1
    kept = sorted(path.name for path in (tmp_path / "home" / "keys").iterdir())
    assert kept == ["command.token", "install-id", "link.key"]


def test_a_folder_that_can_not_be_is_said(tmp_path: Path) -> None:
    """With what to do instead."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(Unavailable, match="HERMIT_HOME"):
        prepare(tmp_path / "file" / "home")


def test_one_orchestrator_at_a_time(tmp_path: Path) -> None:
    """The second is told; after the first has gone it may begin."""
    home = prepare(tmp_path)
    assert running_pid(tmp_path) is None
    claim = HomeLock(home)
    assert running_pid(tmp_path) == os.getpid()
    with pytest.raises(Conflict, match="already running"):
        HomeLock(home)
    assert running_pid(tmp_path) == os.getpid()
    claim.release()
    assert running_pid(tmp_path) is None
    HomeLock(home).release()


def test_of_many_claims_at_once_one_holds(tmp_path: Path) -> None:
    """All others are conflicts."""
    home = prepare(tmp_path)
    results = at_once(*[partial(HomeLock, home)] * 8)
    held = [result for result in results if isinstance(result, HomeLock)]
    assert len(held) == 1
    assert sum(isinstance(result, Conflict) for result in results) == 7
    held[0].release()


def test_a_look_does_not_keep_anybody_from_claiming(tmp_path: Path) -> None:
    """However often somebody asks whether it runs, the start succeeds."""
    home = prepare(tmp_path)
    for _ in range(20):
        results = at_once(partial(HomeLock, home), *[partial(running_pid, tmp_path)] * 3)
        assert isinstance(results[0], HomeLock)
        results[0].release()


def test_a_killed_orchestrator_holds_nothing(tmp_path: Path) -> None:
    """SIGKILL frees the claim, and nobody takes its old process id for a running one."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert running_pid(tmp_path) == holder.pid
        with pytest.raises(Conflict):
            HomeLock(prepare(tmp_path))
        holder.send_signal(signal.SIGKILL)
        holder.wait(10)
    assert running_pid(tmp_path) is None
    HomeLock(prepare(tmp_path)).release()


def test_nothing_runs_where_there_is_no_home(tmp_path: Path) -> None:
    """Asking makes nothing."""
    assert running_pid(tmp_path / "none") is None
    assert not (tmp_path / "none").exists()
