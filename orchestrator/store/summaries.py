"""Rows of summaries: what stands for the older part of a conversation, and what is to be summed up."""

from __future__ import annotations

import math
import sqlite3
from dataclasses import dataclass

from orchestrator.nouns import CubicleKey


@dataclass(frozen=True, slots=True)
class Summary:
    """One summary, made or to be made."""

    id: int
    cubicle: CubicleKey
    upto: int
    """The last turn that it stands for."""
    text: str
    """Empty while it is to be made."""
    tries: int
    made_at: float | None


def want(db: sqlite3.Connection, key: CubicleKey, upto: int, now: float) -> None:
    """The conversation up to this turn is to be summed up; one that is wanted already stays as it is."""
    db.execute(
        "INSERT INTO summaries (agent, user, upto, wanted_at) SELECT ?, ?, ?, ? WHERE NOT EXISTS "
        "(SELECT 1 FROM summaries WHERE agent = ? AND user = ? AND made_at IS NULL)",
        (key.agent, key.user, upto, now, key.agent, key.user),
    )


def latest(db: sqlite3.Connection, key: CubicleKey) -> Summary | None:
    """What stands for the older part of the conversation now."""
    row = db.execute(
        "SELECT * FROM summaries WHERE agent = ? AND user = ? AND made_at IS NOT NULL ORDER BY upto DESC LIMIT 1",
        (key.agent, key.user),
    ).fetchone()
    return None if row is None else _summary(row)


def next_wanted(db: sqlite3.Connection, now: float, *, longest_s: float = math.inf) -> Summary | None:
    """The one that has waited longest and may be tried now. One that would have to wait longer than ``longest_s`` was
    put off by a clock that has gone back since."""
    row = db.execute(
        "SELECT * FROM summaries WHERE made_at IS NULL AND (not_before <= ? OR not_before > ?) "
        "ORDER BY wanted_at LIMIT 1",
        (now, now + longest_s),
    ).fetchone()
    return None if row is None else _summary(row)


def put_off(db: sqlite3.Connection, summary: int, not_before: float) -> None:
    """It could not be made; it is tried again then."""
    db.execute("UPDATE summaries SET tries = tries + 1, not_before = ? WHERE id = ?", (not_before, summary))


def give_up(db: sqlite3.Connection, summary: int) -> None:
    """It is not wanted any more."""
    db.execute("DELETE FROM summaries WHERE id = ? AND made_at IS NULL", (summary,))


def make(db: sqlite3.Connection, summary: Summary, text: str, now: float) -> bool:
    """It stands from now on, and those before it go; False when the conversation was cleared meanwhile."""
    made = db.execute("UPDATE summaries SET text = ?, made_at = ? WHERE id = ?", (text, now, summary.id))
    db.execute(
        "DELETE FROM summaries WHERE agent = ? AND user = ? AND made_at IS NOT NULL AND upto < ?",
        (summary.cubicle.agent, summary.cubicle.user, summary.upto),
    )
    return made.rowcount == 1


def forget(db: sqlite3.Connection, key: CubicleKey) -> None:
    """The conversation was cleared."""
    db.execute("DELETE FROM summaries WHERE agent = ? AND user = ?", (key.agent, key.user))


def _summary(row: sqlite3.Row) -> Summary:
    return Summary(
        id=int(row["id"]),
        cubicle=CubicleKey(str(row["agent"]), int(row["user"])),
        upto=int(row["upto"]),
        text=str(row["text"]),
        tries=int(row["tries"]),
        made_at=row["made_at"],
    )
