"""A provider key in a box that does not print.

It owns the rule of what may be a key at all. The box never shows its content in ``repr``, ``str``, a traceback or a log
line; only ``reveal`` does, and only the place that writes the request header calls it.
"""

from __future__ import annotations

from typing import NoReturn

from orchestrator.core.errors import ConfigError

MAX_KEY = 4096


class Secret:
    """A key, or nothing (an empty one is false)."""

    __slots__ = ("_text",)

    def __init__(self, text: str, *, setting: str) -> None:
        stripped = text.strip()
        # A header with a line break in it would be refused further down with the key in the error text.
        if len(stripped) > MAX_KEY or not stripped.isascii() or not stripped.replace(" ", "\n").isprintable():
            raise ConfigError(f"{setting} is not a usable key: it holds a space or an odd character. Copy it again.")
        self._text = stripped

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return "Secret(hidden)" if self._text else "Secret(empty)"

    __str__ = __repr__

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written down")

    def reveal(self) -> str:
        """The key itself, for the request header."""
        return self._text
