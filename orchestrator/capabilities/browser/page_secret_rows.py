"""Rows of page secrets: what agents of people may type into pages of one host. The value is in its column alone, which
``use_value`` and ``list_values`` alone read.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from orchestrator.core.models import CubicleKey


@dataclass(frozen=True, slots=True)
class PageSecret:
    """One of a person's, without its value."""

    id: str
    user: int
    agent: str | None
    """Who may use it; None for every agent that works for the person."""
    name: str
    host: str
    """``shop.test``, with a port where it is not that of its scheme: ``shop.test:8443``."""
    created_at: float
    used_at: float | None = None


_COLUMNS = "id, user, agent, name, host, created_at, used_at"


def put_secret(db: sqlite3.Connection, secret: PageSecret, value: str) -> None:
    """Keep it, in the place of one of the same name, host and agent."""
    db.execute(
        "DELETE FROM page_secrets WHERE user = ? AND agent IS ? AND name = ? AND host = ?",
        (secret.user, secret.agent, secret.name, secret.host),
    )
    db.execute(
        "INSERT INTO page_secrets (id, user, agent, name, host, value, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (secret.id, secret.user, secret.agent, secret.name, secret.host, value, secret.created_at),
    )


def list_secrets(db: sqlite3.Connection, user: int) -> list[PageSecret]:
    """A person's, by name and host."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM page_secrets WHERE user = ? ORDER BY name, host, agent", (user,))  # noqa: S608 - constant
    return [PageSecret(**dict(row)) for row in rows]


def list_usable(db: sqlite3.Connection, key: CubicleKey) -> list[PageSecret]:
    """Those that an agent may use for this person; its own before those of all agents."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM page_secrets WHERE user = ? AND (agent IS NULL OR agent = ?) "  # noqa: S608 - constant
        "ORDER BY name, host, agent IS NULL",
        (key.user, key.agent),
    )
    return [PageSecret(**dict(row)) for row in rows]


def use_value(db: sqlite3.Connection, secret: str, now: float) -> str:
    """The value of the secret with this id, which is used now; raises KeyError for none."""
    row = db.execute("UPDATE page_secrets SET used_at = ? WHERE id = ? RETURNING value", (now, secret)).fetchone()
    if row is None:
        raise KeyError(secret)
    return str(row["value"])


def list_values(db: sqlite3.Connection) -> list[str]:
    """All values of the install, to be kept out of the log."""
    return [str(row["value"]) for row in db.execute("SELECT value FROM page_secrets")]


def delete_secret(db: sqlite3.Connection, user: int, secret: str) -> PageSecret | None:
    """One of a person's is gone; None when there is none."""
    row = db.execute(
        f"DELETE FROM page_secrets WHERE user = ? AND id = ? RETURNING {_COLUMNS}",  # noqa: S608 - constant
        (user, secret),
    ).fetchone()
    return None if row is None else PageSecret(**dict(row))
