"""Rows of summaries: what stands for the older part of a conversation."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from orchestrator.core.models import CubicleKey

KIND = "summary"
"""The kind of jobs that make them."""


@dataclass(frozen=True, slots=True)
class Summary:
    """One summary."""

    cubicle: CubicleKey
    upto: int
    """The last turn that it stands for."""
    text: str
    made_at: float


def get_latest(db: sqlite3.Connection, key: CubicleKey) -> Summary | None:
    """What stands for the older part of the conversation now."""
    row = db.execute(
        "SELECT * FROM summaries WHERE agent = ? AND user = ? ORDER BY upto DESC LIMIT 1", (key.agent, key.user)
    ).fetchone()
    return None if row is None else Summary(key, int(row["upto"]), str(row["text"]), float(row["made_at"]))


def insert_summary(db: sqlite3.Connection, key: CubicleKey, upto: int, text: str, now: float) -> None:
    """It stands from now on, and those before it go."""
    db.execute("DELETE FROM summaries WHERE agent = ? AND user = ? AND upto <= ?", (key.agent, key.user, upto))
    db.execute(
        "INSERT INTO summaries (agent, user, upto, text, made_at) VALUES (?, ?, ?, ?, ?)",
        (key.agent, key.user, upto, text, now),
    )


def delete_summaries(db: sqlite3.Connection, key: CubicleKey) -> None:
    """The conversation was cleared: none stands for it, and none is being made."""
    db.execute("DELETE FROM summaries WHERE agent = ? AND user = ?", (key.agent, key.user))
    db.execute("DELETE FROM jobs WHERE kind = ? AND agent = ? AND user = ?", (KIND, key.agent, key.user))
