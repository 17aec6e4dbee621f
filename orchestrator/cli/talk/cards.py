"""What waits for a single key: an approval, or a yes before something is deleted. A key counts only when somebody can
have meant it, which is decided here, with the time handed in. Draws nothing and asks nobody."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from orchestrator.cli.approvals import describe_request, exact_lines
from orchestrator.cli.questions import question_lines
from orchestrator.core.text import one_line, terminal_safe

READ_S = 0.5
"""Nobody has read a younger card; and whoever typed so recently is still typing something else."""
ALONE_S = 0.25
"""A key that others follow so soon was part of a word, or of a paste."""
_MOST_LINES = 20
"""Of what is to be approved, before one asks for all of it."""


class KeyGuard:
    """Which key somebody meant for a card: one that came alone, after the card could be read and nothing else was being
    typed."""

    def __init__(self, shown_at: float) -> None:
        self._quiet_since = shown_at
        self._meant: tuple[str, float] | None = None
        self.is_armed = False
        """The card hears keys. Until then they belong to what was being typed."""

    def note_key(self, now: float) -> None:
        """A key that is none of the card's, or came before it hears any."""
        self._quiet_since, self._meant = now, None

    def arm(self, now: float) -> bool:
        """It hears keys from now on, if it was quiet for long enough."""
        self.is_armed = self.is_armed or now - self._quiet_since >= READ_S
        return self.is_armed

    def press(self, key: str, keys: Sequence[str], now: float) -> None:
        """A key while the card hears them. Enter after one is a habit, and alone it is nothing."""
        if key in ("\r", "\n"):
            return
        is_alone = self._meant is None and now - self._quiet_since >= ALONE_S and key in keys
        self._quiet_since = now
        self._meant = (key, now) if is_alone else None

    def take(self, now: float) -> str | None:
        """The key that was meant, once."""
        if self._meant is None or now - self._meant[1] < ALONE_S:
            return None
        key, self._meant = self._meant[0], None
        return key


@dataclass(slots=True)
class Card:
    """One of them."""

    id: str
    body: RenderableType
    """What stands in the terminal above it."""
    ask: str
    keys: dict[str, str]
    """What each key does, in a few words, in their order."""
    act: Callable[[str], Awaitable[None]]
    """Does what the key says."""
    guard: KeyGuard | None = None
    """From when on it is shown."""
    rest: list[str] = field(default_factory=list)
    """Lines that a yes would be for and nobody has seen yet."""
    line: str = ""
    """What stands before the words that answer it, where it takes words and no key."""
    is_printed: bool = False


def approval_card(approval: Mapping[str, Any], act: Callable[[str], Awaitable[None]]) -> Card:
    """A card for what somebody has to allow: exactly what it is, and what each key does."""
    kinds = [str(kind) for kind in approval["detail"].get("kinds") or ()]
    lines = exact_lines({**approval, "detail": {**approval["detail"], "kinds": []}})  # they are told below
    is_command = approval["step"] is not None
    head = Text(f"{terminal_safe(approval['reason'])} {describe_request(approval)}:".strip(), style="bold yellow")
    body: list[RenderableType] = [head, _indent(lines[:_MOST_LINES])]
    if kinds:
        told = ", ".join(f"“{one_line(kind, 300)}”" for kind in kinds)
        body.append(Text(f"  a allows for this conversation, a day at most: {told}", style="dim"))
    body.append(Text(f"  It expires at {_clock(approval['expires_at'])}.", style="dim"))
    rest = lines[_MOST_LINES:]
    keys = {"y": "yes", "n": "no", "d": "no, and say why"}
    keys |= {"a": "allow here"} if kinds else {}
    keys |= {"c": "changes so far"} if is_command else {}
    keys |= {"v": more_label(rest)} if rest else {}
    return Card(approval["id"], Group(*body), "Run it?" if is_command else "Agree to it?", keys, act, rest=rest)


def _clock(moment: str) -> str:
    """Hours and minutes where the person sits."""
    return datetime.fromisoformat(moment).astimezone().strftime("%H:%M")


def _indent(lines: Sequence[str]) -> RenderableType:
    """Also what is too long for a line stays to the right of our own words."""
    return Padding(Text("\n".join(line.removeprefix("    ") for line in lines)), (0, 0, 0, 4))


def more_label(rest: Sequence[str]) -> str:
    """What ``v`` does."""
    return f"view {len(rest):,} more {'line' if len(rest) == 1 else 'lines'}"


def question_card(question: Mapping[str, Any], act: Callable[[str], Awaitable[None]]) -> Card:
    """A card for a question of an agent, which is answered in words or by the number of a choice."""
    head = Text(f"{one_line(question['agent'])} asks:", style="bold yellow")
    body = Group(head, _indent(question_lines(question)))
    return Card(question["id"], body, "", {}, act, line="Your answer: ")


def yes_card(name: str, body: RenderableType, ask: str, act: Callable[[str], Awaitable[None]]) -> Card:
    """A card before something of our own."""
    return Card(name, body, ask, {"y": "yes", "n": "no"}, act)
