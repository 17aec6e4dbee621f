"""Rows of which message carries which delivery."""

from __future__ import annotations

from orchestrator.channels.chat.channel_store import ChannelDb


def put_link(db: ChannelDb, delivery: int, ref: str) -> None:
    """The message of this ref carries it, and no other does (any more)."""
    db.sql.execute(
        "INSERT INTO chat_deliveries (delivery, ref) SELECT id, ? FROM deliveries WHERE id = ? "
        "ON CONFLICT (delivery) DO UPDATE SET ref = excluded.ref",
        (ref, delivery),
    )


def ref_of(db: ChannelDb, delivery: int) -> str | None:
    """The message that carries it."""
    row = db.sql.execute("SELECT ref FROM chat_deliveries WHERE delivery = ?", (delivery,)).fetchone()
    return None if row is None else str(row["ref"])


def list_deliveries(db: ChannelDb, ref: str) -> list[int]:
    """What the message carries, in order."""
    rows = db.sql.execute("SELECT delivery FROM chat_deliveries WHERE ref = ? ORDER BY delivery", (ref,))
    return [int(row["delivery"]) for row in rows]
