"""Databases of earlier shapes, kept as SQL: ``python -m tests.schema_fixture`` writes the current one, with a few
rows of the common kinds, to ``tests/fixtures/schema-NNN.sql``. One that is there is never written again."""

from __future__ import annotations

import re
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from orchestrator.agents import agent_rows
from orchestrator.core.db.migrations import migrations
from tests.support.core_fixture import KEY, OTHER, core_fixture

FOLDER = Path(__file__).parent / "fixtures"


def kept() -> list[Path]:
    """The shapes that are kept, oldest first."""
    return sorted(FOLDER.glob("schema-*.sql"))


def load(script: Path, database: Path) -> None:
    """Make the database that was dumped."""
    with closing(sqlite3.connect(database)) as db:
        db.executescript(script.read_text(encoding="utf-8"))


def rows(database: Path, table: str) -> list[tuple[object, ...]]:
    """All rows of a table, in an order of their own."""
    with closing(sqlite3.connect(database)) as db:
        return sorted(db.execute(f'SELECT * FROM "{table}"').fetchall(), key=repr)  # noqa: S608 - our own tables


def tables(database: Path) -> dict[str, str]:
    """Every table with rows of its own, and its kind."""
    with closing(sqlite3.connect(database)) as db:
        listed = db.execute("PRAGMA table_list").fetchall()
    return {name: kind for _, name, kind, *_ in listed if kind in ("table", "virtual") and not _is_sqlites(name)}


def shape(database: Path) -> set[tuple[str, str]]:
    """What the database is made of, spaces aside."""
    with closing(sqlite3.connect(database)) as db:
        made = db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {(name, re.sub(r"\s+", "", sql)) for name, sql in made if not _is_sqlites(name)}


def dump(database: Path) -> Iterator[str]:
    """SQL that makes the database again. Triggers and indexes come last, so that rows go in as they are."""
    with closing(sqlite3.connect(database)) as db:
        kinds = {row[1]: row[2] for row in db.execute("PRAGMA table_list")}
        made = db.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid").fetchall()
        wanted = [
            (kind, name, sql) for kind, name, sql in made if kinds.get(name) != "shadow" and not _is_sqlites(name)
        ]
        yield from (f"{sql};" for kind, _, sql in wanted if kind == "table")
        for kind, name, sql in wanted:
            if kind == "table" and "fts5vocab" not in sql:
                yield from _inserts(db, name, is_virtual=kinds[name] == "virtual")
        yield from (f"{sql};" for kind, _, sql in wanted if kind != "table")


def _inserts(db: sqlite3.Connection, table: str, *, is_virtual: bool) -> Iterator[str]:
    columns = [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')]
    names = [*(["rowid"] if is_virtual else []), *(f'"{column}"' for column in columns)]
    quoted = ", ".join(f"quote({name})" for name in names)
    for row in db.execute(f'SELECT {quoted} FROM "{table}"'):  # noqa: S608 - our own tables
        yield f'INSERT INTO "{table}" ({", ".join(names)}) VALUES ({", ".join(row)});'  # noqa: S608 - quoted by SQLite


def _is_sqlites(name: str) -> bool:
    return name.startswith("sqlite_")


def _fill(home: Path) -> Path:
    """A small install with something of most kinds in it."""
    with core_fixture(home, role="Keeps the books.") as made:
        made.under_way("What is 6 × 7?")
        made.turns.submit(KEY, "Ünïcode, 'quotes' and\nlines.", source="test")
        made.turns.submit(OTHER, "Bob's own.", source="test")
        with made.store.writing() as db:
            db.execute("INSERT INTO settings VALUES ('colour', 'blue')")
            agent_rows.get_cubicle_number(db, KEY, 1.0)
        return home / "hermit.db"


def main() -> str:
    """Write the current shape."""
    path = FOLDER / f"schema-{len(migrations.list_names()):03}.sql"
    if path.exists():
        return f"{path} is there already."
    with tempfile.TemporaryDirectory() as folder:
        text = "\n".join(dump(_fill(Path(folder) / "home")))
    FOLDER.mkdir(exist_ok=True)
    path.write_text(f"{text}\n", encoding="utf-8")
    return ""


if __name__ == "__main__":
    sys.exit(main() or 0)
