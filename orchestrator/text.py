"""Making text safe to look at: nothing that somebody wrote may hide, reorder or control what a person sees."""

from __future__ import annotations

import unicodedata

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Unicode categories that draw nothing of their own or change how their neighbours are drawn."""


def visible(text: str) -> str:
    """The text with every invisible, reordering or control character written out, e.g. ``\\u202e``; newline and tab
    stay.

    For approval texts: spaces that are not a plain space are written out too, so that what is read is what runs.
    """
    return "".join(char if char in "\n\t" or _is_plain(char) else _written_out(char) for char in text)


def one_line(text: str, limit: int = 200) -> str:
    """The text on one line for a log or a list: newlines and tabs written out too, cut at ``limit`` characters."""
    shown = "".join(char if _is_plain(char) else _written_out(char) for char in text[: limit + 1])
    return shown if len(text) <= limit else shown[:limit] + "…"


def terminal_safe(text: str) -> str:
    """The text for a terminal: newlines and tabs stay, everything that could move the cursor is written out."""
    return "".join(char if char in "\n\t" or not _is_control(char) else _written_out(char) for char in text)


def _is_plain(char: str) -> bool:
    if " " <= char <= "~":
        return True
    category = unicodedata.category(char)
    return category not in _HIDDEN and category != "Zs"


def _is_control(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") or (
        unicodedata.category(char) == "Cf" and unicodedata.bidirectional(char) != "BN"
    )


def _written_out(char: str) -> str:
    code = ord(char)
    if char in "\n\t\r":
        return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}[char]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
