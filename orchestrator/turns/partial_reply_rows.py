"""What a running turn's model has written so far. It becomes the reply of a turn that ends without one, so that what a
person has read does not vanish when they stop it, a model call breaks off or the orchestrator dies."""

from __future__ import annotations

import sqlite3

from orchestrator.core.models import TurnStatus


def save_reply(db: sqlite3.Connection, turn: int, text: str) -> None:
    """The reply stands so now. Nothing happens to a turn that nobody works on."""
    db.execute("UPDATE turns SET written = ? WHERE id = ? AND status IN ('running', 'waiting_approval')", (text, turn))


def delete_reply(db: sqlite3.Connection, turn: int) -> None:
    """What was written has found its place elsewhere: it was a command's thought."""
    db.execute("UPDATE turns SET written = NULL WHERE id = ? AND written IS NOT NULL", (turn,))


def get_final_reply(db: sqlite3.Connection, turn: int, status: TurnStatus, reply: str | None) -> str | None:
    """The reply that an open turn ends with: one that was stopped or failed without words keeps what was written."""
    if status is TurnStatus.DONE or (reply and reply.strip()):
        return reply
    row = db.execute("SELECT written FROM turns WHERE id = ?", (turn,)).fetchone()
    return reply if row is None or row["written"] is None else str(row["written"])
