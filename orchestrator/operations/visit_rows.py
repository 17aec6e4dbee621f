"""Rows of visits: when each person looked at the dashboard last, and since when they had not before that."""

from __future__ import annotations

import sqlite3


def mark_visit(db: sqlite3.Connection, user: int, now: float, *, gap_s: float) -> None:
    """The person is here at ``now`` (Unix seconds). More than ``gap_s`` seconds after the last time another visit
    begins; who was never here has missed nothing. A person who is gone has no visits."""
    db.execute(
        "INSERT INTO visits (user, away_since, began_at, seen_at) SELECT id, :now, :now, :now FROM users "
        "WHERE id = :user ON CONFLICT (user) DO UPDATE SET "
        "away_since = CASE WHEN :now - seen_at > :gap THEN seen_at ELSE away_since END, "
        "began_at = CASE WHEN :now - seen_at > :gap THEN :now ELSE began_at END, seen_at = :now",
        {"user": user, "now": now, "gap": gap_s},
    )


def get_absence(db: sqlite3.Connection, user: int) -> tuple[float, float] | None:
    """From when to when the person was away before this visit; None for who was never here."""
    row = db.execute("SELECT away_since, began_at FROM visits WHERE user = ?", (user,)).fetchone()
    return None if row is None else (float(row["away_since"]), float(row["began_at"]))
