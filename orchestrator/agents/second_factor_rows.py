"""Rows of second factors: a person's secret for codes by the clock, and their recovery codes as hashes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TotpSecret:
    """What a person's app makes codes from."""

    secret: str
    is_confirmed: bool
    """A code of it was given once, so it counts."""
    last_step: int
    """Of the last code that was used; neither it nor an older one is taken again."""


def get_secret(db: sqlite3.Connection, user: int) -> TotpSecret | None:
    """The person's secret, whether it counts already or not."""
    row = db.execute("SELECT secret, confirmed_at, last_step FROM totp WHERE user = ?", (user,)).fetchone()
    return None if row is None else TotpSecret(row["secret"], row["confirmed_at"] is not None, row["last_step"])


def is_on(db: sqlite3.Connection, user: int) -> bool:
    """The login by password asks this person for a code."""
    row = db.execute("SELECT 1 FROM totp WHERE user = ? AND confirmed_at IS NOT NULL", (user,)).fetchone()
    return row is not None


def list_users_with_codes(db: sqlite3.Connection) -> frozenset[int]:
    """Whom the login by password asks for a code."""
    return frozenset(int(row["user"]) for row in db.execute("SELECT user FROM totp WHERE confirmed_at IS NOT NULL"))


def put_secret(db: sqlite3.Connection, user: int, secret: str) -> None:
    """A new secret, which doesn't count yet; the one before is gone."""
    db.execute("INSERT OR REPLACE INTO totp (user, secret) VALUES (?, ?)", (user, secret))


def confirm_secret(db: sqlite3.Connection, user: int, now: float) -> None:
    """The secret counts from now on."""
    db.execute("UPDATE totp SET confirmed_at = ? WHERE user = ?", (now, user))


def use_step(db: sqlite3.Connection, user: int, step: int) -> bool:
    """The code of this step was given; False when it, or a later one, was given before."""
    return (
        db.execute("UPDATE totp SET last_step = ? WHERE user = ? AND last_step < ?", (step, user, step)).rowcount == 1
    )


def delete_factor(db: sqlite3.Connection, user: int) -> bool:
    """The person has no second factor any more; False when they had none that counted."""
    was_on = is_on(db, user)
    db.execute("DELETE FROM totp WHERE user = ?", (user,))
    db.execute("DELETE FROM recovery_codes WHERE user = ?", (user,))
    return was_on


def put_recovery_codes(db: sqlite3.Connection, user: int, hashes: Iterable[str]) -> None:
    """These recovery codes, and none of those before."""
    db.execute("DELETE FROM recovery_codes WHERE user = ?", (user,))
    db.executemany("INSERT INTO recovery_codes (user, sha256) VALUES (?, ?)", [(user, one) for one in hashes])


def use_recovery_code(db: sqlite3.Connection, user: int, sha256: str, now: float) -> bool:
    """Take a recovery code; False when there is no such one, or it was used."""
    taken = db.execute(
        "UPDATE recovery_codes SET used_at = ? WHERE user = ? AND sha256 = ? AND used_at IS NULL", (now, user, sha256)
    )
    return taken.rowcount == 1


def count_recovery_codes(db: sqlite3.Connection, user: int) -> int:
    """How many were not used."""
    row = db.execute("SELECT COUNT(*) FROM recovery_codes WHERE user = ? AND used_at IS NULL", (user,)).fetchone()
    return int(row[0])
