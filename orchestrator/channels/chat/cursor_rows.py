"""Rows of marks: up to where something that only grows has been told in a channel."""

from __future__ import annotations

from orchestrator.channels.chat.channel_store import ChannelDb


def get_cursor(db: ChannelDb, name: str) -> int:
    """Up to where; 0 at the very beginning."""
    row = db.sql.execute("SELECT value FROM chat_cursors WHERE channel = ? AND name = ?", (db.channel, name)).fetchone()
    return 0 if row is None else int(row["value"])


def set_mark(db: ChannelDb, name: str, value: int) -> None:
    """All up to here has been told, in this transaction."""
    db.sql.execute(
        "INSERT INTO chat_cursors (channel, name, value) VALUES (?, ?, ?) "
        "ON CONFLICT (channel, name) DO UPDATE SET value = MAX(value, excluded.value)",
        (db.channel, name, value),
    )
