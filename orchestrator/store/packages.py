"""Rows of installations: which packages a cubicle's agent wished for, what they came to, and how it went."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.nouns import CubicleKey

RESOLVING, ASKED, DOWNLOADING, DONE = "resolving", "asked", "downloading", "done"
DENIED, EXPIRED, CANCELLED, FAILED = "denied", "expired", "cancelled", "failed"
STATUSES = (RESOLVING, ASKED, DOWNLOADING, DONE, DENIED, EXPIRED, CANCELLED, FAILED)
_STAYS = (
    "NOT EXISTS (SELECT 1 FROM leaving WHERE leaving.agent = installations.agent OR leaving.user = installations.user)"
)
"""Nothing is done for whoever is being deleted."""


@dataclass(frozen=True, slots=True)
class Installation:
    """One wish for packages."""

    id: int
    cubicle: CubicleKey
    turn: int | None
    system: str
    """``pip`` or ``npm``."""
    asked: tuple[str, ...]
    status: str
    """One of ``STATUSES``."""
    error: str
    """Why it ended without packages, as a sentence."""
    packages: tuple[dict[str, Any], ...]
    """The whole list, once it is known (`packages.lists.kept`)."""
    approval: str | None
    tries: int
    """How often its errand was begun."""
    is_late: bool
    """It ended after its turn, so the agent has yet to hear of it."""
    told: int | None
    """The later turn that was told."""
    asked_at: float
    ended_at: float | None


def add(
    db: sqlite3.Connection, key: CubicleKey, turn: int | None, *, system: str, asked: Sequence[str], now: float
) -> int:
    """Write a wish down; its number."""
    cursor = db.execute(
        "INSERT INTO installations (agent, user, turn, system, asked, status, asked_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (key.agent, key.user, turn, system, json.dumps(list(asked)), RESOLVING, now),
    )
    return int(cursor.lastrowid or 0)


def one(db: sqlite3.Connection, number: int) -> Installation | None:
    """The installation of that number."""
    row = db.execute("SELECT * FROM installations WHERE id = ?", (number,)).fetchone()
    return None if row is None else _installation(row)


def every(
    db: sqlite3.Connection, *, status: str | None = None, user: int | None = None, limit: int = 200
) -> list[Installation]:
    """The newest, of one status and one person where given."""
    rows = db.execute(
        "SELECT * FROM installations WHERE (:status IS NULL OR status = :status) AND (:user IS NULL OR user = :user) "
        "ORDER BY id DESC LIMIT :limit",
        {"status": status, "user": user, "limit": limit},
    )
    return [_installation(row) for row in rows]


def same(db: sqlite3.Connection, key: CubicleKey, system: str, asked: Sequence[str]) -> Installation | None:
    """The newest one of this cubicle with the same wish that is under way or done."""
    row = db.execute(
        "SELECT * FROM installations WHERE agent = ? AND user = ? AND system = ? AND asked = ? "
        "AND status IN ('resolving', 'asked', 'downloading', 'done') ORDER BY id DESC LIMIT 1",
        (key.agent, key.user, system, json.dumps(list(asked))),
    ).fetchone()
    return None if row is None else _installation(row)


def begun_since(db: sqlite3.Connection, key: CubicleKey, since: float) -> int:
    """How many this cubicle has begun since then."""
    row = db.execute(
        "SELECT COUNT(*) FROM installations WHERE agent = ? AND user = ? AND asked_at > ?", (key.agent, key.user, since)
    ).fetchone()
    return int(row[0])


def next_to_do(db: sqlite3.Connection) -> Installation | None:
    """The oldest that waits for a courier, of somebody who stays; what was agreed to goes first."""
    row = db.execute(
        f"SELECT * FROM installations WHERE status IN ('resolving', 'downloading') AND {_STAYS} "  # noqa: S608 - constant
        "ORDER BY status, id LIMIT 1"
    ).fetchone()
    return None if row is None else _installation(row)


def is_wanted(db: sqlite3.Connection, number: int) -> bool:
    """It is still to be done, for somebody who stays."""
    row = db.execute(
        f"SELECT 1 FROM installations WHERE id = ? AND status IN ('resolving', 'downloading') AND {_STAYS}",  # noqa: S608 - constant
        (number,),
    ).fetchone()
    return row is not None


def of_approval(db: sqlite3.Connection, approval: str) -> list[Installation]:
    """Those that wait for this decision."""
    rows = db.execute("SELECT * FROM installations WHERE approval = ? AND status = 'asked' ORDER BY id", (approval,))
    return [_installation(row) for row in rows]


def begin(db: sqlite3.Connection, number: int, by: int = 1) -> None:
    """Its errand is begun once more, or with -1 was not."""
    db.execute("UPDATE installations SET tries = tries + ? WHERE id = ?", (by, number))


def set_asked(db: sqlite3.Connection, number: int, packages: Sequence[Mapping[str, Any]], approval: str) -> None:
    """It is known what the wish comes to, and a person is asked."""
    listed = json.dumps([dict(package) for package in packages])
    db.execute(
        "UPDATE installations SET status = 'asked', packages = ?, approval = ?, tries = 0 WHERE id = ?",
        (listed, approval, number),
    )


def set_downloading(db: sqlite3.Connection, number: int) -> None:
    """A person agreed."""
    db.execute("UPDATE installations SET status = 'downloading' WHERE id = ? AND status = 'asked'", (number,))


def end(db: sqlite3.Connection, number: int, status: str, *, error: str, is_late: bool, now: float) -> bool:
    """It has ended; False when it had before, or is gone with its agent."""
    cursor = db.execute(
        "UPDATE installations SET status = ?, error = ?, is_late = ?, ended_at = ? WHERE id = ? "
        "AND status IN ('resolving', 'asked', 'downloading')",
        (status, error, int(is_late), now, number),
    )
    return cursor.rowcount == 1


def untold(db: sqlite3.Connection, key: CubicleKey, turn: int) -> list[Installation]:
    """What ended after its turn and no turn but this one was told of."""
    rows = db.execute(
        "SELECT * FROM installations WHERE agent = ? AND user = ? AND is_late = 1 AND (told IS NULL OR told = ?) "
        "ORDER BY id LIMIT 10",
        (key.agent, key.user, turn),
    )
    return [_installation(row) for row in rows]


def set_told(db: sqlite3.Connection, numbers: Sequence[int], turn: int) -> None:
    """This turn was told of these."""
    db.executemany("UPDATE installations SET told = ? WHERE id = ?", [(turn, number) for number in numbers])


def done_before(db: sqlite3.Connection, before: float) -> list[Installation]:
    """Those done before then, whose files are still kept."""
    rows = db.execute("SELECT * FROM installations WHERE status = 'done' AND ended_at < ? LIMIT 100", (before,))
    return [_installation(row) for row in rows]


def forget(db: sqlite3.Connection, number: int) -> None:
    """Nothing is known of it any more but what the audit log has."""
    db.execute("DELETE FROM installations WHERE id = ?", (number,))


def forget_ended(db: sqlite3.Connection, before: float) -> None:
    """Those that ended without packages before then go."""
    db.execute("DELETE FROM installations WHERE ended_at < ? AND status != 'done'", (before,))


def _installation(row: sqlite3.Row) -> Installation:
    fields: dict[str, Any] = dict(row)
    key = CubicleKey(fields.pop("agent"), fields.pop("user"))
    asked, packages = tuple(json.loads(fields.pop("asked"))), tuple(json.loads(fields.pop("packages")))
    is_late = bool(fields.pop("is_late"))
    return Installation(**fields, cubicle=key, asked=asked, packages=packages, is_late=is_late)
