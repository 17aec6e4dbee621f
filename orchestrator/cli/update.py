"""``update`` and ``version``: which HermitShell this is, and a newer one for a copy that was made with git.

An update only ever moves forward along the branch that this copy follows; nothing that somebody changed here is lost.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from dataclasses import dataclass

from orchestrator.cli.confirm import add_yes, confirm_deed
from orchestrator.cli.context import Context, print_body
from orchestrator.cli.help import add_help
from orchestrator.core.errors import BadInput, Conflict, OrchestratorError, Unavailable
from orchestrator.core.home import running_pid
from orchestrator.core.text import one_line
from orchestrator.core.version import VERSION

_MOST_SHOWN = 20
_FETCH_S = 300.0


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the two commands."""
    update = commands.add_parser("update", help="fetch a newer version with git, after asking")
    update.add_argument("--check", action="store_true", help="only say what is new")
    update.add_argument("--restart", action="store_true", help="then restart, if it is running")
    add_yes(update)
    add_help(
        update,
        "Say what is new, ask, and update this copy of the program. Your data stays where it is; 'backup' first if\n"
        "you may want to go back. Needs a copy that was made with git and wasn't changed.",
        "update --check",
        "update --restart",
        "update --yes --restart",
    )
    update.set_defaults(run=_update)
    version = commands.add_parser("version", help="which HermitShell this is")
    version.add_argument("--json", action="store_true", help="print JSON")
    add_help(version, "Print the version of HermitShell.", "version")
    version.set_defaults(run=_version)


def _version(_context: Context, options: argparse.Namespace) -> int:
    print_body({"version": VERSION}, as_json=options.json, lines=[f"HermitShell {VERSION}"])
    return 0


def _update(context: Context, options: argparse.Namespace) -> int:
    copy = _Copy(context)
    copy.check_updatable()
    news = copy.list_news()
    if not news:
        print(f"HermitShell {VERSION} is up to date.")
        return 0
    print(f"{len(news):,} {'change' if len(news) == 1 else 'changes'} since yours, the newest first:")
    for title in news[:_MOST_SHOWN]:
        print(f"  {one_line(title, 110)}")
    if len(news) > _MOST_SHOWN:
        print(f"  … and {len(news) - _MOST_SHOWN:,} more")
    if options.check:
        print("'./hermit update' updates to it.")
        return 0
    confirm_deed(f"This updates the program in {context.root}", yes=options.yes, undone="updated")
    copy.move_forward()
    print("The program is updated.", flush=True)
    if running_pid(context.settings.home) is None:
        return 0
    if not options.restart:
        print("The old one is still running: './hermit restart' starts the new one.")
        return 0
    # Not this process: the new program may need new dependencies, which the launcher installs.
    return subprocess.run(
        [str(context.root / "hermit"), "restart"], env=dict(context.environment), check=False
    ).returncode


@dataclass(frozen=True, slots=True)
class _Copy:
    """The program's folder, as git sees it."""

    context: Context

    @property
    def _program(self) -> str:
        return shutil.which("git", path=self.context.environment.get("PATH")) or ""

    def check_updatable(self) -> None:
        """It can be updated; raises BadInput, Conflict or Unavailable with what to do."""
        root = self.context.root
        if not (root / ".git").exists():
            raise BadInput(
                f"This copy wasn't made with git. Put the files of the newer version over those in {root}, "
                "then run './hermit restart'."
            )
        if not self._program:
            raise Unavailable("git is not installed: install it (Debian, Ubuntu: apt-get install git), then try again.")
        changed = [line[3:] for line in self._run_git("status", "--porcelain", "--untracked-files=no").splitlines()]
        if changed:
            named = ", ".join(one_line(path, 60) for path in changed[:3]) + (" …" if len(changed) > 3 else "")
            raise Conflict(
                f"Files of the program were changed here ({named}). Commit them or undo that, then try again."
            )

    def list_news(self) -> list[str]:
        """The titles of what is new, the newest first. Raises Conflict where it does not continue what is here."""
        try:
            self._run_git("rev-parse", "--abbrev-ref", "@{upstream}")
        except OrchestratorError as error:
            raise Conflict("This copy follows no branch. 'git switch main' or the like puts it on one.") from error
        self._run_git("fetch", "--quiet")
        titles = self._run_git("log", "--format=%s", "HEAD..@{upstream}").splitlines()
        if titles and self._run_git("rev-list", "@{upstream}..HEAD").strip():
            raise Conflict("This copy has commits of its own. Merge with 'git pull', then run './hermit restart'.")
        return titles

    def move_forward(self) -> None:
        """It is what was fetched."""
        self._run_git("merge", "--ff-only", "--quiet", "@{upstream}")

    def _run_git(self, *arguments: str) -> str:
        environment = {**self.context.environment, "LC_ALL": "C"}
        if not sys.stdin.isatty():
            environment["GIT_TERMINAL_PROMPT"] = "0"
        try:
            ran = subprocess.run(
                [self._program, "-C", str(self.context.root), *arguments],
                env=environment,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=_FETCH_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise Unavailable(
                f"'git {arguments[0]}' takes longer than {_FETCH_S / 60:.0f} minutes. Try again."
            ) from error
        if ran.returncode:
            said = [line for line in ran.stderr.splitlines() if line.strip()] or ["no reason given"]
            raise Unavailable(f"'git {arguments[0]}' failed: {one_line(said[0], 200)}")
        return ran.stdout
