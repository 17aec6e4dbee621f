"""What differs between two contents, to be read: lines of text that went and that came. Pure."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal

MAX_BYTES = 64 * 1024
"""Of each content, to be compared line by line."""
_CONTEXT = 3
_MOST_COMPARED = 400_000
"""Lines of one content times lines of the other, where they differ: beyond it everything there has changed."""

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
    went, came = before[start : len(before) - end], after[start : len(after) - end]
    if len(went) * len(came) > _MOST_COMPARED:
        head = before[max(0, start - _CONTEXT) : start]
        tail = before[len(before) - end :][:_CONTEXT]
        return (
            DiffLine("@", _place(start, len(went), start, len(came))),
            *(DiffLine(" ", line) for line in head),
            *(DiffLine("-", line) for line in went),
            *(DiffLine("+", line) for line in came),
            *(DiffLine(" ", line) for line in tail),
        )
    return _compare_lines(before, after)


def _compare_lines(before: list[str], after: list[str]) -> tuple[DiffLine, ...]:
    found: list[DiffLine] = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        (_, old_start, _, new_start, _), (_, _, old_end, _, new_end) = group[0], group[-1]
        found.append(DiffLine("@", _place(old_start, old_end - old_start, new_start, new_end - new_start)))
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
        return content.decode("utf-8").split("\n")[: None if not content.endswith(b"\n") else -1]
    except UnicodeDecodeError:
        return None
