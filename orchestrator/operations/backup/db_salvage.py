"""What can still be read of a damaged database, row by row, into a fresh one.

Each table is read from both ends up to the damage, and by halves in between. What the fresh database would not take
(another type, a row twice) and what would point nowhere is left out and counted. Numbers that were given out are not
given out again. It never writes to the damaged file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from orchestrator.approvals.source_rows import repair_marks
from orchestrator.core.db import copies
from orchestrator.core.db.migrations import migrations
from orchestrator.core.errors import Unavailable
from orchestrator.turns.conversation_rows import repair_conversations

_NEEDED = ("agents", "users")
_INDEXES = {"fact_words": ("text", "scope")}
"""A full-text table that is filled by hand; the others follow from their triggers, or from the table itself."""

_MOST_TRIES = 200_000
"""So many looks into what is left of a table; a damaged page may claim any number of rows."""

Row = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Salvaged:
    """How many rows there are again, and how many of which table are not: as many at most, or None for who knows."""

    rows: int
    lost: dict[str, int | None]


def salvage_database(damaged: Path, fresh: Path) -> Salvaged:
    """All that can be had of the damaged database is in ``fresh``, which is empty and of the current shape.

    Raises Unavailable when that is too little to go on with, or it is another version's, and sqlite3.Error when
    ``fresh`` can't be written.
    """
    with (
        closing(sqlite3.connect(f"file:{quote(str(damaged))}?mode=ro", uri=True)) as source,
        closing(sqlite3.connect(fresh, isolation_level=None)) as target,
    ):
        source.text_factory = lambda raw: raw.decode("utf-8", "replace")
        _check_version(source)
        target.execute("PRAGMA foreign_keys=OFF")
        target.execute("BEGIN IMMEDIATE")
        counts = {table: _Table(source, target, table).copied() for table in _tables(target)}
        for table, columns in _INDEXES.items():
            _Table(source, target, table, columns).copied()
        _keep_numbers(source, target, {table: count.highest for table, count in counts.items()})
        dangling = _drop_dangling(target)
        repair_conversations(target)
        repair_marks(target)
        target.execute("INSERT INTO audit_fts (audit_fts) VALUES ('rebuild')")
        target.execute("COMMIT")
        for table in _NEEDED:
            if target.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] == 0:  # noqa: S608 - constants
                raise Unavailable("Too little of the database can be read to go on with it.")
        if target.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise Unavailable("What was saved of the database is damaged. Check the disk.")
        lost: dict[str, int | None] = {}
        for table, count in counts.items():
            gone = None if count.lost is None else count.lost + dangling.get(table, 0)
            if gone != 0:
                lost[table] = gone
        return Salvaged(sum(count.rows for count in counts.values()) - sum(dangling.values()), lost)


def _check_version(source: sqlite3.Connection) -> None:
    """What can't be read is taken for ours: the tables tell."""
    done: list[str] = []
    with suppress(sqlite3.Error):
        done = migrations.list_applied(source)
    copies.raise_if_newer(done, migrations)
    if done and len(done) < len(migrations.list_names()):
        raise Unavailable(
            "The damaged database is of an older version. Go back to that version, recover there, then update."
        )


def _tables(target: sqlite3.Connection) -> list[str]:
    """Plain tables that rows are put into."""
    listed = target.execute("PRAGMA table_list").fetchall()
    names = [str(row[1]) for row in listed if row[0] == "main" and row[2] == "table"]
    return sorted(name for name in names if not name.startswith(("sqlite_", "_sqlite_")))


@dataclass(slots=True)
class _Count:
    rows: int = 0
    lost: int | None = 0
    highest: int = 0
    """The largest number of a row that is or was there."""


class _Table:
    """One table on its way."""

    def __init__(
        self, source: sqlite3.Connection, target: sqlite3.Connection, name: str, columns: tuple[str, ...] = ()
    ) -> None:
        self._source, self._target, self._name = source, target, name
        wanted = columns or tuple(str(row[1]) for row in target.execute(f'PRAGMA table_info("{name}")'))
        self._has_numbers = _has_rowid(target, name)
        self._columns = ", ".join((*(("rowid",) if self._has_numbers else ()), *(f'"{one}"' for one in wanted)))
        marks = ", ".join("?" * (len(wanted) + self._has_numbers))
        self._insert = f'INSERT INTO "{name}" ({self._columns}) VALUES ({marks})'  # noqa: S608 - names of our own schema
        self._count = _Count()

    def copied(self) -> _Count:
        """Copy what can be had."""
        if self._has_numbers:
            self._copy_numbered()
        else:
            self._copy_from_both_ends()
        return self._count

    def _copy_numbered(self) -> None:
        try:
            low, high = self._source.execute(f'SELECT min(rowid), max(rowid) FROM "{self._name}"').fetchone()  # noqa: S608
        except sqlite3.DatabaseError:
            low, high = self._ends()
        if low is None or high is None:
            return
        self._count.highest = int(high)
        gaps, tries = [(int(low), int(high))], _MOST_TRIES
        while gaps:
            tries -= 1
            if not tries:
                self._count.lost = None
                return
            first, last = gaps.pop()
            first = self._walk(first, last, "ASC")
            if first > last:
                continue
            last = self._walk(first, last, "DESC")
            if first > last:
                continue
            if first == last:
                self._lose(1)
                continue
            middle = (first + last) // 2
            gaps += [(first, middle), (middle + 1, last)]

    def _ends(self) -> tuple[int | None, int | None]:
        """One end of a table can't be read: the search begins at 1, and ends where the numbers given out do."""
        highest = None
        with suppress(sqlite3.DatabaseError):
            highest = self._source.execute(f'SELECT max(rowid) FROM "{self._name}"').fetchone()[0]  # noqa: S608
        if highest is None:
            with suppress(sqlite3.DatabaseError):
                row = self._source.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (self._name,)).fetchone()
                highest = None if row is None else row[0]
        if highest is None:
            self._count.lost = None
        return 1, highest

    def _walk(self, first: int, last: int, order: str) -> int:
        """Copy rows of a range in one direction; returns where the rest begins (ends, when descending). Nothing is
        left when the two have passed each other."""
        at = first if order == "ASC" else last
        step = 1 if order == "ASC" else -1
        query = (
            f'SELECT {self._columns} FROM "{self._name}" NOT INDEXED '  # noqa: S608 - names of our own schema
            f"WHERE rowid BETWEEN ? AND ? ORDER BY rowid {order}"
        )
        try:
            for row in self._source.execute(query, (first, last)):
                number = int(str(row[0]))
                if not (at <= number <= last if step > 0 else first <= number <= at):
                    continue  # the damage shows this page a second time
                self._put(row)
                at = number + step
        except sqlite3.DatabaseError:
            return at
        return last + 1 if step > 0 else first - 1

    def _copy_from_both_ends(self) -> None:
        for order in ("ASC", "DESC"):
            if self._copy_keyed(order):
                return
        self._count.lost = None

    def _copy_keyed(self, order: str) -> bool:
        """True when the whole table was read."""
        keys = [str(row[1]) for row in self._target.execute(f'PRAGMA table_info("{self._name}")') if row[5]]
        by = ", ".join(f'"{key}" {order}' for key in keys)
        try:
            for row in self._source.execute(f'SELECT {self._columns} FROM "{self._name}" ORDER BY {by}'):  # noqa: S608
                self._put(row, may_be_there=order == "DESC")
        except sqlite3.DatabaseError:
            return False
        return True

    def _put(self, row: Row, *, may_be_there: bool = False) -> None:
        try:
            self._target.execute(self._insert, row)
        except sqlite3.IntegrityError:
            if not may_be_there:
                self._lose(1)
            return
        self._count.rows += 1

    def _lose(self, rows: int) -> None:
        if self._count.lost is not None:
            self._count.lost += rows


def _has_rowid(db: sqlite3.Connection, table: str) -> bool:
    return not any(row[4] for row in db.execute("PRAGMA table_list") if row[1] == table)


def _keep_numbers(source: sqlite3.Connection, target: sqlite3.Connection, highest: dict[str, int]) -> None:
    """No number that was given out is given to something else."""
    given: dict[str, int] = {}
    with suppress(sqlite3.DatabaseError):
        given = {str(name): int(number) for name, number in source.execute("SELECT name, seq FROM sqlite_sequence")}
    counted = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'"
    for (table,) in target.execute(counted).fetchall():
        number = max(given.get(table, 0), highest.get(table, 0))
        target.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
        target.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, number))


def _drop_dangling(target: sqlite3.Connection) -> dict[str, int]:
    """Rows that point at what is gone go too, and what points at them."""
    dropped: dict[str, int] = {}
    while True:
        before = sum(dropped.values())
        for table in _tables(target):
            for condition in _pointing_nowhere(target, table):
                gone = target.execute(f'DELETE FROM "{table}" WHERE {condition}').rowcount  # noqa: S608 - own schema
                if gone:
                    dropped[table] = dropped.get(table, 0) + gone
        if sum(dropped.values()) == before:
            return dropped


def _pointing_nowhere(target: sqlite3.Connection, table: str) -> Iterator[str]:
    links: dict[int, list[tuple[str, str, str]]] = {}
    for row in target.execute(f'PRAGMA foreign_key_list("{table}")').fetchall():
        links.setdefault(int(row[0]), []).append((str(row[2]), str(row[3]), str(row[4])))
    for columns in links.values():
        parent = columns[0][0]
        is_set = " AND ".join(f'"{table}"."{mine}" IS NOT NULL' for _, mine, _ in columns)
        same = " AND ".join(f'parent."{theirs}" = "{table}"."{mine}"' for _, mine, theirs in columns)
        yield f'{is_set} AND NOT EXISTS (SELECT 1 FROM "{parent}" AS parent WHERE {same})'  # noqa: S608 - own schema
