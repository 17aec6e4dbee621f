"""Rows of with whom web apps are shared."""

from __future__ import annotations

import sqlite3

from orchestrator.core.models import CubicleKey


def insert_share(db: sqlite3.Connection, key: CubicleKey, app: str, guest: int, *, now: float) -> bool:
    """The guest may see the app; False when they may already."""
    cursor = db.execute(
        "INSERT INTO app_shares (agent, user, app, guest, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (key.agent, key.user, app, guest, now),
    )
    return cursor.rowcount == 1


def delete_share(db: sqlite3.Connection, key: CubicleKey, app: str, guest: int) -> bool:
    """The guest may not see the app; False when they might not before."""
    cursor = db.execute(
        "DELETE FROM app_shares WHERE agent = ? AND user = ? AND app = ? AND guest = ?",
        (key.agent, key.user, app, guest),
    )
    return cursor.rowcount == 1


def has_share(db: sqlite3.Connection, key: CubicleKey, app: str, guest: int) -> bool:
    """Whether the guest may see the app."""
    row = db.execute(
        "SELECT 1 FROM app_shares WHERE agent = ? AND user = ? AND app = ? AND guest = ?",
        (key.agent, key.user, app, guest),
    ).fetchone()
    return row is not None


def list_guests(db: sqlite3.Connection, key: CubicleKey, app: str) -> list[int]:
    """Who may see the app beside its owner."""
    rows = db.execute(
        "SELECT guest FROM app_shares WHERE agent = ? AND user = ? AND app = ? ORDER BY at, guest",
        (key.agent, key.user, app),
    )
    return [int(row["guest"]) for row in rows]


def list_shares_of_guest(db: sqlite3.Connection, guest: int) -> list[tuple[CubicleKey, str]]:
    """Which apps of others the guest may see."""
    rows = db.execute(
        "SELECT agent, user, app FROM app_shares WHERE guest = ? ORDER BY agent, user, app LIMIT 500", (guest,)
    )
    return [(CubicleKey(str(row["agent"]), int(row["user"])), str(row["app"])) for row in rows]
