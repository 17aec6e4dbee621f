"""How a person is asked about one kind of thing: its words, and what else there is to know. Every surface renders this
description in its own way; what an agent or a stranger wrote is marked in it, so that none takes it for ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.approvals.sources import SourcePhrase, list_phrases
from orchestrator.core.models import Approval
from orchestrator.core.text import look_alikes, one_line

_MOST_SCRIPTS = 5
_KIND_CHARS = 200


@dataclass(frozen=True, slots=True)
class Quoted:
    """What somebody else wrote."""

    text: str
    limit: int = 80
    """So many characters are shown."""


@dataclass(frozen=True, slots=True)
class WarningLine:
    """A line that warns; it may name addresses."""

    text: str


@dataclass(frozen=True, slots=True)
class ByteCount:
    """A number of bytes."""

    count: int


FactPart = str | Quoted | WarningLine | ByteCount
Fact = FactPart | tuple[FactPart, ...]
"""One line."""


def _no_facts(_: Approval) -> list[Fact]:
    return []


def _no_lines(_: Mapping[str, Any]) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class ApprovalKind:
    """How one kind is spoken of."""

    name: str
    many: str
    """What a page calls many of them."""
    wants: str
    """``wants a file from the internet``: after the agent's name."""
    request: str
    """The same as the beginning of a question."""
    asks: str
    """``may this run?``"""
    noun: str
    """What the exact text is called."""
    approved: str
    """``It runs now.``"""
    denied: str
    """``run``: after "It was not"."""
    infinitive: str
    """``be downloaded``: after "It will not"."""
    unless: str
    """``Nothing runs unless you agree.``"""
    again: str
    """For the agent, when the person asks it to try once more; ``{text}`` is the exact text."""
    facts: Callable[[Approval], list[Fact]] = _no_facts
    """What else there is to know, before the exact text."""
    consequences: Callable[[Approval], list[Fact]] = _no_facts
    """What agreeing means, after it."""
    terminal: Callable[[Mapping[str, Any]], list[str]] = _no_lines
    """The same in a terminal, of the approval's ``detail``."""


def list_facts(kind: ApprovalKind, approval: Approval) -> list[Fact]:
    """What else there is to know, before the exact text: what is special to its kind, then what was read."""
    since, read = (list_phrases(approval.detail.get(name)) for name in ("since_allowed", "sources"))
    lines = kind.facts(approval)
    if since:
        lines.append(("⚠ It has read ", *_join(since), " since you allowed this, so you are asked again."))
    if read:
        lines.append(("This conversation has read ", *_join(read), "."))
    return lines


def _join(phrases: list[SourcePhrase]) -> list[FactPart]:
    """``“a”, “b” and c``."""
    parts: list[FactPart] = []
    for at, phrase in enumerate(phrases):
        parts += [" and " if at == len(phrases) - 1 else ", "] if at else []
        parts.append(Quoted(phrase.text, 260) if phrase.is_name else phrase.text)
    return parts


def host_of(approval: Approval) -> str:
    """The host that may be allowed for ever; empty where there is none."""
    return one_line(str(approval.detail.get("host", "")), 260)


# --- a command in the cubicle --------------------------------------------------------------------------------------


def _reason(approval: Approval) -> list[Fact]:
    """Why the policy asks."""
    words = one_line(approval.reason, 200)
    return [words] if words else []


def _what_runs(approval: Approval) -> list[Fact]:
    """What agreeing means: the files that run, what it is when it is agreed to for longer."""
    scripts = [script for script in approval.detail.get("scripts", ()) if isinstance(script, dict)]
    lines: list[Fact] = [
        ("Runs ", Quoted(str(script["path"]), 200), ", as it is now" if script["sha256"] else ", which doesn't exist")
        for script in scripts[:_MOST_SCRIPTS]
    ]
    lines += [f"and {len(scripts) - _MOST_SCRIPTS} more files"] if len(scripts) > _MOST_SCRIPTS else []
    if approval.detail.get("runs_more"):
        lines.append("It also runs other files, which can't be named in advance.")
    kinds = [str(kind) for kind in approval.detail.get("kinds", ())]
    if kinds:
        parts = [part for kind in kinds for part in (Quoted(kind, _KIND_CHARS), " ")]
        lines.append(("For longer: ", *parts[:-1]))
    found = look_alikes(approval.text)
    return [*lines, *([f"⚠ Looks like something else: {', '.join(found)}"] if found else [])]


def _in_a_terminal(detail: Mapping[str, Any]) -> list[str]:
    """Which files it runs, and what may be allowed for longer."""
    lines = [
        f"runs {one_line(script['path'], 200)} as it is now: changed, it won't run"
        if script["sha256"]
        else f"runs {one_line(script['path'], 200)}, which does not exist yet"
        for script in detail.get("scripts", ())
    ]
    lines += ["also runs what other files say, which can't be named beforehand"] if detail.get("runs_more") else []
    kinds = [f"“{one_line(kind, 500)}”" for kind in detail.get("kinds", ())]
    return [*lines, *([f"its kind, for --for: {', '.join(kinds)}"] if kinds else [])]


COMMAND_KIND = ApprovalKind(
    "command",
    many="Commands",
    wants="wants to run this command",
    request="It wants to run exactly this",
    asks="may this run?",
    noun="command",
    approved="It runs now.",
    denied="run",
    infinitive="run",
    unless="Nothing runs unless you agree.",
    again="You asked whether this command may run, and nobody answered in time, so it was not run. If it is still "
    "needed, try it again now:\n\n{text}",
    facts=_reason,
    consequences=_what_runs,
    terminal=_in_a_terminal,
)
