"""Rows of marks: up to where something that only grows has been told on Telegram."""

from __future__ import annotations

import sqlite3


def mark(db: sqlite3.Connection, name: str) -> int:
    """Up to where; 0 at the very beginning."""
    row = db.execute("SELECT value FROM telegram_marks WHERE name = ?", (name,)).fetchone()
    return 0 if row is None else int(row["value"])


def set_mark(db: sqlite3.Connection, name: str, value: int) -> None:
    """All up to here has been told, in this transaction."""
    db.execute(
        "INSERT INTO telegram_marks (name, value) VALUES (?, ?) "
        "ON CONFLICT (name) DO UPDATE SET value = MAX(value, excluded.value)",
        (name, value),
    )
