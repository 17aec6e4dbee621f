"""Texts of bash, shortened for the parser: here-documents that run nothing by themselves are taken out.

Owns one cautious scan over the lines of a text. It takes a here-document out only while every line before it is so
simple that its quotes end on the same line; from the first line that is not, the text stays as it is. This spares the
parser long data, and data in which the grammar loses its way (a line that begins with a backslash).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from orchestrator.approvals.bash.words import unescape_heredoc

_SIMPLE = re.compile(
    r"""(?:[^'"\\`#<$]|\\.|'[^']*'|"(?:[^"\\`$]|\\.|\$\w)*"|\$\{\w+\}|\$(?![({'"])|<<<|<(?!<)|(?<=[^\s;&|()<>])\#)+"""
)
_OPENER = re.compile(
    r"""<<(?P<dash>-?)[ \t]*(?:'(?P<single>[^'\n]+)'|"(?P<double>[^"\\$`\n]+)"|(?P<bare>[A-Za-z_]\w*))"""
    r"(?=[\s;|&<>)]|$)"
)
_LIVE = re.compile(r"`|\$[(\[]|\$\{[^}]*[$({\[]|\$\{[^}]*\Z|\\\n")


@dataclass(frozen=True, slots=True)
class Outline:
    """A text without its here-documents."""

    text: str
    bodies: dict[str, str] = field(default_factory=dict)
    """What was taken out, as a command reads it, by the line that stands in its place."""


def outline_script(text: str) -> Outline:
    """The text as the parser shall see it."""
    if "<<" not in text:
        return Outline(text)
    lines = text.split("\n")
    kept: list[str] = []
    bodies: dict[str, str] = {}
    at = 0
    while at < len(lines):
        openers = _find_openers(lines[at])
        if openers is None:
            break
        kept.append(lines[at])
        at += 1
        for opener in openers:
            end = _find_end(lines, at, opener)
            if end is None:
                return Outline("\n".join(kept + lines[at:]), bodies)
            kept.extend(_shorten_body(lines[at:end], opener, bodies))
            kept.append(lines[end])
            at = end + 1
    return Outline("\n".join(kept + lines[at:]), bodies)


def _find_openers(line: str) -> list[re.Match[str]] | None:
    """The here-documents that the line announces, or None when the line is not simple enough to tell."""
    if "((" in line:
        return None  # there `<<` shifts
    found: list[re.Match[str]] = []
    at = 0
    while at < len(line) and line[at] != "#":
        match = _SIMPLE.match(line, at)
        if match is None:
            match = _OPENER.match(line, at)
            if match is None:
                return None
            found.append(match)
        at = match.end()
    return found


def _find_end(lines: list[str], at: int, opener: re.Match[str]) -> int | None:
    """Where the here-document that starts at line ``at`` ends, or None when it does not."""
    word = opener["single"] or opener["double"] or opener["bare"]
    for index in range(at, len(lines)):
        line = lines[index].lstrip("\t") if opener["dash"] else lines[index]
        if line == word:
            return index
    return None


def _shorten_body(body: list[str], opener: re.Match[str], bodies: dict[str, str]) -> list[str]:
    """The lines that stand for the body: itself, when the shell would work on it."""
    text = "\n".join(body) + "\n"
    if not body or (opener["bare"] and _LIVE.search(text)):
        return body
    if opener["bare"]:
        text = unescape_heredoc(text)
    key = f"here-document-{len(bodies)}"
    bodies[key] = text
    return [key]
