"""Colours, for terminals alone: a pipe, a file and whoever set NO_COLOR get plain text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Literal

Style = Literal["bold", "faint", "red", "green", "yellow", "blue"]
_CODES: dict[Style, str] = {"bold": "1", "faint": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34"}


@dataclass(frozen=True, slots=True)
class Paint:
    """What styles text for one stream, or leaves it as it is."""

    is_on: bool

    def __call__(self, text: str, *styles: Style) -> str:
        """The text in these styles. What is painted must be safe for a terminal already."""
        if not self.is_on or not styles or not text:
            return text
        return f"\033[{';'.join(_CODES[style] for style in styles)}m{text}\033[0m"

    def state(self, text: str) -> str:
        """A word that says how something is, in the colour that people know for it."""
        word = text.strip()
        styles: dict[str, Style] = {"ok": "green", "running": "green", "active": "green", "warn": "yellow"}
        styles |= {"fail": "red", "unavailable": "red", "idle": "faint", "stopped": "faint", "asleep": "faint"}
        return self(text, styles[word]) if word in styles else text


def paint_for(stream: IO[str], environment: Mapping[str, str]) -> Paint:
    """In colours where the stream is a terminal that has them. NO_COLOR, set to anything, switches them off;
    FORCE_COLOR switches them on elsewhere, too."""
    if environment.get("NO_COLOR"):
        return Paint(is_on=False)
    if environment.get("FORCE_COLOR", "0") != "0":
        return Paint(is_on=True)
    return Paint(is_on=stream.isatty() and environment.get("TERM") != "dumb")
