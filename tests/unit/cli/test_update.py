"""``./hermit update`` in small repositories of git, and ``version``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.__main__ import main, parser
from orchestrator.cli.context import Context
from orchestrator.core.config import load
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.home import HomeLock, prepare_home
from orchestrator.core.version import VERSION

GIT = shutil.which("git") or "git"
LAUNCHER = '#!/bin/sh\necho launched "$@"\nexit 7\n'


@dataclass
class Copy:
    """Where the program comes from, and somebody's copy of it."""

    origin: Path
    root: Path
    screen: pytest.CaptureFixture[str]

    def git(self, folder: Path, *words: str) -> str:
        """A command of git; what it prints."""
        return subprocess.run(
            [GIT, "-C", str(folder), *words], env=_environment(), capture_output=True, text=True, check=True
        ).stdout

    def release(self, title: str, **files: str) -> None:
        """Something new."""
        for name, text in files.items():
            (self.origin / name).write_text(text)
        self.git(self.origin, "add", ".")
        self.git(self.origin, "commit", "-q", "--allow-empty", "-m", title)

    def update(self, *options: str, code: int = 0) -> str:
        """What the command prints."""
        given = parser("update").parse_args(["update", *options])
        settings = load({"HERMIT_HOME": str(self.root.parent / "home")}, self.root)
        assert given.run(Context(self.root, _environment(), settings), given) == code
        return self.screen.readouterr().out

    def refused(self, *options: str) -> str:
        """Its sentence; the copy is as it was."""
        before = self.git(self.root, "rev-parse", "HEAD") if (self.root / ".git").exists() else ""
        with pytest.raises(OrchestratorError) as error:
            self.update(*options)
        if before:
            assert self.git(self.root, "rev-parse", "HEAD") == before
        return error.value.message


def _environment() -> dict[str, str]:
    who = {f"GIT_{who}_{what}": "x@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", **who}


@pytest.fixture
def copy(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Copy:
    """One that is up to date."""
    made = Copy(tmp_path / "origin", tmp_path / "root", capfd)
    made.origin.mkdir()
    made.git(made.origin, "init", "-q", "-b", "main")
    (made.origin / "hermit").write_text(LAUNCHER)
    (made.origin / "hermit").chmod(0o755)
    made.release("First", program="1")
    made.git(tmp_path, "clone", "-q", str(made.origin), str(made.root))
    return made


def test_nothing_new(copy: Copy) -> None:
    """It says which version it is, and asks nothing."""
    assert copy.update() == f"HermitShell {VERSION} is up to date.\n"


def test_what_is_new_is_said_and_fetched_after_a_yes(copy: Copy) -> None:
    """Nothing before, all of it afterwards; files that lie beside the program stay."""
    copy.release("Second\x1b[2J", program="2")
    copy.release("Third", program="3")
    (copy.root / "mine.txt").write_text("mine")
    said = copy.update("--check")
    assert said.startswith("2 changes since yours, the newest first:\n  Third\n  Second\\x1b[2J\n")
    assert "--yes" in (sentence := copy.refused())
    assert "Nothing was updated" in sentence
    assert (copy.root / "program").read_text() == "1"
    assert "The program is updated.\n" in copy.update("--yes")
    assert (copy.root / "program").read_text() == "3"
    assert (copy.root / "mine.txt").read_text() == "mine"
    assert "up to date" in copy.update("--yes")


def test_one_that_runs_is_restarted_where_that_is_wanted(copy: Copy) -> None:
    """By the launcher of the new program; otherwise the sentence says how."""
    claim = HomeLock(prepare_home(copy.root.parent / "home"))
    copy.release("Second", program="2")
    assert "./hermit restart" in copy.update("--yes")
    copy.release("Third", hermit=LAUNCHER.replace("launched", "the new one:"))
    assert copy.update("--yes", "--restart", code=7).endswith("The program is updated.\nthe new one: restart\n")
    claim.release()


def test_what_somebody_changed_is_not_lost(copy: Copy) -> None:
    """A changed file, a commit of one's own: each is named, and nothing is done."""
    copy.release("Second", program="2")
    (copy.root / "program").write_text("mine")
    assert "(program)" in copy.refused("--yes")
    assert (copy.root / "program").read_text() == "mine"
    copy.git(copy.root, "commit", "-q", "-a", "-m", "Mine")
    assert "commits of its own" in copy.refused("--yes")


def test_commits_of_ones_own_are_no_hindrance_where_nothing_is_new(copy: Copy) -> None:
    """Nothing has to be merged."""
    copy.git(copy.root, "commit", "-q", "--allow-empty", "-m", "Mine")
    assert "up to date" in copy.update("--yes")


def test_what_cannot_be_updated_says_why(copy: Copy, tmp_path: Path) -> None:
    """No branch, no origin any more, no git folder."""
    copy.git(copy.root, "checkout", "-q", "--detach")
    assert "git switch main" in copy.refused("--yes")
    copy.git(copy.root, "switch", "-q", "main")
    copy.origin.rename(tmp_path / "elsewhere")
    assert "'git fetch' failed: fatal: " in copy.refused("--yes")
    (copy.root / ".git").rename(tmp_path / "git")
    said = copy.refused("--yes")
    assert "wasn't made with git" in said
    assert str(copy.root) in said


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """As a word and as an option; for programs, too."""
    assert (main(["version"]), main(["--version"])) == (0, 0)
    assert capsys.readouterr().out == f"HermitShell {VERSION}\n" * 2
    assert main(["version", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"version": VERSION}
