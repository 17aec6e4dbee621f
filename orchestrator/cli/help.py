"""What ``--help`` says of a command beyond its options: what it is for, and examples that can be typed as they are."""

from __future__ import annotations

import argparse
import textwrap


def add_help(command: argparse.ArgumentParser, text: str, *examples: str, more: str = "") -> None:
    """Give a command its description and its examples.

    Args:
        command: whose help it is.
        text: sentences; lines are broken as they are written here.
        examples: command lines without ``./hermit``.
        more: what stands below the examples; a long line of it is broken.
    """
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.description = text
    below = "\n".join(textwrap.fill(line, 110, subsequent_indent="  ") for line in more.splitlines())
    shown = "\n".join(f"  ./hermit {example}" for example in examples)
    command.epilog = "\n\n".join(part for part in (f"Examples:\n{shown}" if examples else "", below) if part)
