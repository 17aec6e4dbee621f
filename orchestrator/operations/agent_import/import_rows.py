"""Rows of files that an import brings: written with everything else that it brings, gone when the file lies in
``in/``.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field

from orchestrator.core.models import CubicleKey


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A file on its way."""

    id: int
    cubicle: CubicleKey
    name: str
    content: bytes = field(repr=False)


def insert_file(db: sqlite3.Connection, key: CubicleKey, name: str, content: bytes) -> None:
    """It is to lie in this cubicle's ``in/``."""
    db.execute(
        "INSERT INTO imported_files (agent, user, name, content) VALUES (?, ?, ?, ?)",
        (key.agent, key.user, name, content),
    )


def next_file(db: sqlite3.Connection, after: int) -> ImportedFile | None:
    """The first one behind this number."""
    row = db.execute("SELECT * FROM imported_files WHERE id > ? ORDER BY id LIMIT 1", (after,)).fetchone()
    if row is None:
        return None
    return ImportedFile(row["id"], CubicleKey(row["agent"], row["user"]), row["name"], bytes(row["content"]))


def delete_file(db: sqlite3.Connection, number: int) -> None:
    """It lies there."""
    db.execute("DELETE FROM imported_files WHERE id = ?", (number,))


def count_files(db: sqlite3.Connection, key: CubicleKey) -> int:
    """How many are still on their way to this cubicle."""
    found = db.execute("SELECT COUNT(*) FROM imported_files WHERE agent = ? AND user = ?", (key.agent, key.user))
    return int(found.fetchone()[0])
