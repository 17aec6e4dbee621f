"""The text of a page as it is shown: a piece of it, the lines that hold some words, or only what changed. Pure, and
linear in the length of what a page wrote."""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass

from orchestrator.core.text import chat_safe

MAX_SHOWN = 20_000
"""Characters."""
_MAX_FOUND = 100
_FOUND_LINE = 400
_MAX_COMPARED = 400
"""Lines; comparing in order takes their square."""
_MOSTLY_NEW = 0.6


@dataclass(frozen=True)
class ShownText:
    """A piece of a page's text."""

    text: str
    total_chars: int
    next_from: int | None
    """Where the rest begins, in characters; None where nothing is left."""


def cut(text: str, start: int = 0, most: int = MAX_SHOWN) -> ShownText:
    """The text from character ``start`` on, up to ``most`` characters and the end of a line, without anything
    hidden."""
    start = min(max(0, start), len(text))
    end = start + most
    if end < len(text):
        line_end = text.rfind("\n", start, end)
        end = line_end + 1 if line_end > start + most // 2 else end
    else:
        end = len(text)
    return ShownText(chat_safe(text[start:end].rstrip("\n")), len(text), end if end < len(text) else None)


def find_lines(text: str, words: str) -> ShownText:
    """The lines that hold these words in any case, each behind the character at which it begins (for ``from``)."""
    wanted = words.casefold()
    found: list[str] = []
    at = matches = 0
    for line in text.split("\n"):
        if wanted in line.casefold():
            matches += 1
            if len(found) < _MAX_FOUND:
                found.append(f"{at}: {_around(line.strip(), wanted)}")
        at += len(line) + 1
    if matches > len(found):
        found.append(f"… and {matches - len(found)} more lines")
    shown = cut("\n".join(found))
    return ShownText(shown.text, len(text), None)


def _around(line: str, wanted: str) -> str:
    if len(line) <= _FOUND_LINE:
        return line
    start = max(0, line.casefold().find(wanted) - _FOUND_LINE // 2)
    return f"{'…' if start else ''}{line[start : start + _FOUND_LINE]}…"


def changed_lines(before: str, after: str) -> str | None:
    """Lines that went (``- ``) and came (``+ ``), in the order of the page; ``""`` where nothing did, and None where so
    much changed that the whole page is the shorter answer."""
    if before == after:
        return ""
    old, new = _differing(before.split("\n"), after.split("\n"))
    is_short = max(len(old), len(new)) <= _MAX_COMPARED
    changes = _in_order(old, new) if is_short else _by_count(old, new)
    text = "\n".join(changes)
    return None if len(text) > _MOSTLY_NEW * len(after) and len(text) > 500 else text


def _differing(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    """Without what both begin and end with."""
    shorter = min(len(old), len(new))
    head = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    rest = shorter - head
    tail = next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)
    return old[head : len(old) - tail], new[head : len(new) - tail]


def _in_order(old: list[str], new: list[str]) -> list[str]:
    changes: list[str] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            changes += [f"- {line.strip()}" for line in old[a:b]] + [f"+ {line.strip()}" for line in new[c:d]]
    return changes


def _by_count(old: list[str], new: list[str]) -> list[str]:
    gone, came = Counter(old) - Counter(new), Counter(new) - Counter(old)
    return [f"- {line.strip()}" for line in _taken(old, gone)] + [f"+ {line.strip()}" for line in _taken(new, came)]


def _taken(lines: list[str], counts: Counter[str]) -> list[str]:
    taken = []
    for line in lines:
        if counts[line] > 0:
            counts[line] -= 1
            taken.append(line)
    return taken
