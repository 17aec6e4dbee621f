"""Rows of what the operator chose for the install: a name and a text each. No secret is among them."""

from __future__ import annotations

import sqlite3


def list_settings(db: sqlite3.Connection) -> dict[str, str]:
    """All that were chosen."""
    return {str(row["name"]): str(row["value"]) for row in db.execute("SELECT name, value FROM preferences")}


def set_setting(db: sqlite3.Connection, name: str, value: str, now: float) -> None:
    """This one from now on; an empty text is none."""
    if value:
        db.execute("INSERT OR REPLACE INTO preferences (name, value, changed_at) VALUES (?, ?, ?)", (name, value, now))
    else:
        db.execute("DELETE FROM preferences WHERE name = ?", (name,))
