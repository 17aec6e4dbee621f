"""Rows of conversations: each belongs to one cubicle, and every turn to one of them."""

from __future__ import annotations

import sqlite3

from orchestrator.core.models import Conversation, CubicleKey


def get_first_id(db: sqlite3.Connection, key: CubicleKey, now: float) -> int:
    """The id of the cubicle's first conversation, which begins now if there is none yet."""
    found = of_cubicle(db, key)
    if found:
        return found[0].id
    row = db.execute(
        "INSERT INTO conversations (agent, user, created_at) VALUES (?, ?, ?) RETURNING id", (key.agent, key.user, now)
    ).fetchone()
    return int(row["id"])


def of_cubicle(db: sqlite3.Connection, key: CubicleKey) -> list[Conversation]:
    """The cubicle's conversations, oldest first."""
    rows = db.execute(
        "SELECT id, name, created_at FROM conversations WHERE agent = ? AND user = ? ORDER BY id", (key.agent, key.user)
    )
    return [Conversation(int(row["id"]), key, str(row["name"]), float(row["created_at"])) for row in rows]
