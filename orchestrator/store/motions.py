"""Rows of motions: which videos a cubicle's agent wished for, how far each is, and how it went."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.nouns import CubicleKey

QUEUED, RENDERING, PLACING, DONE, FAILED = "queued", "rendering", "placing", "done", "failed"
_OPEN = "status IN ('queued', 'rendering', 'placing')"
_STAYS = "NOT EXISTS (SELECT 1 FROM leaving WHERE leaving.agent = motions.agent OR leaving.user = motions.user)"
"""Nothing is done for whoever is being deleted."""


@dataclass(frozen=True, slots=True)
class Motion:
    """One wish for a video."""

    id: int
    cubicle: CubicleKey
    turn: int | None
    text: str
    seconds: float
    name: str
    """Under which it was wished for, made safe."""
    status: str
    error: str
    """Why there is none, as a sentence."""
    placed: str
    """The name that it has, or is about to get."""
    size_bytes: int
    left_out: int
    """How many letters could not be drawn."""
    tries: int
    is_late: bool
    """It ended when nobody waited for it, so the agent has yet to hear of it."""
    told: int | None
    """The later turn that was told."""
    asked_at: float
    ended_at: float | None


def add(
    db: sqlite3.Connection, key: CubicleKey, turn: int | None, *, text: str, seconds: float, name: str, now: float
) -> int:
    """Write a wish down; its number."""
    cursor = db.execute(
        "INSERT INTO motions (agent, user, turn, text, seconds, name, status, asked_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (key.agent, key.user, turn, text, seconds, name, QUEUED, now),
    )
    return int(cursor.lastrowid or 0)


def one(db: sqlite3.Connection, number: int) -> Motion | None:
    """The motion of that number."""
    row = db.execute("SELECT * FROM motions WHERE id = ?", (number,)).fetchone()
    return None if row is None else _motion(row)


def open_count(db: sqlite3.Connection, key: CubicleKey) -> int:
    """How many of this cubicle's are not done yet."""
    row = db.execute(
        f"SELECT COUNT(*) FROM motions WHERE agent = ? AND user = ? AND {_OPEN}",  # noqa: S608 - constant
        (key.agent, key.user),
    ).fetchone()
    return int(row[0])


def seconds_since(db: sqlite3.Connection, key: CubicleKey, since: float) -> float:
    """How much video this cubicle has wished for since then."""
    row = db.execute(
        "SELECT COALESCE(SUM(seconds), 0) FROM motions WHERE agent = ? AND user = ? AND asked_at > ?",
        (key.agent, key.user, since),
    ).fetchone()
    return float(row[0])


def next_to_do(db: sqlite3.Connection) -> Motion | None:
    """The oldest that is not done, of somebody who stays; what is nearly there goes first."""
    row = db.execute(
        f"SELECT * FROM motions WHERE {_OPEN} AND {_STAYS} ORDER BY status != 'placing', id LIMIT 1"  # noqa: S608 - constant
    ).fetchone()
    return None if row is None else _motion(row)


def is_wanted(db: sqlite3.Connection, number: int) -> bool:
    """It is still to be done, for somebody who stays."""
    row = db.execute(
        f"SELECT 1 FROM motions WHERE id = ? AND {_OPEN} AND {_STAYS}",  # noqa: S608 - constant
        (number,),
    ).fetchone()
    return row is not None


def begin(db: sqlite3.Connection, number: int) -> None:
    """It is worked on once more."""
    db.execute(
        "UPDATE motions SET tries = tries + 1, status = iif(status = 'queued', 'rendering', status) WHERE id = ?",
        (number,),
    )


def put_back(db: sqlite3.Connection, number: int) -> None:
    """It was not worked on after all, and waits as before."""
    db.execute(
        "UPDATE motions SET tries = tries - 1, status = iif(status = 'rendering', 'queued', status) WHERE id = ?",
        (number,),
    )


def set_placing(db: sqlite3.Connection, number: int, placed: str, *, size_bytes: int, left_out: int) -> None:
    """It lies hidden in the tray, and is about to get this name."""
    db.execute(
        "UPDATE motions SET status = 'placing', placed = ?, size_bytes = ?, left_out = ? "
        "WHERE id = ? AND status IN ('rendering', 'placing')",
        (placed, size_bytes, left_out, number),
    )


def end(db: sqlite3.Connection, number: int, status: str, *, error: str, is_late: bool, now: float) -> bool:
    """It has ended; False when it had before, or is gone with its agent."""
    cursor = db.execute(
        f"UPDATE motions SET status = ?, error = ?, is_late = ?, ended_at = ? WHERE id = ? AND {_OPEN}",  # noqa: S608 - constant
        (status, error, int(is_late), now, number),
    )
    return cursor.rowcount == 1


def untold(db: sqlite3.Connection, key: CubicleKey, turn: int) -> list[Motion]:
    """What ended when nobody waited, and no turn but this one was told of."""
    rows = db.execute(
        "SELECT * FROM motions WHERE agent = ? AND user = ? AND is_late = 1 AND (told IS NULL OR told = ?) "
        "ORDER BY id LIMIT 10",
        (key.agent, key.user, turn),
    )
    return [_motion(row) for row in rows]


def set_told(db: sqlite3.Connection, numbers: Sequence[int], turn: int) -> None:
    """This turn was told of these."""
    db.executemany("UPDATE motions SET told = ? WHERE id = ?", [(turn, number) for number in numbers])


def forget(db: sqlite3.Connection, before: float) -> None:
    """Those that ended before then go; the audit log has them."""
    db.execute("DELETE FROM motions WHERE ended_at < ?", (before,))


def _motion(row: sqlite3.Row) -> Motion:
    fields: dict[str, Any] = dict(row)
    key = CubicleKey(fields.pop("agent"), fields.pop("user"))
    return Motion(**{**fields, "is_late": bool(fields["is_late"])}, cubicle=key)
