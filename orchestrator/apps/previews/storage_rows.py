"""Rows of what web apps remember: one JSON text an app and cubicle, as the app's own page wrote it."""

from __future__ import annotations

import sqlite3

from orchestrator.core.models import CubicleKey


def get_stored(db: sqlite3.Connection, key: CubicleKey, app: str) -> str:
    """What the app has stored, as a JSON object; ``{}`` when it never did."""
    row = db.execute(
        "SELECT stored FROM app_storage WHERE agent = ? AND user = ? AND app = ?", (key.agent, key.user, app)
    ).fetchone()
    return "{}" if row is None else str(row["stored"])


def set_stored(db: sqlite3.Connection, key: CubicleKey, app: str, stored: str, *, now: float, most_apps: int) -> bool:
    """Keep this in the place of what was there; False when the cubicle has too many apps that keep something."""
    cursor = db.execute(
        "INSERT INTO app_storage (agent, user, app, stored, changed_at) SELECT :agent, :user, :app, :stored, :now "
        "WHERE (SELECT COUNT(*) FROM app_storage WHERE agent = :agent AND user = :user AND app != :app) < :most "
        "ON CONFLICT (agent, user, app) DO UPDATE SET stored = excluded.stored, changed_at = excluded.changed_at",
        {"agent": key.agent, "user": key.user, "app": app, "stored": stored, "now": now, "most": most_apps},
    )
    return cursor.rowcount == 1
