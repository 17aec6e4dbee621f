"""Rows of assets: the files that agents asked for from the internet."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from orchestrator.nouns import CubicleKey


class AssetStatus(StrEnum):
    """Where an asset stands; the first and ``FETCHING`` can change."""

    ASKED = "asked"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    FETCHING = "fetching"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that an agent asked for."""

    id: str
    """Its question's, where a person was asked."""
    cubicle: CubicleKey
    turn: int | None
    description: str
    """The agent's words."""
    url: str
    host: str
    """In ASCII."""
    file_type: str
    status: AssetStatus
    error: str
    """Why it failed, as a sentence."""
    onward: str
    """The asset that is waited for instead: the URL sends on to another host, which a person is asked about."""
    wanted: str
    """The name that it shall have in ``in/``."""
    name: str
    """The name that it has there; before the end, the one that it may have got already."""
    size_bytes: int
    sha256: str
    content_type: str
    """What the server says that it is."""
    asked_at: float
    ended_at: float | None
    told_turn: int | None
    """The turn at whose start the agent heard how it ended."""


def add(db: sqlite3.Connection, asset: Asset) -> None:
    """Write a new asset down."""
    db.execute(
        "INSERT INTO assets (id, agent, user, turn, description, url, host, file_type, status, wanted, asked_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            asset.id,
            asset.cubicle.agent,
            asset.cubicle.user,
            asset.turn,
            asset.description,
            asset.url,
            asset.host,
            asset.file_type,
            asset.status,
            asset.wanted,
            asset.asked_at,
        ),
    )


def one(db: sqlite3.Connection, asset: str) -> Asset | None:
    """The asset with this id."""
    row = db.execute("SELECT * FROM assets WHERE id = ?", (asset,)).fetchone()
    return None if row is None else _asset(row)


def every(
    db: sqlite3.Connection, *, status: AssetStatus | None = None, user: int | None = None, limit: int = 200
) -> list[Asset]:
    """The newest assets of one status and one person where given, newest first."""
    rows = db.execute(
        "SELECT * FROM assets WHERE (:status IS NULL OR status = :status) AND (:user IS NULL OR user = :user) "
        "ORDER BY asked_at DESC, id LIMIT :limit",
        {"status": status, "user": user, "limit": limit},
    )
    return [_asset(row) for row in rows]


def under_way(db: sqlite3.Connection, key: CubicleKey, url: str) -> Asset | None:
    """The download of the same for this cubicle that was agreed to and has not ended."""
    row = db.execute(
        "SELECT * FROM assets WHERE agent = ? AND user = ? AND url = ? AND status = 'fetching' ORDER BY asked_at",
        (key.agent, key.user, url),
    ).fetchone()
    return None if row is None else _asset(row)


def to_fetch(db: sqlite3.Connection) -> list[Asset]:
    """What a worker may take, oldest first; nothing of whoever is being deleted."""
    rows = db.execute(
        "SELECT * FROM assets WHERE status = 'fetching' AND onward = '' "
        "AND NOT EXISTS (SELECT 1 FROM leaving WHERE leaving.agent = assets.agent OR leaving.user = assets.user) "
        "ORDER BY asked_at, id"
    )
    return [_asset(row) for row in rows]


def is_wanted(db: sqlite3.Connection, asset: str) -> bool:
    """It is still to be fetched, for somebody who stays."""
    row = db.execute(
        "SELECT 1 FROM assets WHERE id = ? AND status = 'fetching' "
        "AND NOT EXISTS (SELECT 1 FROM leaving WHERE leaving.agent = assets.agent OR leaving.user = assets.user)",
        (asset,),
    ).fetchone()
    return row is not None


def begin(db: sqlite3.Connection, asset: str) -> bool:
    """A person has agreed; False when it does not wait for that."""
    return _changed(db, "UPDATE assets SET status = 'fetching' WHERE id = ? AND status = 'asked'", (asset,))


def may_lie(db: sqlite3.Connection, asset: str, *, name: str, size_bytes: int, sha256: str, content_type: str) -> bool:
    """From now on a file of this name with these bytes in ``in/`` is this one; False when it is wanted no more."""
    return _changed(
        db,
        "UPDATE assets SET name = ?, size_bytes = ?, sha256 = ?, content_type = ? WHERE id = ? AND status = 'fetching'",
        (name, size_bytes, sha256, content_type, asset),
    )


def send_on(db: sqlite3.Connection, asset: str, onward: str) -> bool:
    """From now on it waits for another; False when it has ended meanwhile."""
    return _changed(db, "UPDATE assets SET onward = ? WHERE id = ? AND status = 'fetching'", (onward, asset))


def led_here(db: sqlite3.Connection, asset: str) -> list[Asset]:
    """The assets that wait for this one, directly or by way of others."""
    rows = db.execute(
        "WITH RECURSIVE waiting (id) AS (SELECT id FROM assets WHERE onward = :id AND status = 'fetching' "
        "UNION SELECT assets.id FROM assets JOIN waiting ON assets.onward = waiting.id "
        "WHERE assets.status = 'fetching') SELECT assets.* FROM assets JOIN waiting USING (id) ORDER BY asked_at, id",
        {"id": asset},
    )
    return [_asset(row) for row in rows]


def end(db: sqlite3.Connection, asset: str, status: AssetStatus, now: float, *, error: str = "") -> bool:
    """It ends so; False when it had ended before."""
    return _changed(
        db,
        "UPDATE assets SET status = ?, ended_at = ?, error = ? WHERE id = ? AND status IN ('asked', 'fetching')",
        (status, now, error, asset),
    )


def copy_result(db: sqlite3.Connection, asset: str, other: Asset) -> None:
    """It came as ``other`` came."""
    db.execute(
        "UPDATE assets SET name = ?, size_bytes = ?, sha256 = ?, content_type = ? WHERE id = ?",
        (other.name, other.size_bytes, other.sha256, other.content_type, asset),
    )


def withhold(db: sqlite3.Connection, asset: str) -> None:
    """The agent need not be told of it: it knows."""
    db.execute("UPDATE assets SET told_turn = 0 WHERE id = ?", (asset,))


def tell(db: sqlite3.Connection, key: CubicleKey, turn: int) -> list[Asset]:
    """What ended and is told at the start of this turn: what nobody was told of yet, and, for a turn that is handed
    out again, the same once more."""
    db.execute(
        "UPDATE assets SET told_turn = :turn WHERE agent = :agent AND user = :user AND told_turn IS NULL "
        "AND status IN ('done', 'failed', 'denied', 'expired')",
        {"turn": turn, "agent": key.agent, "user": key.user},
    )
    rows = db.execute(
        "SELECT * FROM assets WHERE agent = ? AND user = ? AND told_turn = ? ORDER BY ended_at, id",
        (key.agent, key.user, turn),
    )
    return [_asset(row) for row in rows]


def _changed(db: sqlite3.Connection, statement: str, values: tuple[Any, ...]) -> bool:
    return db.execute(statement, values).rowcount == 1


def _asset(row: sqlite3.Row) -> Asset:
    fields: dict[str, Any] = dict(row)
    key = CubicleKey(fields.pop("agent"), fields.pop("user"))
    return Asset(**{**fields, "cubicle": key, "status": AssetStatus(fields["status"])})
