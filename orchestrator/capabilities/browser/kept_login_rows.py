"""Rows of logins that stay: the sites of which a person lets an agent's browser keep cookies and storage. The state is
in its column alone, which ``read_state_text`` and ``write_state`` alone touch.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from orchestrator.core.models import CubicleKey


@dataclass(frozen=True, slots=True)
class KeptLogin:
    """One site of a cubicle, without what is kept of it."""

    site: str
    """``shop.test``; its names below it too."""
    since: float
    by: str
    """Who wanted it."""
    saved_at: float | None
    """When something was last kept; None for nothing yet."""
    cookies: int
    """How many are kept."""


_COLUMNS = "site, since, by, saved_at, cookies"
_OURS = "agent = ? AND user = ? AND site = ?"


def list_logins(db: sqlite3.Connection, key: CubicleKey) -> list[KeptLogin]:
    """A cubicle's, by site."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM kept_logins WHERE agent = ? AND user = ? ORDER BY site",  # noqa: S608 - constant
        (key.agent, key.user),
    )
    return [KeptLogin(**dict(row)) for row in rows]


def insert_login(db: sqlite3.Connection, key: CubicleKey, site: str, by: str, now: float) -> bool:
    """From now on the site's state is kept; False where it was before."""
    return bool(
        db.execute(
            "INSERT OR IGNORE INTO kept_logins (agent, user, site, since, by, state, cookies) "
            "VALUES (?, ?, ?, ?, ?, '', 0)",
            (key.agent, key.user, site, now, by),
        ).rowcount
    )


def delete_login(db: sqlite3.Connection, key: CubicleKey, site: str) -> bool:
    """Nothing of the site is kept; False where nothing was."""
    return bool(
        db.execute(f"DELETE FROM kept_logins WHERE {_OURS}", (key.agent, key.user, site)).rowcount  # noqa: S608 - constant
    )


def read_state_text(db: sqlite3.Connection, key: CubicleKey, site: str) -> str:
    """What is kept of a site, as JSON; empty for nothing."""
    row = db.execute(
        f"SELECT state FROM kept_logins WHERE {_OURS}",  # noqa: S608 - constant
        (key.agent, key.user, site),
    ).fetchone()
    return "" if row is None else str(row["state"])


def write_state(db: sqlite3.Connection, key: CubicleKey, site: str, state: str, *, cookies: int, now: float) -> None:
    """This is what is kept of a site, where it is one that is kept."""
    db.execute(
        f"UPDATE kept_logins SET state = ?, cookies = ?, saved_at = ? WHERE {_OURS}",  # noqa: S608 - constant
        (state, cookies, now, key.agent, key.user, site),
    )
