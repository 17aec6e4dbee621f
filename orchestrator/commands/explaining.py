"""What ``--help`` says of a command beyond its options: what it is for, and examples that can be typed as they are."""

from __future__ import annotations

import argparse


def explain(command: argparse.ArgumentParser, text: str, *examples: str, more: str = "") -> None:
    """Give a command its description and its examples.

    Args:
        command: whose help it is.
        text: sentences; lines are broken as they are written here.
        examples: command lines without ``./hermit``.
        more: what stands below the examples.
    """
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.description = text
    shown = "\n".join(f"  ./hermit {example}" for example in examples)
    command.epilog = "\n\n".join(part for part in (f"Examples:\n{shown}" if examples else "", more) if part)
