"""Rows of people and of the ways they prove who they are. Secrets are stored as hashes only."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.core.models import Role, User


@dataclass(frozen=True, slots=True)
class Session:
    """A browser that is logged in."""

    sha256: str
    created_at: float
    seen_at: float
    browser: str
    address: str


@dataclass(frozen=True, slots=True)
class ApiToken:
    """An API token, without what it is."""

    name: str
    user: int
    created_at: float
    used_at: float | None


_USER = (
    "id, name, role, time_zone, time_zone_known, daily_budget_micro, monthly_budget_micro, language, "
    "(SELECT json_group_object(channel, external_id) FROM identities WHERE user = users.id) AS identities"
)


def insert_user(
    db: sqlite3.Connection,
    *,
    name: str,
    role: Role,
    identities: Sequence[tuple[str, int]],
    time_zone: str,
    now: float,
    time_zone_known: bool = False,
    daily_budget_micro: int | None = None,
    monthly_budget_micro: int | None = None,
    language: str = "",
) -> int:
    """Insert a person; raises ``sqlite3.IntegrityError`` when the name or an identity is taken."""
    cursor = db.execute(
        "INSERT INTO users (name, role, time_zone, time_zone_known, daily_budget_micro, monthly_budget_micro, "
        "language, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (name, role, time_zone, time_zone_known, daily_budget_micro, monthly_budget_micro, language, now),
    )
    user = int(cursor.lastrowid or 0)
    _put_identities(db, user, identities)
    return user


def list_users(db: sqlite3.Connection) -> list[User]:
    """All people, oldest first."""
    return [_make_user(row) for row in db.execute(f"SELECT {_USER} FROM users ORDER BY id")]  # noqa: S608 - constant columns


def get_user(db: sqlite3.Connection, user: int) -> User | None:
    """The person with this id."""
    return _select_user(db, "id = ?", user)


def get_user_by_name(db: sqlite3.Connection, name: str) -> User | None:
    """The person with exactly this name."""
    return _select_user(db, "name = ?", name)


def of_identity(db: sqlite3.Connection, channel: str, external_id: int) -> User | None:
    """The person with this number in a channel."""
    return _select_user(
        db, "id = (SELECT user FROM identities WHERE channel = ? AND external_id = ?)", channel, external_id
    )


def get_operator(db: sqlite3.Connection) -> User | None:
    """The first operator."""
    return _select_user(db, "role = ? ORDER BY id", Role.OPERATOR)


def update_user(db: sqlite3.Connection, user: User) -> None:
    """Store every field of an existing person again."""
    db.execute(
        "UPDATE users SET name = ?, role = ?, time_zone = ?, time_zone_known = ?, daily_budget_micro = ?, "
        "monthly_budget_micro = ?, language = ? WHERE id = ?",
        (
            user.name,
            user.role,
            user.time_zone,
            user.time_zone_known,
            user.daily_budget_micro,
            user.monthly_budget_micro,
            user.language,
            user.id,
        ),
    )
    _put_identities(db, user.id, user.identities)


def mark_zone_asked(db: sqlite3.Connection, user: int, now: float) -> bool:
    """The person is being asked for their time zone now; False when they said it, or were asked before."""
    cursor = db.execute(
        "UPDATE users SET time_zone_asked_at = ? WHERE id = ? AND NOT time_zone_known AND time_zone_asked_at IS NULL",
        (now, user),
    )
    return cursor.rowcount == 1


def delete_user(db: sqlite3.Connection, user: int) -> None:
    """Delete a person with all passwords, sessions and tokens. Their conversations are cleared: nothing of them is
    found or told any more."""
    db.execute("UPDATE turns SET forgotten = 1 WHERE user = ? AND forgotten = 0", (user,))
    db.execute("UPDATE conversations SET name = '', title = '', head = NULL WHERE user = ?", (user,))
    db.execute("DELETE FROM users WHERE id = ?", (user,))


def set_password(db: sqlite3.Connection, user: int, hashed: str, now: float) -> None:
    """Store an argon2 hash; the older one is gone."""
    db.execute("INSERT OR REPLACE INTO passwords (user, hash, changed_at) VALUES (?, ?, ?)", (user, hashed, now))


def get_password(db: sqlite3.Connection, user: int) -> str | None:
    """The argon2 hash, or None when this person has no password."""
    row = db.execute("SELECT hash FROM passwords WHERE user = ?", (user,)).fetchone()
    return None if row is None else str(row["hash"])


def insert_session(
    db: sqlite3.Connection,
    sha256: str,
    user: int,
    now: float,
    expires_at: float,
    *,
    browser: str = "",
    address: str = "",
) -> None:
    """Store a session by the hash of its token; expired ones are swept on the way."""
    db.execute("DELETE FROM sessions WHERE expires_at < ?", (now,))
    db.execute(
        "INSERT INTO sessions (sha256, user, created_at, expires_at, seen_at, browser, address) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (sha256, user, now, expires_at, now, browser, address),
    )


def list_sessions(db: sqlite3.Connection, user: int, now: float) -> list[Session]:
    """The live sessions of a person, the one that was used last first."""
    found = db.execute(
        "SELECT * FROM sessions WHERE user = ? AND expires_at > ? ORDER BY seen_at DESC, created_at DESC", (user, now)
    )
    return [Session(row["sha256"], row["created_at"], row["seen_at"], row["browser"], row["address"]) for row in found]


def touch_session(db: sqlite3.Connection, sha256: str, now: float) -> None:
    """It is in use."""
    db.execute("UPDATE sessions SET seen_at = ? WHERE sha256 = ?", (now, sha256))


def get_session_user(db: sqlite3.Connection, sha256: str, now: float) -> User | None:
    """Whose live session this is."""
    return _select_user(db, "id = (SELECT user FROM sessions WHERE sha256 = ? AND expires_at > ?)", sha256, now)


def get_session_seen_at(db: sqlite3.Connection, sha256: str) -> float:
    """When it was last written down that this session is in use."""
    row = db.execute("SELECT seen_at FROM sessions WHERE sha256 = ?", (sha256,)).fetchone()
    return 0.0 if row is None else float(row["seen_at"])


def delete_session(db: sqlite3.Connection, sha256: str) -> None:
    """Forget one session; unknown is fine."""
    db.execute("DELETE FROM sessions WHERE sha256 = ?", (sha256,))


def delete_sessions(db: sqlite3.Connection, user: int) -> None:
    """Forget all sessions of a person."""
    db.execute("DELETE FROM sessions WHERE user = ?", (user,))


def delete_links(db: sqlite3.Connection, user: int, now: float) -> None:
    """No login link of this person works any more."""
    db.execute("UPDATE login_links SET used_at = ? WHERE user = ? AND used_at IS NULL", (now, user))


def delete_all_sessions(db: sqlite3.Connection, now: float) -> int:
    """Forget the sessions of everybody, with the login links that were not used yet; how many sessions there were."""
    db.execute("UPDATE login_links SET used_at = ? WHERE used_at IS NULL", (now,))
    return db.execute("DELETE FROM sessions").rowcount


def insert_token(db: sqlite3.Connection, name: str, sha256: str, user: int, now: float) -> None:
    """Store an API token by its hash; raises ``sqlite3.IntegrityError`` when the name is taken."""
    db.execute("INSERT INTO api_tokens (name, sha256, user, created_at) VALUES (?, ?, ?, ?)", (name, sha256, user, now))


def get_token_user(db: sqlite3.Connection, sha256: str) -> User | None:
    """Whose API token this is."""
    return _select_user(db, "id = (SELECT user FROM api_tokens WHERE sha256 = ?)", sha256)


def list_tokens(db: sqlite3.Connection) -> list[ApiToken]:
    """Every API token, the oldest first."""
    found = db.execute("SELECT name, user, created_at, used_at FROM api_tokens ORDER BY id")
    return [ApiToken(row["name"], row["user"], row["created_at"], row["used_at"]) for row in found]


def touch_token(db: sqlite3.Connection, sha256: str, now: float) -> None:
    """It is in use."""
    db.execute("UPDATE api_tokens SET used_at = ? WHERE sha256 = ?", (now, sha256))


def was_token_touched(db: sqlite3.Connection, sha256: str, *, since: float) -> bool:
    """That it is in use was written down after ``since``."""
    row = db.execute("SELECT 1 FROM api_tokens WHERE sha256 = ? AND used_at >= ?", (sha256, since)).fetchone()
    return row is not None


def delete_token(db: sqlite3.Connection, name: str) -> int | None:
    """Forget the API token of this name: whose it was, or None when there is none."""
    row = db.execute("DELETE FROM api_tokens WHERE name = ? RETURNING user", (name,)).fetchone()
    return None if row is None else int(row["user"])


def insert_link(db: sqlite3.Connection, sha256: str, user: int, expires_at: float) -> None:
    """Store a one-time login link by its hash."""
    db.execute("INSERT INTO login_links (sha256, user, expires_at) VALUES (?, ?, ?)", (sha256, user, expires_at))


def use_link(db: sqlite3.Connection, sha256: str, now: float) -> User | None:
    """Take a login link: whose it was, or None when it is unknown, expired or used."""
    taken = db.execute(
        "UPDATE login_links SET used_at = ? WHERE sha256 = ? AND used_at IS NULL AND expires_at > ? RETURNING user",
        (now, sha256, now),
    ).fetchone()
    return None if taken is None else get_user(db, int(taken["user"]))


def _put_identities(db: sqlite3.Connection, user: int, identities: Sequence[tuple[str, int]]) -> None:
    db.execute("DELETE FROM identities WHERE user = ?", (user,))
    db.executemany(
        "INSERT INTO identities (channel, external_id, user) VALUES (?, ?, ?)",
        [(channel, external_id, user) for channel, external_id in identities],
    )


def _select_user(db: sqlite3.Connection, where: str, *values: Any) -> User | None:
    row = db.execute(f"SELECT {_USER} FROM users WHERE {where} LIMIT 1", values).fetchone()  # noqa: S608 - see callers
    return None if row is None else _make_user(row)


def _make_user(row: sqlite3.Row) -> User:
    return User(
        id=int(row["id"]),
        name=str(row["name"]),
        role=Role(row["role"]),
        identities=tuple(json.loads(row["identities"]).items()),
        time_zone=str(row["time_zone"]),
        time_zone_known=bool(row["time_zone_known"]),
        daily_budget_micro=row["daily_budget_micro"],
        monthly_budget_micro=row["monthly_budget_micro"],
        language=str(row["language"]),
    )
