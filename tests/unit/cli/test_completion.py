"""What a shell completes, asked of the shells themselves; a shell that isn't installed is left out."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from orchestrator.__main__ import main

LINES: dict[str, set[str]] = {
    "hermit age": {"agent"},
    "hermit agent ": {"list", "roles", "create", "show", "set", "access", "rm"},
    "hermit agent rm c": {"crab", "clerk"},
    "hermit agent create c": set(),
    "hermit chat cl": {"clerk"},
    "hermit chat crab --f": {"--file"},
    "hermit memory cr": {"crab"},
    "hermit memory crab s": {"search"},
    "hermit memory crab rm --y": {"--yes"},
    "hermit checkpoints crab ": {"list", "diff", "create", "restore", "rm"},
    "hermit undo crab --s": {"--since"},
    "hermit user add --role ": {"member", "operator"},
    "hermit user add --role member b": set(),
    "hermit completion ": {"bash", "zsh", "fish"},
    "hermit chat --file rep": {"report one.pdf", "report.txt"},
    "hermit files put crab report.txt rep": {"report one.pdf", "report.txt"},
    "hermit files rm crab rep": set(),
    "hermit ser": {"service"},
}
"""What may stand at the end of each line. ``serve`` is for nobody to type."""


@pytest.fixture
def fixture(tmp_path: Path) -> Path:
    """A folder with files, and a ``hermit`` that knows two agents."""
    (tmp_path / "report one.pdf").touch()
    (tmp_path / "report.txt").touch()
    program = tmp_path / "bin" / "hermit"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n[ \"$*\" = 'agent list' ] && printf 'NAME  STATUS\\ncrab  idle\\nclerk  idle\\n'\n")
    program.chmod(0o755)
    return tmp_path


def _script(shell: str, fixture: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["completion", shell]) == 0
    path = fixture / f"completion.{shell}"
    path.write_text(capsys.readouterr().out)
    return path


def _program(shell: str) -> str:
    return shutil.which(shell) or pytest.skip(f"{shell} is not installed")


def _ran(fixture: Path, *command: str) -> str:
    environment = {"PATH": f"{fixture / 'bin'}:{os.environ['PATH']}", "HOME": str(fixture)}
    ran = subprocess.run(command, cwd=fixture, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert ran.stderr == ""
    return ran.stdout


def test_bash(fixture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Commands, options, their values, agents and files, each where it belongs."""
    script = _script("bash", fixture, capsys)
    asks = [f'. "{script}"']
    for line in LINES:
        words, _, last = line.rpartition(" ")
        asks.append(f"COMP_WORDS=({words} '{last}') COMP_CWORD={len(words.split())}; _hermit")
        asks.append("printf '%s|' \"${COMPREPLY[@]}\"; echo")
    found = _ran(fixture, _program("bash"), "--norc", "-c", "\n".join(asks)).splitlines()
    assert {line: {one for one in said.split("|") if one} for line, said in zip(LINES, found, strict=True)} == LINES


def test_bash_at_a_terminal(fixture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tab, pressed: also where the command is named by its path."""
    script = _script("bash", fixture, capsys)
    terminal, theirs = pty.openpty()
    command = [_program("setsid"), "-c", _program("bash"), "--norc", "-i"]
    environment = {"PATH": os.environ["PATH"], "TERM": "dumb", "PS1": "% "}
    with subprocess.Popen(command, cwd=fixture, env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as shell:
        os.close(theirs)
        _until(terminal, "% ")
        os.write(terminal, f". '{script}'\n".encode())
        _until(terminal, "% ")
        os.write(terminal, b"echo bin/hermit\x15bin/hermit mem\t")
        _until(terminal, "bin/hermit memory ")
        os.write(terminal, b"cl\t")
        _until(terminal, "clerk ")
        os.write(terminal, b"sea\t")
        _until(terminal, "search ")
        os.write(terminal, b"\x15exit\n")
        assert shell.wait(20) == 0
    os.close(terminal)


def _until(terminal: int, words: str) -> None:
    seen, deadline = b"", time.monotonic() + 20
    while words.encode() not in seen and time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.1)[0]:
            seen += os.read(terminal, 4096)
    assert words.encode() in seen, seen


def test_the_script_for_bash_passes_shellcheck(fixture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is read by shells of strangers."""
    checked = subprocess.run(
        [_program("shellcheck"), "-s", "bash", str(_script("bash", fixture, capsys))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.stdout == ""


def test_fish(fixture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is missing; fish offers more where a verb may follow an agent."""
    script = _script("fish", fixture, capsys)
    for line, wanted in LINES.items():
        said = _ran(fixture, _program("fish"), "--no-config", "-c", f"source {script}; complete -C '{line}'")
        assert wanted <= {one.partition("\t")[0].replace("\\ ", " ") for one in said.splitlines()}, line


def test_zsh(fixture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It takes the script, and knows it for the command."""
    script = _script("zsh", fixture, capsys)
    assert "_bash_complete" in _ran(fixture, _program("zsh"), "-f", "-c", f". {script}; echo $_comps[hermit]")


def test_an_unknown_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """One line that names those there are."""
    with pytest.raises(SystemExit) as ended:
        main(["completion", "tcsh"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert all(shell in said for shell in ("bash", "zsh", "fish"))
