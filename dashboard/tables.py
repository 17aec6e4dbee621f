"""Tables of texts that an agent wrote, as pages show them: bounded, and each cell with what hides in it written out.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.core.text import escape_invisible, one_line

MOST_COLUMNS = 40
_MOST_CELL_CHARS = 300


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text, each as wide as the widest."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    is_cut: bool
    """There is more, to the right or beneath."""
    numbers: frozenset[int]
    """Columns in which there are numbers alone."""


def make_table(rows: Sequence[Sequence[str]], *, is_cut: bool = False) -> Table:
    """These rows, at least one, with the first as the head; each cell on one line or with what hides in it written
    out."""
    width = min(MOST_COLUMNS, max(map(len, rows)))
    head, *body = (tuple(_cell(cell) for cell in (*row, *[""] * width)[:width]) for row in rows)
    numbers = {n for n in range(width) if body and all(_is_number(row[n]) for row in body)}
    return Table(head, tuple(body), is_cut, frozenset(numbers))


def _cell(text: str) -> str:
    is_one_line = "\n" not in text and "\r" not in text
    return escape_invisible(text[:_MOST_CELL_CHARS]) if is_one_line else one_line(text, _MOST_CELL_CHARS)


def _is_number(cell: str) -> bool:
    """Digits with what stands among them; an empty cell may be one of them."""
    return re.fullmatch(r"\s*[-+]?[\d.,'\s]*%?\s*", cell) is not None
