"""``./hermit up`` beside an install that runs already."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.cli.up import is_a_service, is_older
from orchestrator.core.home import HomeLock, claimed_at, prepare_home


def test_a_program_that_was_updated_is_noticed(tmp_path: Path) -> None:
    """By its files' times: a newer source tells, what Python makes of it and what lies beside it does not."""
    home, root = prepare_home(tmp_path / "home"), tmp_path / "program"
    source, compiled = root / "orchestrator" / "app.py", root / "orchestrator" / "app.pyc"
    source.parent.mkdir(parents=True)
    claim = HomeLock(home)
    for path in (source, compiled, root / "notes.py"):
        path.touch()
        os.utime(path, (0, claimed_at(home.path) + 60))
    assert is_older(home.path, root)
    os.utime(source, (0, claimed_at(home.path) - 60))
    assert not is_older(home.path, root)
    claim.release()


@pytest.mark.parametrize(
    ("group", "is_one"),
    [
        ("0::/system.slice/hermitshell.service\n", True),
        ("12:pids:/x\n1:name=systemd:/user.slice/user@1000.service/app.slice/hermitshell.service\n", True),
        ("0::/user.slice/user-1000.slice/session-3.scope\n", False),
        ("0::/system.slice/cron.service\n", False),
        ("", False),
    ],
)
def test_one_that_systemd_looks_after_is_known(tmp_path: Path, group: str, *, is_one: bool) -> None:
    """By its unit's name; it is systemd's to restart."""
    (tmp_path / "77").mkdir()
    (tmp_path / "77" / "cgroup").write_text(group)
    assert is_a_service(77, tmp_path) is is_one
    assert not is_a_service(78, tmp_path)
