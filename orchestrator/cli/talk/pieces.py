"""The pieces of a conversation as they stand in the terminal for good: what was said, what ran, what came of it. Each
is made from what the API says, and safe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from orchestrator.cli.talk.canvas import AgentMarkdown
from orchestrator.core.text import one_line, terminal_safe
from orchestrator.files.attachments import split_prompt

MOST_OUTPUT = 12
"""Lines of what a command printed."""
_HEAD = 4
_LONGEST_COMMAND = 6


@dataclass(frozen=True, slots=True)
class Piece:
    """One of them."""

    what: RenderableType
    is_tight: bool = False
    """It belongs to what stands above it, without an empty line between."""


def person_said(text: str, *, how: str = "") -> Piece:
    """What the person wrote; ``how`` tells of files, or of another place where it was written."""
    lines = terminal_safe(text).split("\n")
    shown = Text("\n".join([f"› {lines[0]}", *(f"  {line}" for line in lines[1:])]), style="bold cyan")
    return Piece(Group(shown, Text(f"  {how}", style="dim")) if how else shown)


def message_said(prompt: str, *, how: str = "") -> Piece:
    """A message as the agent was given it: its words, and the names of files that came with it."""
    text, files = split_prompt(prompt)
    names = ", ".join(one_line(file.path.rpartition("/")[2], 60) for file in files)
    return person_said(text, how=" · ".join(filter(None, (f"with {names}" if names else "", how))))


def agent_words(markdown: str) -> Piece:
    """What the agent wrote."""
    return Piece(AgentMarkdown(markdown))


def command_line(command: str) -> Piece:
    """A command that begins to run, as it is: its first lines."""
    lines = terminal_safe(command).split("\n")
    shown = Text.assemble(("  $ ", "green"), (lines[0], "bold"))
    for line in lines[1:_LONGEST_COMMAND]:
        shown.append(f"\n    {line}", "bold")
    if len(lines) > _LONGEST_COMMAND:
        shown.append(f"\n    … {len(lines) - _LONGEST_COMMAND:,} more lines", "dim")
    return Piece(shown)


def command_outcome(step: Mapping[str, Any]) -> Piece:
    """What a command printed, within bounds, and how it ended."""
    body = Text("\n".join(f"    {line}" for line in bound_lines(str(step["output"] or ""))), style="dim")
    # Of a command that somebody had to allow, the time would be theirs.
    took_s = None if step["approval"] else _seconds_between(step["started_at"], step["ended_at"])
    took = f" after {took_s:.1f} s" if took_s is not None and took_s >= 0.1 else ""
    code = step["exit_code"]
    if code in (0, None):
        end = Text(f"    ✓{took}" if code == 0 else f"    ended{took}", style="green" if code == 0 else "dim")
    else:
        end = Text(f"    ✗ exit code {code}{took}", style="red")
    return Piece(Group(body, end) if body.plain.strip() else end, is_tight=True)


def bound_lines(output: str, most: int = MOST_OUTPUT) -> list[str]:
    """The first and the last lines, and how many are left out between them."""
    lines = terminal_safe(output.rstrip("\n")).split("\n")
    if len(lines) <= most:
        return lines
    tail = most - _HEAD - 1
    return [*lines[:_HEAD], f"… {len(lines) - _HEAD - tail:,} more lines …", *lines[-tail:]]


def note(text: str, style: str = "dim") -> Piece:
    """A sentence of ours beside the conversation; what is somebody else's in it is made safe."""
    return Piece(Text(f"  {terminal_safe(text)}", style=style), is_tight=True)


def trouble(text: str) -> Piece:
    """What went wrong."""
    return Piece(Text(terminal_safe(text), style="red"))


def rule_of(agent: str, conversation: str) -> Piece:
    """From here on it is this conversation."""
    title = Text(one_line(f"{agent} · {conversation}" if conversation else agent, 60))
    return Piece(Rule(title, align="left", style="dim", characters="─"))


def listing(rows: Sequence[tuple[str, str]], *, lead: str = "bold") -> Piece:
    """Names with what is told of each."""
    width = min(max((len(name) for name, _ in rows), default=0), 34)
    lines = (
        Text.assemble("  ", (one_line(name, 200).ljust(width), lead), "  ", one_line(told, 300)) for name, told in rows
    )
    return Piece(Group(*lines))


def plain_lines(lines: Sequence[str], style: str = "") -> Piece:
    """Lines as they are, made safe and a little to the right."""
    return Piece(Padding(Text(terminal_safe("\n".join(lines)), style=style), (0, 0, 0, 2)))


def diff_lines(lines: Sequence[str]) -> Piece:
    """Lines of a unified diff, in the colours that people know."""
    styles = {"+": "green", "-": "red", "@": "cyan", "~": "yellow"}
    return Piece(Group(*(Text(f"  {terminal_safe(line)}", style=styles.get(line[:1], "")) for line in lines)))


def _seconds_between(start: str | None, end: str | None) -> float | None:
    if not start or not end:
        return None
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
