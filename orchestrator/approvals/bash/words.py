"""Words of bash as the shell would see them after quote removal.

Owns how a written word becomes text: quotes, escapes, ``$'…'``, ``~`` and a joined line. What only a running shell
could know (variables, substitutions) becomes the mark ``UNKNOWN``. It knows nothing of grammar or of danger.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

UNKNOWN = "\0"
"""Stands in a word's text for a piece that only the running shell knows. A command never holds a NUL itself."""

HOME = "/app/workspace/work"
"""What ``~`` and ``$HOME`` are inside a cubicle."""


class UnreadableWord(Exception):
    """A word holds what cannot be in one word: it was not recognised for what it is, so what it runs cannot be seen."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command."""

    text: str
    """After quote removal, with ``UNKNOWN`` for every piece that cannot be known."""
    raw: str
    """As it was written, for people."""
    is_plain: bool = True
    """The shell makes exactly ``text`` of it: nothing unknown, no pattern and no ``{a,b}`` outside quotes."""


_SPECIAL = re.compile(r"""[\\'"$`*?\[{~\0 \t\n;&|()<>]""")
_PIECE = re.compile(
    r"""\\(?P<escaped>.)|'(?P<raw>[^']*)'|\$'(?P<ansi>(?:\\.|[^'\\])*)'|\$?"(?P<double>(?:\\.|[^"\\])*)"|(?P<bare>(?:[^\\'"$]|\$(?!['"]))+|.)""",
    re.DOTALL,
)
_MADE_BY_SHELL = re.compile(r"[*?\[]|\{[^{}]*(?:,|\.\.)")
_ENDS_WORD = re.compile(r"[ \t\n;&|()<>]")
_LIVE = re.compile(r"`|\$(?=[({])")
_DOUBLE_ESCAPE = re.compile(r"\\([$`\"\\\n])")
_HEREDOC_ESCAPE = re.compile(r"\\([$`\\\n])")
# what the grammar may leave unseen in a here-document, and what runs nothing
_VARIABLE = re.compile(r"(?<!\\)((?:\\\\)*)\$(?:\w+|\{[^`$(){}]*\}|[!?@*#$-])")
_ANSI = re.compile(
    r"\\(?:x(?P<hex>[0-9a-fA-F]{1,2})|u(?P<u4>[0-9a-fA-F]{1,4})|U(?P<u8>[0-9a-fA-F]{1,8})|(?P<octal>[0-7]{1,3})"
    r"|c(?P<control>.)|(?P<char>.))",
    re.DOTALL,
)
_ANSI_CHARS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}


def literal_word(text: str) -> Word:
    """A word that is exactly this text."""
    return Word(text, text, UNKNOWN not in text)


def unquote_word(raw: str, masked: str) -> Word:
    """The word written as ``raw``; ``masked`` is the same with ``UNKNOWN`` in place of every substitution.

    Raises :class:`UnreadableWord` when ``masked`` still holds a substitution, or unquoted what ends a word.
    """
    if not _SPECIAL.search(masked):
        return Word(masked, raw)
    texts: list[str] = []
    shape: list[str] = []  # what stands outside quotes, quoted pieces as `q`: patterns and braces count only there
    for piece in _PIECE.finditer(masked):
        text, outside = _read_piece(piece)
        texts.append(text)
        shape.append(outside)
    outline = "".join(shape)
    text = "".join(texts)
    if outline == "~" or outline.startswith("~/"):
        text = HOME + text[1:]
    return Word(text, raw, UNKNOWN not in text and not _MADE_BY_SHELL.search(outline))


def unescape_heredoc(masked: str) -> str:
    """The text of a here-document whose delimiter was not quoted; raises :class:`UnreadableWord` like
    ``unquote_word``.
    """
    return _unescape_body(_VARIABLE.sub(lambda match: match[1] + UNKNOWN, masked), _HEREDOC_ESCAPE)


def _unescape_body(body: str, escape: re.Pattern[str]) -> str:
    if _LIVE.search(escape.sub("", body)):
        raise UnreadableWord
    return escape.sub(lambda match: "" if match[1] == "\n" else match[1], body)


def _read_piece(piece: re.Match[str]) -> tuple[str, str]:
    kind, body = piece.lastgroup, piece[piece.lastindex or 0]
    if kind == "bare":
        if _LIVE.search(body) or _ENDS_WORD.search(body):
            raise UnreadableWord
        return body, body
    if kind == "escaped":
        return ("", "") if body == "\n" else (body, "q")
    if kind == "ansi":
        return _decode_ansi(body), "q"
    if kind == "double":
        return _unescape_body(body, _DOUBLE_ESCAPE), "q"
    return body, "q"


def _decode_ansi(body: str) -> str:
    """``$'…'`` decoded; bash ends such a string at an embedded NUL."""
    return _ANSI.sub(_ansi_char, body).partition("\0")[0]


def _ansi_char(match: re.Match[str]) -> str:
    for group, base in (("hex", 16), ("u4", 16), ("u8", 16), ("octal", 8)):
        if match[group] is not None:
            code = int(match[group], base)
            return chr(code) if code <= 0x10FFFF else "\ufffd"
    if match["control"] is not None:
        return chr(ord(match["control"]) & 0x1F)
    char = match["char"]
    if char in _ANSI_CHARS:
        return _ANSI_CHARS[char]
    return char if char in "\\'\"?" else "\\" + char
