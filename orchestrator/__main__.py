"""``python -m orchestrator``: reads the command line, runs a command, and says what went wrong in one line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from orchestrator.cli.colors import paint_for
from orchestrator.cli.overview import is_asked_for, show_overview, suggest_command
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.text import terminal_safe

COMMANDS = {
    "up": "up down restart serve",
    "status": "status logs",
    "links": "open login-link token",
    "users": "user",
    "audit": "audit",
    "cubicle": "cubicle apps",
    "update": "update version",
    "completion": "completion",
    "doctor": "doctor",
    "prove": "prove",
    "import_agent": "import",
    "backup": "backup restore recover",
    "service": "service",
    "chat": "chat",
    "history": "history",
    "conversations": "conversations",
    "files": "files",
    "checkpoints": "checkpoints",
    "undo": "undo",
    "agent": "agent",
    "telegram": "telegram",
    "calendar": "calendar",
    "memory": "memory",
    "lessons": "lessons",
    "approvals": "approvals approve deny",
    "grants": "grants",
    "page_secrets": "secrets",
    "kept_logins": "logins",
    "mcp": "mcp",
    "hosts": "hosts",
    "questions": "questions answer",
    "budget": "budget prices",
    "test": "test",
    "bench": "bench",
    "sbom": "sbom",
}
"""Which module of ``cli`` has which commands. Only the one that is asked for is loaded: most need little of what
the rest of the program stands on, and a person waits for each."""


_NO_VERB = "are required: VERB"


class _Parser(argparse.ArgumentParser):
    """Options and words in any order, and one line about what is wrong with them. Python's own takes a word that may be
    missing for missing as soon as an option stands before it, as in ``chat crab --file notes.txt "What is this?"``."""

    _is_inside = False

    def parse_known_args(  # type: ignore[override]  # the overloads differ only in what a caller may leave out
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """What argparse calls for each command."""
        if self._is_inside or self._subparsers is not None:
            return super().parse_known_args(args, namespace)
        self._is_inside = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_inside = False

    def error(self, message: str) -> NoReturn:
        """What argparse calls for a command line that is none."""
        if message.endswith(_NO_VERB):  # only the group was named: what there is in it
            self.print_help()
            self.exit(0)
        self.exit(2, f"hermit: {' '.join(message.split())}. Run './{self.prog} --help' for usage.\n")


def parser(wanted: str = "") -> argparse.ArgumentParser:
    """Every command of ``./hermit``, or those that live with the wanted one."""
    top = _Parser(prog="hermit", description="Your own AI agents, each locked into its own air-gapped container.")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    asked = [module for module, names in COMMANDS.items() if wanted in names.split()]
    for module in asked or COMMANDS:
        import_module(f"orchestrator.cli.{module}").add_to(commands)
    return top


def main(arguments: list[str]) -> int:
    """Run a command; returns the exit code."""
    try:
        return _run(arguments)
    except OrchestratorError as error:
        begin = paint_for(sys.stderr, os.environ)("hermit:", "red", "bold")
        print(f"{begin} {terminal_safe(error.message)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run(arguments: list[str]) -> int:
    if is_asked_for(arguments):
        print(show_overview(arguments), flush=True)
        return 0
    command, known = arguments[0], " ".join(COMMANDS.values()).split()
    if command not in known:
        print(f"hermit: {suggest_command(command, known)} Run './hermit --help' for all commands.", file=sys.stderr)
        return 2
    top = parser("" if command == "completion" else command)  # a completion knows them all
    if command == "test" and not {"--help", "-h"} & set(arguments):
        options = top.parse_args(["test"])
        options.rest = arguments[1:]
    else:
        options = top.parse_args(arguments)
    read_context = import_module("orchestrator.cli.context").read_context
    return int(options.run(read_context(os.environ), options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
