"""Markdown as these products write it: facts out of notes, who the agent is, what a skill is about. Text alone comes
out of it; nothing in it is ever rendered or carried out. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST_FACT_CHARS = 1_900
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FRONT = re.compile(r"\A---\n(.{0,20000}?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t#]*$")
_ITEM = re.compile(r"[ \t]{0,3}(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(.*)$")
_CHECKBOX_OPEN = re.compile(r"[ \t]{0,3}[-*+][ \t]+\[ \]")
_FIELD = re.compile(r"[ \t]*[-*+]?[ \t]*\*\*([^*\n]{1,40}?):?\*\*:?[ \t]*(.*)$")
_BOLD = re.compile(r"\*\*([^*\n]{1,200})\*\*")
_FRONT_LINE = re.compile(r"([A-Za-z][\w-]{0,40}):[ \t]*(.*)$")
_BLANK_FIELD = re.compile(r"\*\*[^*\n]{1,60}:?\*\*:?[ \t]*$")
_PLACEHOLDER = re.compile(r"^[_*]{0,2}\(.*\)[_*]{0,2}$|^[_*]{1,2}[^_*]+[_*]{1,2}$|^[-*_]{3,}$")
"""What a template asks to be filled in, and rules between parts."""


_TEMPLATES = (
    "This file stores important information that should persist",
    "Information about the user to help personalize",
    "What agents know about the person",
)
"""Sentences that stand in every new file."""


@dataclass(frozen=True, slots=True)
class Skill:
    """What the head of a SKILL.md says."""

    name: str
    description: str


def split_facts(text: str) -> list[str]:
    """Each point of a list and each paragraph as one fact, under its heading; what a template left to be filled in is
    none."""
    return list(dict.fromkeys(fact for block in _blocks(without_front(text)) for fact in _cut(block)))


def split_entries(text: str) -> list[str]:
    """Entries with a section sign on a line of its own between them."""
    entries = (entry.strip() for entry in re.split(r"\n[ \t]*§[ \t]*(?:\n|\Z)", text))
    return list(dict.fromkeys(fact for entry in entries if entry and entry != "§" for fact in _cut(entry)))


def read_fields(text: str) -> dict[str, str]:
    """``- **Name:** Juno`` by lower-case name; the value may stand on the next line. What was not filled in is not
    there."""
    found: dict[str, str] = {}
    lines = without_front(text).split("\n")
    for number, line in enumerate(lines):
        match = _FIELD.match(line)
        if match is None:
            continue
        following = lines[number + 1].strip() if number + 1 < len(lines) else ""
        value = match[2].strip() or ("" if _FIELD.match(following) or _ITEM.match(following) else following)
        if value and not _PLACEHOLDER.match(value) and not value.startswith("#"):
            found.setdefault(match[1].strip().lower(), value.strip("`*_ "))
    return found


def read_skill(text: str, fallback: str) -> Skill:
    """The name and the description from the front matter: plain ``key: value`` lines, folded or not; no YAML."""
    front = _FRONT.match(text)
    found: dict[str, str] = {}
    key = ""
    for line in front[1].split("\n") if front else ():
        match = _FRONT_LINE.match(line)
        if match:
            key = match[1].lower()
            found[key] = "" if match[2].strip() in (">", "|", ">-", "|-") else match[2].strip().strip("\"'")
        elif key and line[:1] in (" ", "\t"):
            found[key] = f"{found[key]} {line.strip()}".strip()
    return Skill(
        " ".join((found.get("name") or fallback).split())[:60], " ".join(found.get("description", "").split())[:300]
    )


def without_front(text: str) -> str:
    """Without front matter and comments."""
    return _COMMENT.sub("", _FRONT.sub("", text, count=1))


def cut_text(text: str, most: int) -> str:
    """The beginning, up to a paragraph, a line or a word."""
    if len(text) <= most:
        return text
    head = text[:most]
    for mark in ("\n\n", "\n", " "):
        at = head.rfind(mark)
        if at > most // 2:
            return head[:at].rstrip()
    return head


def _blocks(text: str) -> Iterator[str]:
    heading, lines = "", list[str]()

    def taken() -> Iterator[str]:
        words = "\n".join(lines).strip()
        lines.clear()
        if words and not _is_unfilled(words):
            words = _BOLD.sub(r"\1", words)
            yield f"{heading}: {words}" if heading else words

    is_code = False
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        if is_code:
            lines.append(line)
            continue
        if match := _HEADING.match(line):
            yield from taken()
            heading = "" if len(match[1]) == 1 else match[2].strip()
        elif not line.strip() or _is_of_template(line.strip()):
            yield from taken()
        elif match := _ITEM.match(line):
            yield from taken()
            if not _CHECKBOX_OPEN.match(line):
                lines.append(match[1])
        else:
            lines.append(line.strip() if line.startswith((" ", "\t")) else line)
    yield from taken()


def _is_of_template(line: str) -> bool:
    return _PLACEHOLDER.match(line) is not None or line.startswith(_TEMPLATES)


def _is_unfilled(words: str) -> bool:
    return _PLACEHOLDER.match(words) is not None or _BLANK_FIELD.match(words) is not None or _is_blank_field(words)


def _is_blank_field(words: str) -> bool:
    match = _FIELD.match(words)
    return (
        match is not None and "\n" not in words and (not match[2].strip() or bool(_PLACEHOLDER.match(match[2].strip())))
    )


def _cut(text: str) -> Iterator[str]:
    rest = text.strip()
    while len(rest) > MOST_FACT_CHARS:
        piece = cut_text(rest, MOST_FACT_CHARS)
        yield piece
        rest = rest[len(piece) :].strip()
    if rest:
        yield rest
