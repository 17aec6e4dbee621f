"""``dashboard.books``: what is said of what a page does not show of a spreadsheet."""

from __future__ import annotations

import pytest

from dashboard.books import view_beginning, view_book
from orchestrator.apps.sheets import Sheet

ROWS = (("a", "1"), ("b", "2"), ("c", "3"))


@pytest.mark.parametrize(
    ("sheet", "rest"),
    [
        (Sheet("A", ROWS, 3, 2, is_whole=True), ""),
        (Sheet("A", ROWS, 4, 2, is_whole=True), "and 1 more row"),
        (Sheet("A", ROWS, 1_207, 2, is_whole=True), "and 1,204 more rows"),
        (Sheet("A", ROWS, 1_207, 3, is_whole=True), "and 1,204 more rows and 1 more column"),
        (Sheet("A", ROWS, 3, 2, is_whole=False), "and more that was not read"),
    ],
)
def test_what_is_left_out_is_counted(sheet: Sheet, rest: str) -> None:
    """Rows and columns, and what nobody counted."""
    (view,) = view_book((sheet,))
    assert (view.rest, view.table is not None) == (rest, True)


def test_a_conversation_shows_the_first_sheet_with_anything() -> None:
    """A name that is none is a word of ours."""
    empty, full = Sheet("\u202e", (), 0, 0, is_whole=True), Sheet("B", ROWS, 3, 2, is_whole=True)
    shown = view_beginning((empty, full), 2)
    assert (shown.name, shown.rest) == ("B", "and 1 more row")
    assert view_beginning((empty,), 2).table is None
    assert "\u202e" not in view_book((empty,))[0].name
