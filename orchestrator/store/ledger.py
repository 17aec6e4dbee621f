"""Rows of spending. A call's reservation and the day's sum change in one transaction, so the sum is always true."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Day:
    """An agent's day, in micro-dollars: ``spent`` is known or kept, ``reserved`` is held for calls under way."""

    spent_micro: int
    reserved_micro: int


def day(db: sqlite3.Connection, agent: str, day: str) -> Day:
    """The sums of one agent on one UTC day (``YYYY-MM-DD``)."""
    row = db.execute(
        "SELECT cost_micro, reserved_micro FROM spending_days WHERE agent = ? AND day = ?", (agent, day)
    ).fetchone()
    return Day(0, 0) if row is None else Day(int(row["cost_micro"]), int(row["reserved_micro"]))


def reserve(
    db: sqlite3.Connection,
    *,
    agent: str,
    user: int,
    turn: int | None,
    day: str,
    provider: str,
    model: str,
    micro: int,
    budget_micro: int,
    now: float,
) -> int | None:
    """Hold ``micro`` of the day's budget for a call: the row's id, or None when the budget does not cover it."""
    db.execute("INSERT INTO spending_days (agent, day) VALUES (?, ?) ON CONFLICT DO NOTHING", (agent, day))
    held = db.execute(
        "UPDATE spending_days SET reserved_micro = reserved_micro + :micro WHERE agent = :agent AND day = :day "
        "AND cost_micro + reserved_micro + :micro <= :budget",
        {"micro": micro, "agent": agent, "day": day, "budget": budget_micro},
    )
    if held.rowcount != 1:
        return None
    cursor = db.execute(
        "INSERT INTO spending (day, agent, user, turn, provider, model, state, reserved_micro, cost_micro, started_at) "
        "VALUES (?, ?, ?, ?, ?, ?, 'reserved', ?, 0, ?)",
        (day, agent, user, turn, provider, model, micro, now),
    )
    return int(cursor.lastrowid or 0)


def close(
    db: sqlite3.Connection,
    row: int,
    state: str,
    *,
    cost_micro: int,
    prompt_tokens: int | None,
    completion_tokens: int | None,
    now: float,
) -> bool:
    """End a reservation as ``settled``, ``kept`` or ``released``; False when it was ended before."""
    ended = db.execute(
        "UPDATE spending SET state = ?, cost_micro = ?, prompt_tokens = ?, completion_tokens = ?, ended_at = ? "
        "WHERE id = ? AND state = 'reserved' RETURNING agent, day, reserved_micro",
        (state, cost_micro, prompt_tokens, completion_tokens, now, row),
    ).fetchone()
    if ended is None:
        return False
    db.execute(
        "UPDATE spending_days SET reserved_micro = reserved_micro - ?, cost_micro = cost_micro + ? "
        "WHERE agent = ? AND day = ?",
        (ended["reserved_micro"], cost_micro, ended["agent"], ended["day"]),
    )
    return True


def open_rows(db: sqlite3.Connection) -> list[tuple[int, int]]:
    """Reservations that nobody ended: (row id, reserved micro-dollars). After a crash these are what was under way."""
    rows = db.execute("SELECT id, reserved_micro FROM spending WHERE state = 'reserved'")
    return [(int(row["id"]), int(row["reserved_micro"])) for row in rows]
