"""Rows of passkeys. A credential is public: its id, and the key that its signatures are checked with."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Passkey:
    """One of a person's."""

    id: str
    """A digest of the credential's id."""
    user: int
    host: str
    """Where it was made, and where alone it works."""
    name: str
    handle: bytes
    """What stands for the person in it; random."""
    credential: bytes
    sign_count: int
    created_at: float
    used_at: float | None


def insert_passkey(db: sqlite3.Connection, passkey: Passkey) -> None:
    """A new one; raises ``sqlite3.IntegrityError`` when it is there already."""
    db.execute(
        "INSERT INTO passkeys (id, user, host, name, handle, credential, sign_count, created_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            passkey.id,
            passkey.user,
            passkey.host,
            passkey.name,
            passkey.handle,
            passkey.credential,
            passkey.sign_count,
            passkey.created_at,
        ),
    )


def list_passkeys(db: sqlite3.Connection, user: int) -> list[Passkey]:
    """A person's, the oldest first."""
    return [
        _passkey(row) for row in db.execute("SELECT * FROM passkeys WHERE user = ? ORDER BY created_at, id", (user,))
    ]


def get_passkey(db: sqlite3.Connection, passkey: str) -> Passkey | None:
    """The passkey with this id."""
    row = db.execute("SELECT * FROM passkeys WHERE id = ?", (passkey,)).fetchone()
    return None if row is None else _passkey(row)


def has_any(db: sqlite3.Connection, host: str) -> bool:
    """Somebody has one for this host."""
    return db.execute("SELECT 1 FROM passkeys WHERE host = ? LIMIT 1", (host,)).fetchone() is not None


def use_passkey(db: sqlite3.Connection, passkey: str, sign_count: int, now: float) -> bool:
    """It signed just now, for the so-manieth time; False when its count has not gone up, though it counts: then there
    are two of it."""
    used = db.execute(
        "UPDATE passkeys SET sign_count = ?, used_at = ? WHERE id = ? "
        "AND (sign_count < ? OR (sign_count = 0 AND ? = 0))",
        (sign_count, now, passkey, sign_count, sign_count),
    )
    return used.rowcount == 1


def delete_passkey(db: sqlite3.Connection, user: int, passkey: str) -> str | None:
    """Forget a person's passkey: its name, or None when they have no such one."""
    row = db.execute("DELETE FROM passkeys WHERE user = ? AND id = ? RETURNING name", (user, passkey)).fetchone()
    return None if row is None else str(row["name"])


def _passkey(row: sqlite3.Row) -> Passkey:
    return Passkey(**dict(row))
