"""What differs between two contents, to be read: lines of text that went and that came. Pure."""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass
from typing import Literal

MAX_BYTES = 64 * 1024
"""Of each content, to be compared line by line."""
_CONTEXT = 3
_MOST_COMPARED = 10_000_000
"""Steps that a comparison may take, at worst; beyond it everything between the first and the last difference has
changed."""

Sign = Literal[" ", "-", "+", "@"]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line that stayed, went or came, or the place (``@``) where the next few stand."""

    sign: Sign
    text: str


def compare_texts(old: bytes, new: bytes) -> tuple[DiffLine, ...] | None:
    """The lines that differ with a few around them; None where one of the two is no text or too long."""
    if max(len(old), len(new)) > MAX_BYTES:
        return None
    before, after = _read_lines(old), _read_lines(new)
    if before is None or after is None:
        return None
    start = _count_alike(before, after)
    end = _count_alike(before[start:][::-1], after[start:][::-1])
    head = before[max(0, start - _CONTEXT) : start]
    tail = before[len(before) - end :][:_CONTEXT]
    went, came = before[start : len(before) - end], after[start : len(after) - end]
    offset = start - len(head)
    if not went and not came:
        return ()
    if _is_costly(went, came):
        changed = (*(DiffLine("-", line) for line in went), *(DiffLine("+", line) for line in came))
        around = len(head) + len(tail)
        place = _place(offset, len(went) + around, offset, len(came) + around)
        above, below = (tuple(DiffLine(" ", line) for line in lines) for lines in (head, tail))
        return (DiffLine("@", place), *above, *changed, *below)
    return _compare_lines([*head, *went, *tail], [*head, *came, *tail], offset)


def _is_costly(went: list[str], came: list[str]) -> bool:
    """To compare them would take long: a line that is there again and again is compared with each of its like."""
    there = Counter(came)
    alike = sum(count * there[line] for line, count in Counter(went).items())
    return alike * min(len(went), len(came)) > _MOST_COMPARED


def _compare_lines(before: list[str], after: list[str], offset: int) -> tuple[DiffLine, ...]:
    found: list[DiffLine] = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        (_, old_start, _, new_start, _), (_, _, old_end, _, new_end) = group[0], group[-1]
        place = _place(offset + old_start, old_end - old_start, offset + new_start, new_end - new_start)
        found.append(DiffLine("@", place))
        for tag, old_from, old_to, new_from, new_to in group:
            if tag == "equal":
                found += [DiffLine(" ", line) for line in before[old_from:old_to]]
                continue
            found += [DiffLine("-", line) for line in before[old_from:old_to]]
            found += [DiffLine("+", line) for line in after[new_from:new_to]]
    return tuple(found)


def _place(old: int, old_count: int, new: int, new_count: int) -> str:
    """As unified diffs say it."""
    return f"@@ -{old + 1 if old_count else old},{old_count} +{new + 1 if new_count else new},{new_count} @@"


def _count_alike(one: list[str], other: list[str]) -> int:
    """How many lines the two begin with alike."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _read_lines(content: bytes) -> list[str] | None:
    if b"\0" in content:
        return None
    try:
        lines = content.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return None
    return lines if lines[-1] else lines[:-1]
