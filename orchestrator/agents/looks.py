"""How an agent is called and looks, as a person chose it: its display name, its sign and its colour. Pure.

The agent's name, which folders, containers and addresses are called by, stays as it is.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from typing import Any

from orchestrator.core.errors import BadInput
from orchestrator.core.models import Agent
from orchestrator.core.text import chat_safe

MAX_DISPLAY_CHARS = 40
SIGNS = (
    "shell",
    "crab",
    "fish",
    "whale",
    "octopus",
    "turtle",
    "starfish",
    "anchor",
    "lighthouse",
    "compass",
    "owl",
    "pencil",
    "book",
    "code",
    "chart",
    "house",
)
"""What is drawn; the first is the one of an agent that has none."""
COLORS = ("lagoon", "coral", "ocean", "violet", "moss", "plum", "amber", "slate")
"""The colours; each is a class of the stylesheet."""
_BY_NAME = 6
"""An agent without a colour has one of the first six, by its name."""

_SYMBOL = "[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]"
_DRESSED = f"{_SYMBOL}\ufe0f?[\U0001f3fb-\U0001f3ff]?"
_EMOJI = re.compile(
    f"(?:[\U0001f1e6-\U0001f1ff]{{2}}|[0-9#*]\ufe0f?\u20e3|{_DRESSED}(?:\u200d{_DRESSED}){{0,4}}|\U0001f3f4[\U000e0061-\U000e007f]{{2,7}})"
)
"""One of them, with a colour of skin, as a family or as a flag."""


@dataclass(frozen=True, slots=True)
class Look:
    """An agent's sign and colour."""

    sign: str
    """One of SIGNS; empty where there is an emoji."""
    emoji: str
    color: str


def look_of(name: str, avatar: str = "", color: str = "") -> Look:
    """How an agent of this name looks."""
    chosen = color if color in COLORS else COLORS[zlib.crc32(name.encode()) % _BY_NAME]
    is_emoji = bool(avatar) and avatar not in SIGNS
    return Look("" if is_emoji else avatar or SIGNS[0], avatar if is_emoji else "", chosen)


def shown_name(agent: Agent) -> str:
    """What people call it."""
    return agent.display_name or agent.name


def parse_display_name(field: str, value: Any) -> str:
    """A name in any script, on one line; empty for the agent's own. Raises BadInput."""
    if not isinstance(value, str):
        raise BadInput(f"{field}: write a text of at most {MAX_DISPLAY_CHARS} characters.")
    name = " ".join(value.split())
    if len(name) > MAX_DISPLAY_CHARS:
        raise BadInput(f"{field}: use at most {MAX_DISPLAY_CHARS} characters.")
    if chat_safe(name) != name or (name and not any(char.isalnum() for char in name)):
        raise BadInput(f"{field}: use letters or digits, and no invisible or control characters.")
    return name


def parse_avatar(field: str, value: Any) -> str:
    """A sign by its name, or one emoji; empty for the usual one. Raises BadInput."""
    if isinstance(value, str):
        avatar = value.strip()
        if not avatar or avatar in SIGNS or _EMOJI.fullmatch(avatar):
            return "" if avatar == SIGNS[0] else avatar
    raise BadInput(f"{field}: choose one of {', '.join(SIGNS)}, or write one emoji.")


def parse_color(field: str, value: Any) -> str:
    """A colour by its name; empty for the one that goes with the agent's name. Raises BadInput."""
    if value != "" and value not in COLORS:
        raise BadInput(f"{field}: choose one of {', '.join(COLORS)}, or leave it empty.")
    return str(value)
