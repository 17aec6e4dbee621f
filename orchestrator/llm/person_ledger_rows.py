"""Rows of what people have spent over all agents, by period: a UTC day (``YYYY-MM-DD``) or month (``YYYY-MM``). A call
is held and booked in both, in the transaction that does so for its agent.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PersonSums:
    """A person's period, in micro-dollars."""

    spent_micro: int
    reserved_micro: int

    @property
    def taken_micro(self) -> int:
        """What is not left any more."""
        return self.spent_micro + self.reserved_micro


def get_sums(db: sqlite3.Connection, user: int, period: str) -> PersonSums:
    """What the person has spent in this period, and what is held."""
    row = db.execute(
        "SELECT cost_micro, reserved_micro FROM person_spending WHERE user = ? AND period = ?", (user, period)
    ).fetchone()
    return PersonSums(0, 0) if row is None else PersonSums(*row)


def get_latest_day(db: sqlite3.Connection, user: int) -> str:
    """The last day on which a call of this person was held; empty when none ever was."""
    row = db.execute(
        "SELECT MAX(period) FROM person_spending WHERE user = ? AND LENGTH(period) = 10", (user,)
    ).fetchone()
    return str(row[0] or "")


def get_budgets(db: sqlite3.Connection, user: int) -> tuple[int | None, int | None]:
    """What the person may spend in a day and in a month; None for no limit."""
    row = db.execute("SELECT daily_budget_micro, monthly_budget_micro FROM users WHERE id = ?", (user,)).fetchone()
    return (None, None) if row is None else (row[0], row[1])


def add_hold(db: sqlite3.Connection, user: int, day: str, micro: int) -> None:
    """Hold so much of the person's day and month."""
    db.executemany(
        "INSERT INTO person_spending (user, period, reserved_micro) VALUES (?, ?, ?) "
        "ON CONFLICT DO UPDATE SET reserved_micro = reserved_micro + excluded.reserved_micro",
        [(user, period, micro) for period in (day, month_of(day))],
    )


def close_hold(db: sqlite3.Connection, user: int, day: str, *, reserved_micro: int, cost_micro: int) -> None:
    """What was held is no longer; this much was spent."""
    db.executemany(
        "UPDATE person_spending SET reserved_micro = reserved_micro - ?, cost_micro = cost_micro + ? "
        "WHERE user = ? AND period = ?",
        [(reserved_micro, cost_micro, user, period) for period in (day, month_of(day))],
    )


def month_of(day: str) -> str:
    """``2026-11-25`` as ``2026-11``."""
    return day[:7]
