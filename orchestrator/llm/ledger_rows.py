"""Rows of spending: dollars, and tokens of models whose price nobody knows. A call's reservation and the day's sums
change in one transaction, so the sums are always true.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from orchestrator.llm import person_ledger_rows


@dataclass(frozen=True, slots=True)
class SpendingDay:
    """An agent's day: what is ``spent`` is known or kept, what is ``reserved`` is held for calls under way. Dollars are
    in micro-dollars, tokens are those of models without a known price."""

    spent_micro: int
    reserved_micro: int
    spent_tokens: int = 0
    reserved_tokens: int = 0
    refused_micro: int | None = None
    """The budgets that did not cover the last call, where the last call was refused for that."""
    refused_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Unpriced:
    """A model whose price nobody knew when it was called."""

    provider: str
    model: str
    calls: int
    tokens: int
    last_at: float


@dataclass(frozen=True, slots=True)
class Spent:
    """What one agent spent on one model on one UTC day."""

    day: str
    agent: str
    provider: str
    model: str
    calls: int
    micro: int
    tokens: int
    unpriced: int
    """How many of the calls were made at a guessed price, as nobody knew the true one."""


_NOTHING = SpendingDay(0, 0)
_SUMS = "cost_micro, reserved_micro, cost_tokens, reserved_tokens, refused_micro, refused_tokens"
"""The columns of a ``SpendingDay``, in its order."""


def get_day(db: sqlite3.Connection, agent: str, day: str) -> SpendingDay:
    """The sums of one agent on one UTC day (``YYYY-MM-DD``)."""
    row = db.execute(
        f"SELECT {_SUMS} FROM spending_days WHERE agent = ? AND day = ?",  # noqa: S608 - constant columns
        (agent, day),
    ).fetchone()
    return _NOTHING if row is None else SpendingDay(*row)


def get_latest_day(db: sqlite3.Connection, agent: str) -> str:
    """The last day on which this agent asked for money; empty when it never did."""
    row = db.execute("SELECT MAX(day) FROM spending_days WHERE agent = ?", (agent,)).fetchone()
    return str(row[0] or "")


def insert_reservation(
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
    tokens: int = 0,
    budget_tokens: int = 0,
) -> int | None:
    """Hold ``micro`` of the day's budget for a call, and ``tokens`` where there are any to hold: the row's id, or None
    when the budgets do not cover it."""
    values = {"agent": agent, "day": day, "micro": micro, "tokens": tokens}
    budgets = {"budget": budget_micro, "most": budget_tokens}
    is_held = _add_hold(db, values | budgets)
    if not is_held and _begin_day(db, agent, day):
        is_held = _add_hold(db, values | budgets)
    if not is_held:
        db.execute(
            "UPDATE spending_days SET refused_micro = :budget, refused_tokens = :most "
            "WHERE agent = :agent AND day = :day",
            values | budgets,
        )
        return None
    cursor = db.execute(
        "INSERT INTO spending (day, agent, user, turn, provider, model, state, reserved_micro, reserved_tokens, "
        "cost_micro, started_at) VALUES (?, ?, ?, ?, ?, ?, 'reserved', ?, ?, 0, ?)",
        (day, agent, user, turn, provider, model, micro, tokens, now),
    )
    person_ledger_rows.add_hold(db, user, day, micro)
    return int(cursor.lastrowid or 0)


def _add_hold(db: sqlite3.Connection, values: dict[str, Any]) -> bool:
    """Add to what is held on a day that has begun, if its budgets cover it."""
    held = db.execute(
        "UPDATE spending_days SET reserved_micro = reserved_micro + :micro, reserved_tokens = reserved_tokens + "
        ":tokens, refused_micro = NULL, refused_tokens = NULL WHERE agent = :agent AND day = :day "
        "AND cost_micro + reserved_micro + :micro <= :budget "
        "AND (:tokens = 0 OR cost_tokens + reserved_tokens + :tokens <= :most)",
        values,
    )
    return held.rowcount == 1


def _begin_day(db: sqlite3.Connection, agent: str, day: str) -> bool:
    """The agent's first call of the day; False when it is not."""
    begun = db.execute("INSERT INTO spending_days (agent, day) VALUES (?, ?) ON CONFLICT DO NOTHING", (agent, day))
    return begun.rowcount == 1


def close_reservation(
    db: sqlite3.Connection,
    row: int,
    state: str,
    *,
    cost_micro: int,
    prompt_tokens: int | None,
    completion_tokens: int | None,
    now: float,
    cost_tokens: int = 0,
) -> SpendingDay | None:
    """End a reservation as ``settled``, ``kept`` or ``released``: how its day stands then, None when it was ended
    before. ``cost_tokens`` counts only where tokens were held."""
    ended = db.execute(
        "UPDATE spending SET state = ?, cost_micro = ?, prompt_tokens = ?, completion_tokens = ?, ended_at = ?, "
        "cost_tokens = CASE WHEN reserved_tokens > 0 THEN ? ELSE 0 END "
        "WHERE id = ? AND state = 'reserved' RETURNING agent, user, day, reserved_micro, reserved_tokens, cost_tokens",
        (state, cost_micro, prompt_tokens, completion_tokens, now, cost_tokens, row),
    ).fetchone()
    if ended is None:
        return None
    person_ledger_rows.close_hold(
        db, ended["user"], ended["day"], reserved_micro=ended["reserved_micro"], cost_micro=cost_micro
    )
    sums = db.execute(
        "UPDATE spending_days SET reserved_micro = reserved_micro - ?, cost_micro = cost_micro + ?, "  # noqa: S608 - constant columns
        "reserved_tokens = reserved_tokens - ?, cost_tokens = cost_tokens + ?, "
        f"refused_micro = NULL, refused_tokens = NULL WHERE agent = ? AND day = ? RETURNING {_SUMS}",
        (
            ended["reserved_micro"],
            cost_micro,
            ended["reserved_tokens"],
            ended["cost_tokens"],
            ended["agent"],
            ended["day"],
        ),
    ).fetchone()
    return SpendingDay(*sums)


def list_open_reservations(db: sqlite3.Connection) -> list[tuple[int, int, int]]:
    """Reservations that nobody ended: (row id, reserved micro-dollars, reserved tokens). After a crash these are what
    was under way."""
    rows = db.execute("SELECT id, reserved_micro, reserved_tokens FROM spending WHERE state = 'reserved'")
    return [(int(row[0]), int(row[1]), int(row[2])) for row in rows]


def mark_told(db: sqlite3.Connection, agent: str, day: str, level: int, user: int) -> bool:
    """Write down that this person hears of this level of the agent's day now; False when they did before."""
    cursor = db.execute(
        "INSERT INTO budget_told (agent, day, level, user) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (agent, day, level, user),
    )
    return cursor.rowcount == 1


def list_unpriced_models(db: sqlite3.Connection) -> list[Unpriced]:
    """The models whose price nobody knew when they were called, the last first."""
    rows = db.execute(
        "SELECT provider, model, COUNT(*), SUM(cost_tokens), MAX(started_at) AS at FROM spending "
        "WHERE reserved_tokens > 0 GROUP BY provider, model ORDER BY at DESC LIMIT 200"
    )
    return [Unpriced(str(row[0]), str(row[1]), int(row[2]), int(row[3]), float(row[4])) for row in rows]


def sum_spent_since(db: sqlite3.Connection, day: str) -> list[Spent]:
    """What was spent on this UTC day and after it; calls that came to nothing are no part of it."""
    rows = db.execute(
        "SELECT day, agent, provider, model, COUNT(*), SUM(cost_micro), "
        "SUM(COALESCE(prompt_tokens, 0) + COALESCE(completion_tokens, 0)), SUM(reserved_tokens > 0) FROM spending "
        "WHERE day >= ? AND state IN ('settled', 'kept') GROUP BY day, agent, provider, model ORDER BY day, agent",
        (day,),
    )
    return [Spent(*row) for row in rows]
