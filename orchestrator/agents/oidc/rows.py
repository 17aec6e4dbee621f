"""Rows of accounts at a provider. Who somebody is there is the provider and its own id for them, and nothing else."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OidcAccount:
    """Somebody's account at a provider."""

    issuer: str
    subject: str
    """The provider's own id for them."""
    user: int
    label: str
    """What the provider calls them, to be recognised by; it proves nothing."""
    connected_at: float
    used_at: float | None


def insert_account(db: sqlite3.Connection, account: OidcAccount) -> None:
    """A new one; raises ``sqlite3.IntegrityError`` when either side has one already."""
    db.execute(
        "INSERT INTO oidc_accounts (issuer, subject, user, label, connected_at, used_at) VALUES (?, ?, ?, ?, ?, ?)",
        (account.issuer, account.subject, account.user, account.label, account.connected_at, account.used_at),
    )


def get_account(db: sqlite3.Connection, issuer: str, subject: str) -> OidcAccount | None:
    """The account with this id at this provider."""
    row = db.execute("SELECT * FROM oidc_accounts WHERE issuer = ? AND subject = ?", (issuer, subject)).fetchone()
    return None if row is None else _account(row)


def account_of(db: sqlite3.Connection, issuer: str, user: int) -> OidcAccount | None:
    """A person's account at this provider."""
    row = db.execute("SELECT * FROM oidc_accounts WHERE issuer = ? AND user = ?", (issuer, user)).fetchone()
    return None if row is None else _account(row)


def list_accounts(db: sqlite3.Connection, issuer: str) -> list[OidcAccount]:
    """Everybody's at this provider."""
    return [
        _account(row) for row in db.execute("SELECT * FROM oidc_accounts WHERE issuer = ? ORDER BY user", (issuer,))
    ]


def touch_account(db: sqlite3.Connection, issuer: str, subject: str, label: str, now: float) -> None:
    """Somebody came in by it just now, and is called this there."""
    db.execute(
        "UPDATE oidc_accounts SET label = ?, used_at = ? WHERE issuer = ? AND subject = ?",
        (label, now, issuer, subject),
    )


def delete_account(db: sqlite3.Connection, issuer: str, user: int) -> bool:
    """A person's account at this provider is theirs no more; False when there was none."""
    return db.execute("DELETE FROM oidc_accounts WHERE issuer = ? AND user = ?", (issuer, user)).rowcount == 1


def _account(row: sqlite3.Row) -> OidcAccount:
    return OidcAccount(**dict(row))
