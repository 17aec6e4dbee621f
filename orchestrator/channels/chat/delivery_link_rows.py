"""Rows of which letter carries which delivery."""

from __future__ import annotations

import sqlite3


def put(db: sqlite3.Connection, delivery: int, ref: str) -> None:
    """The letter of this ref carries it, and no other does (any more)."""
    db.execute(
        "INSERT INTO telegram_carried (delivery, ref) SELECT id, ? FROM deliveries WHERE id = ? "
        "ON CONFLICT (delivery) DO UPDATE SET ref = excluded.ref",
        (ref, delivery),
    )


def ref_of(db: sqlite3.Connection, delivery: int) -> str | None:
    """The letter that carries it."""
    row = db.execute("SELECT ref FROM telegram_carried WHERE delivery = ?", (delivery,)).fetchone()
    return None if row is None else str(row["ref"])


def deliveries(db: sqlite3.Connection, ref: str) -> list[int]:
    """What the letter carries, in order."""
    rows = db.execute("SELECT delivery FROM telegram_carried WHERE ref = ? ORDER BY delivery", (ref,))
    return [int(row["delivery"]) for row in rows]
