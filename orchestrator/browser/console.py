"""What pages wrote to the console: errors, warnings and exceptions of every page, everything of the one in front."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

from orchestrator.browser.fields import Fields, child_of, number_of, objects_of, text_of

MAX_LINES = 50
_LOUD = frozenset({"error", "warning", "assert"})


@dataclass(frozen=True)
class ConsoleLine:
    """One."""

    level: str
    text: str
    at_s: float
    """By the browser's clock, in seconds since 1970."""


class ConsoleLog:
    """The last lines."""

    def __init__(self) -> None:
        self._lines: deque[ConsoleLine] = deque(maxlen=MAX_LINES)

    @property
    def lines(self) -> tuple[ConsoleLine, ...]:
        """The oldest first."""
        return tuple(self._lines)

    def clear(self) -> None:
        """Forget them."""
        self._lines.clear()

    def take_call(self, fields: Fields, *, is_in_front: bool) -> None:
        """A page called ``console``."""
        level = text_of(fields, "type", most=20)
        if level in _LOUD or is_in_front:
            said = " ".join(_said(one) for one in objects_of(fields, "args", most=6))
            self._add(level, said, fields)

    def take_exception(self, fields: Fields) -> None:
        """Nobody caught it."""
        details = child_of(fields, "exceptionDetails")
        self._add("exception", text_of(details, "exception", "description") or text_of(details, "text"), fields)

    def take_entry(self, fields: Fields) -> None:
        """The browser complains of something, such as a file that was not loaded."""
        entry = child_of(fields, "entry")
        level = text_of(entry, "level", most=20)
        if level in _LOUD:
            self._add(level, f"{text_of(entry, 'text')[:400]} {text_of(entry, 'url')[:200]}".strip(), entry)

    def add_note(self, text: str) -> None:
        """A word of ours."""
        self._lines.append(ConsoleLine("note", text, time.time()))

    def _add(self, level: str, said: str, fields: Fields) -> None:
        self._lines.append(ConsoleLine(level, said[:600], number_of(fields, "timestamp") / 1000))


def _said(argument: Fields) -> str:
    value = argument.get("value")
    if isinstance(value, (str, int, float, bool)):
        return str(value)[:300]
    return text_of(argument, "description", most=300) or text_of(argument, "type", most=20)
