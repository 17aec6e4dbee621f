"""How much a turn has written into the database: what an agent makes us keep is bounded."""

from __future__ import annotations

import sqlite3


def count_written_chars(db: sqlite3.Connection, turn: int) -> int:
    """Of all its steps: thoughts, commands, outputs."""
    row = db.execute(
        "SELECT COALESCE(SUM(LENGTH(thought) + LENGTH(command) + LENGTH(output)), 0) FROM steps WHERE turn = ?", (turn,)
    ).fetchone()
    return int(row[0])
