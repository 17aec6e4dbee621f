"""Rows of agents and people that are being deleted. A row goes with the agent or person that it is about."""

from __future__ import annotations

import sqlite3

from orchestrator.core.models import CubicleKey


def mark_agent(db: sqlite3.Connection, name: str, now: float) -> None:
    """From now on the agent only has to go; again is fine."""
    db.execute("INSERT INTO leaving (agent, since) VALUES (?, ?) ON CONFLICT DO NOTHING", (name, now))


def mark_user(db: sqlite3.Connection, user: int, now: float) -> None:
    """From now on the person only has to go; again is fine."""
    db.execute("INSERT INTO leaving (user, since) VALUES (?, ?) ON CONFLICT DO NOTHING", (user, now))


def is_being_deleted(db: sqlite3.Connection, key: CubicleKey) -> bool:
    """The agent or the person of this cubicle is being deleted."""
    row = db.execute("SELECT 1 FROM leaving WHERE agent = ? OR user = ?", (key.agent, key.user)).fetchone()
    return row is not None


def list_agents_to_delete(db: sqlite3.Connection) -> list[str]:
    """The agents that are being deleted."""
    return [str(row["agent"]) for row in db.execute("SELECT agent FROM leaving WHERE agent IS NOT NULL ORDER BY since")]


def list_users_to_delete(db: sqlite3.Connection) -> list[int]:
    """The people who are being deleted."""
    return [int(row["user"]) for row in db.execute("SELECT user FROM leaving WHERE user IS NOT NULL ORDER BY since")]
