"""How much work it may be to lay out a text as Markdown, told before anything is laid out. Pure.

Time grows with the marks in a text, not with its words: a hundred thousand letters take milliseconds, as many brackets
a second, and a table whose first row is wide is filled up with cells in every other row.
"""

from __future__ import annotations

MOST_MARKS = 15_000
"""An answer of sixty thousand characters, most of it code, has half as many."""
MOST_CELLS = 15_000
_MARKS = "*_[]()<>`~|\\#&!\n"


def is_costly(text: str) -> bool:
    """Laying it out could take longer than a third of a second; it is better shown as it was written."""
    if sum(text.count(mark) for mark in _MARKS) > MOST_MARKS:
        return True
    if "|" not in text:
        return False
    lines = text.split("\n")
    return len(lines) * max(line.count("|") for line in lines) > MOST_CELLS
