"""Spreadsheets as pages show them: each sheet as a table of texts, and a word about what is not shown of it."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.languages import number, say, say_many
from dashboard.tables import Table, make_table
from orchestrator.apps.sheets import Book, Sheet
from orchestrator.core.text import one_line

_NAME_CHARS = 60


@dataclass(frozen=True, slots=True)
class SheetView:
    """One sheet."""

    name: str
    table: Table | None
    """None for an empty one."""
    rest: str
    """What is not shown; empty where that is nothing."""


def view_book(book: Book) -> list[SheetView]:
    """Every sheet, as much of it as was read."""
    return [_view(sheet, len(sheet.rows)) for sheet in book]


def view_beginning(book: Book, most_rows: int) -> SheetView:
    """The first rows of the first sheet that has any."""
    return _view(next((sheet for sheet in book if sheet.rows), book[0]), most_rows)


def _view(sheet: Sheet, most_rows: int) -> SheetView:
    rows = sheet.rows[:most_rows]
    table = make_table([list(row) for row in rows]) if rows and rows[0] else None
    name = one_line(sheet.name, _NAME_CHARS) or say("Sheet")
    return SheetView(name, table, _rest(sheet.height - len(rows), sheet.more_columns, is_whole=sheet.is_whole))


def _rest(rows: int, columns: int, *, is_whole: bool) -> str:
    more = [say_many("%(count)s more row", "%(count)s more rows", rows, count=number(rows))] if rows > 0 else []
    if columns > 0:
        more.append(say_many("%(count)s more column", "%(count)s more columns", columns, count=number(columns)))
    if not is_whole:
        more.append(say("more that was not read"))
    return say("and %(more)s", more=f" {say('and')} ".join(more)) if more else ""
