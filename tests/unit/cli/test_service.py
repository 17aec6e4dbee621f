"""``./hermit service print``: units that systemd reads without a complaint, and that name this install."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from orchestrator.__main__ import main
from orchestrator.cli.service import STOP_S, unit_text
from orchestrator.cli.up import STOPPED_WITHIN_S
from orchestrator.core.errors import BadInput

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("is_users", [False, True], ids=["machine", "user"])
@pytest.mark.parametrize("home", ["/srv/hermit", "/srv/a b 100%"])
def test_systemd_reads_it(tmp_path: Path, is_users: bool, home: str) -> None:  # noqa: FBT001 - pytest's
    """Whatever the folders are called; a path that it can't find is all that it may miss."""
    text = unit_text(Path("/opt/hermit shell"), Path(home), "root", is_users=is_users)
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not here")
    (tmp_path / "hermitshell.service").write_text(text)
    manager = "--user" if is_users else "--system"
    ran = subprocess.run(
        [analyze, manager, "--man=no", "verify", str(tmp_path / "hermitshell.service")],
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    complaints = [line for line in (ran.stdout + ran.stderr).splitlines() if "hermitshell" in line]
    assert [line for line in complaints if "not executable" not in line] == []


def test_the_machines_is_walled_and_the_users_is_not(tmp_path: Path) -> None:
    """A person's own service manager can't put up walls; both end by SIGTERM, with time for it."""
    system = unit_text(Path("/opt/hermit"), Path("/srv/hermit"), "ada", is_users=False)
    users = unit_text(Path("/opt/hermit"), Path("/srv/hermit"), "ada", is_users=True)
    assert "\nUser=ada\n" in system
    assert '\nReadWritePaths="/srv/hermit" "/opt/hermit"\n' in system
    assert "ProtectSystem" not in users
    assert "User=" not in users
    for text in (system, users):
        assert '\nEnvironment="HERMIT_HOME=/srv/hermit"\n' in text
        assert '\nExecStart="/opt/hermit/hermit" up\n' in text
        assert "\nRestart=on-failure\n" in text
        assert "\nKillSignal=SIGTERM\n" in text
    assert STOP_S > STOPPED_WITHIN_S


def test_refuses_folders_that_it_would_hide() -> None:
    """A service has a /tmp of its own."""
    with pytest.raises(BadInput, match="/tmp"):
        unit_text(ROOT, Path("/tmp/home"), "root", is_users=False)
    with pytest.raises(BadInput, match="character"):
        unit_text(ROOT, Path("/srv/a\nExecStart=evil"), "root", is_users=True)
    with pytest.raises(BadInput, match="character"):
        unit_text(ROOT, Path("/srv/$HOME"), "root", is_users=False)


def test_it_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With this program and this install in it."""
    monkeypatch.setenv("HERMIT_HOME", str(tmp_path))
    monkeypatch.setenv("HERMIT_ROOT", str(ROOT))
    assert main(["service", "print", "--user"]) == 0
    said = capsys.readouterr().out
    assert f'"HERMIT_HOME={tmp_path}"' in said
    assert f'ExecStart="{ROOT}/hermit" up' in said
