"""A yes before something is destroyed: typed by a person at a terminal, or given with ``--yes``. Nothing else is one,
so that a script, a scheduler or a closed standard input deletes nothing by accident."""

from __future__ import annotations

import argparse
import sys

from orchestrator.core.errors import BadInput
from orchestrator.core.text import one_line


def add_yes(command: argparse.ArgumentParser) -> None:
    """Give a command the option ``--yes``."""
    command.add_argument("--yes", "-y", action="store_true", help="don't ask; needed where nobody sits at a terminal")


def confirm_deed(deed: str, *, yes: bool, expected: str = "yes", undone: str = "deleted") -> None:
    """Return when a person means it.

    Args:
        deed: what would happen, as a sentence without its full stop, such as ``This deletes crab and its files``.
        yes: whether ``--yes`` was given; then nobody is asked.
        expected: what has to be typed, to the letter.
        undone: what nothing was, where it is refused: "Nothing was deleted."

    Raises:
        BadInput: something else was typed, or there is no terminal to ask at. Nothing was done.
    """
    if yes:
        return
    deed = one_line(deed, 500)
    if not sys.stdin.isatty():
        raise BadInput(f"{deed}. Nothing was {undone}: add --yes to confirm, as there is no terminal to ask at.")
    print(f"{deed}. Type {one_line(expected, 100)} to confirm: ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip() != expected:
        raise BadInput(f"Nothing was {undone}.")
