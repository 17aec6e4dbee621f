"""Rows of summaries: what stands for the older part of a conversation."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from orchestrator.core.models import CubicleKey
from orchestrator.turns import branch_rows

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


def get_latest(db: sqlite3.Connection, leaf: int | None) -> Summary | None:
    """What stands for the older part of the branch that ends with this turn."""
    upto = branch_rows.find_summed_up(db, leaf)
    if upto is None:
        return None
    row = db.execute("SELECT * FROM summaries WHERE upto = ? ORDER BY id DESC LIMIT 1", (upto,)).fetchone()
    key = CubicleKey(str(row["agent"]), int(row["user"]))
    return Summary(key, upto, str(row["text"]), float(row["made_at"]))


def insert_summary(
    db: sqlite3.Connection, key: CubicleKey, upto: int, text: str, now: float, *, instead_of: int | None
) -> None:
    """It stands from now on, and the one before it, up to ``instead_of``, goes. A branch that begins between the two is
    told whole again, until it is long enough for one of its own."""
    db.execute("DELETE FROM summaries WHERE upto IN (?, ?)", (upto, instead_of))
    db.execute(
        "INSERT INTO summaries (agent, user, upto, text, made_at) VALUES (?, ?, ?, ?, ?)",
        (key.agent, key.user, upto, text, now),
    )


def delete_summaries(db: sqlite3.Connection, conversation: int) -> None:
    """The conversation was cleared: none stands for it, and none is being made."""
    turns = "SELECT id FROM turns WHERE conversation = ?"
    db.execute(f"DELETE FROM summaries WHERE upto IN ({turns})", (conversation,))  # noqa: S608 - a constant
    db.execute(f"DELETE FROM jobs WHERE kind = ? AND turn IN ({turns})", (KIND, conversation))  # noqa: S608


def forget_turn(db: sqlite3.Connection, key: CubicleKey, turn: int) -> bool:
    """The turn is about to be deleted: no summary of it stands, and none that has read it is finished; whether there
    was one. What is left is told whole again, until it is summed up anew."""
    later = (
        "WITH RECURSIVE later (id) AS (SELECT ? UNION ALL SELECT turns.id FROM later JOIN turns "
        "ON turns.parent = later.id) SELECT id FROM later"
    )
    gone = db.execute(f"DELETE FROM summaries WHERE upto IN ({later})", (turn,)).rowcount  # noqa: S608 - a constant
    gone += db.execute(
        "DELETE FROM jobs WHERE kind = ? AND agent = ? AND user = ? AND state = 'running'", (KIND, key.agent, key.user)
    ).rowcount
    return gone > 0
