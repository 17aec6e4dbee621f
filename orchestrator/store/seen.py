"""Rows of what people have looked at: for each conversation the newest turn that its person saw, and when."""

from __future__ import annotations

import sqlite3

from orchestrator.nouns import CubicleKey

_NEWS = """
    FROM turns LEFT JOIN seen ON seen.agent = turns.agent AND seen.user = turns.user
    WHERE turns.user = :user AND turns.forgotten = 0 AND turns.status IN ('done', 'failed', 'stopped')
        AND (turns.id > COALESCE(seen.turn, 0) OR turns.ended_at > COALESCE(seen.at, 0))
        AND turns.source NOT IN ('telegram', 'terminal')
        AND NOT (turns.source = 'calendar' AND (
            (turns.status = 'done' AND TRIM(COALESCE(turns.reply, ''), char(9, 10, 13, 32)) = '')
            OR UPPER(LTRIM(turns.prompt, char(9, 10, 13, 32))) LIKE 'INTERNAL:%'))
"""
"""What ended since, and is told here: what was asked on another surface is answered there, and silent runs of the
calendar are told to nobody."""


def mark(db: sqlite3.Connection, key: CubicleKey, turn: int, now: float) -> bool:
    """The person has seen this turn and what came before it; False when there is no such turn of theirs."""
    cursor = db.execute(
        "INSERT INTO seen (agent, user, turn, at) SELECT agent, user, id, :now FROM turns "
        "WHERE id = :turn AND agent = :agent AND user = :user "
        "ON CONFLICT (agent, user) DO UPDATE SET turn = MAX(turn, excluded.turn), at = MAX(at, excluded.at)",
        {"agent": key.agent, "user": key.user, "turn": turn, "now": now},
    )
    return cursor.rowcount == 1


def unread(db: sqlite3.Connection, user: int) -> dict[str, int]:
    """How many turns a person has not seen the end of, by agent."""
    found = db.execute(f"SELECT turns.agent, COUNT(*) AS many {_NEWS} GROUP BY turns.agent", {"user": user})
    return {str(row["agent"]): int(row["many"]) for row in found}


def first_unread(db: sqlite3.Connection, key: CubicleKey) -> int | None:
    """The oldest turn of a conversation that its person has not seen the end of."""
    row = db.execute(
        f"SELECT MIN(turns.id) AS first {_NEWS} AND turns.agent = :agent", {"agent": key.agent, "user": key.user}
    ).fetchone()
    return None if row["first"] is None else int(row["first"])
