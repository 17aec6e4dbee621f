"""Making text safe to look at: nothing that somebody wrote may hide, reorder or control what a person sees."""

from __future__ import annotations

import re
import unicodedata

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Unicode categories that draw nothing of their own or change how their neighbours are drawn."""
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {chr(c) for c in range(0xFE00, 0xFE10)}
"""Letters and marks that draw nothing, whatever their category says."""
_MARKS = {"Mn", "Me"}
_FEW_MARKS = 2
"""Marks that a letter of some scripts may carry; a pile of them hides its neighbours."""

_JOINERS = frozenset("\u200c\u200d")
"""They draw nothing, but Persian words and emoji families fall apart without them."""
_BRAILLE_BLANK = "\u2800"
_MANY_MARKS = 4
_FLAG = re.compile("(\U0001f3f4[\U000e0020-\U000e007e]{1,16}\U000e007f)")
"""The flags of England, Scotland and Wales are spelled in characters that draw nothing of their own."""

_DOUBLES = re.compile(
    r"^(?:CYRILLIC|GREEK|ARMENIAN|CHEROKEE|COPTIC|LISU|MATHEMATICAL|FULLWIDTH|HALFWIDTH|MODIFIER|ROMAN|SMALL|CIRCLED"
    r"|LATIN (?:SMALL |CAPITAL )?LETTER (?:SMALL|DOTLESS|TURNED|REVERSED|ALPHA|IOTA|SCRIPT|OPEN|INSULAR))"
    r"|SLASH|SOLIDUS|COLON|RATIO|ASTERISK|TILDE|PRIME|QUOTATION|VERTICAL (?:BAR|LINE)|FULL STOP|LEADER|SEMICOLON"
)
"""In the names of characters that are drawn like an ASCII one."""
_INNER_QUOTES = str.maketrans("“”", "‘’")
_BREAKS = re.compile(r"\n(?:[ \t]*\n){3,}")
_SPACES = re.compile(r"[ \t]{40,}|[ \t]+(?=\n|\Z)")


def escape_invisible(text: str) -> str:
    """The text with every invisible, reordering or control character written out, e.g. ``\\u202e``; newline and tab
    stay, but what could push something out of sight is counted instead: ``[100 line breaks]``.

    For approval texts: spaces that are not a plain space are written out too, so that what is read is what runs.
    """
    shown = _BREAKS.sub(lambda found: f"\n[{found[0].count(chr(10)):,} line breaks]\n", _spelled_out(text))
    return _SPACES.sub(lambda found: f"[{len(found[0]):,} spaces]", shown)


def _spelled_out(text: str) -> str:
    shown, marks = [], _FEW_MARKS
    for char in text:
        is_mark = unicodedata.category(char) in _MARKS
        if is_mark:
            marks += 1
        else:  # a mark over an ASCII character makes another one of it
            marks = 0 if unicodedata.category(char)[0] == "L" and not char.isascii() else _FEW_MARKS
        is_readable = char in "\n\t" or (_is_plain(char) and not (is_mark and marks > _FEW_MARKS))
        shown.append(char if is_readable else _written_out(char))
    return "".join(shown)


def one_line(text: str, limit: int = 200) -> str:
    """The text on one line for a log or a list: newlines and tabs written out too, cut at ``limit`` characters."""
    shown = "".join(char if _is_plain(char) else _written_out(char) for char in text[: limit + 1])
    return shown if len(text) <= limit else shown[:limit] + "…"


def in_quotes(text: str, limit: int = 200) -> str:
    """Words of somebody else within a sentence of ours, on one line between “ and ”, neither of which is in them: where
    they begin and end can't be mistaken."""
    return f"“{one_line(text, limit).translate(_INNER_QUOTES)}”"


def terminal_safe(text: str) -> str:
    """The text for a terminal: newlines and tabs stay, everything that could move the cursor is written out."""
    return "".join(char if char in "\n\t" or not _is_control(char) else _written_out(char) for char in text)


def chat_safe(text: str) -> str:
    """The text for a chat: newlines and tabs stay, emoji and every script stay whole, and what hides, reorders or
    controls is written out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(part if n % 2 else _chat_safe(part) for n, part in enumerate(_FLAG.split(text)))


def _chat_safe(text: str) -> str:
    shown, marks = [], 0
    for char in text:
        if " " <= char <= "~" or char in "\n\t":
            marks = 0
            shown.append(char)
            continue
        category = unicodedata.category(char)
        marks = marks + 1 if category in _MARKS else 0
        is_unseen = category == "Cf" and char not in _JOINERS
        is_blank = char in _BLANK and not "\ufe00" <= char <= "\ufe0f" and char != _BRAILLE_BLANK
        is_bad = is_unseen or is_blank or marks > _MANY_MARKS or category in ("Cc", "Cs", "Zl", "Zp")
        shown.append(_written_out(char) if is_bad else char)
    return "".join(shown)


def look_alikes(text: str, most: int = 8) -> list[str]:
    """Characters of the text that can be taken for others, each with its name: a Cyrillic letter for a Latin one, a
    dash for a hyphen. ``most`` of them, then how many there are beyond."""
    odd = sorted({char for char in text if _is_look_alike(char)})
    named = [f"{char} ({unicodedata.name(char, 'unnamed').lower()})" for char in odd[:most]]
    return [*named, *([f"and {len(odd) - most} more"] if len(odd) > most else [])]


def _is_look_alike(char: str) -> bool:
    if char.isascii() or unicodedata.category(char)[0] not in "LNPS":
        return False
    return unicodedata.category(char) in ("Pd", "Pi", "Pf") or _DOUBLES.search(unicodedata.name(char, "")) is not None


def is_unicode(text: str) -> bool:
    """No half of a character (a lone surrogate) is in it, so that it can be sent and kept."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def _is_plain(char: str) -> bool:
    if " " <= char <= "~":
        return True
    category = unicodedata.category(char)
    return category not in _HIDDEN and category != "Zs" and char not in _BLANK


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
