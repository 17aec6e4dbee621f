"""A person's budget: what their model calls may cost over all agents, in a UTC day and in a UTC month, where an
operator said so. It is held before the call and booked after it, in the same transactions as the agent's (``budget``).
"""

from __future__ import annotations

import calendar
import sqlite3
import time
from dataclasses import dataclass

from orchestrator.agents import user_rows
from orchestrator.core.text import one_line
from orchestrator.llm import person_ledger_rows as rows
from orchestrator.llm.dollars import format_dollars


@dataclass(frozen=True, slots=True)
class PersonBudget:
    """How a person's day and month stand; of calls under way what is held counts as spent."""

    today_micro: int
    month_micro: int
    daily_micro: int | None
    """The limit; None for none."""
    monthly_micro: int | None
    day_ends_at: float
    month_ends_at: float

    @property
    def left_micro(self) -> int | None:
        """What another call may cost; None without a limit."""
        limits = ((self.daily_micro, self.today_micro), (self.monthly_micro, self.month_micro))
        left = [max(0, limit - taken) for limit, taken in limits if limit is not None]
        return min(left) if left else None

    @property
    def is_used_up(self) -> bool:
        """Nothing is left."""
        return self.left_micro == 0


def get_person_budget(db: sqlite3.Connection, user: int, day: str) -> PersonBudget:
    """How this person stands on this UTC day."""
    daily, monthly = rows.get_budgets(db, user)
    month = rows.month_of(day)
    return PersonBudget(
        rows.get_sums(db, user, day).taken_micro,
        rows.get_sums(db, user, month).taken_micro,
        daily,
        monthly,
        calendar.timegm(time.strptime(day, "%Y-%m-%d")) + 24 * 3600.0,
        _month_end(month),
    )


def find_refusal(db: sqlite3.Connection, user: int, day: str, micro: int) -> str:
    """Why a call that may cost so much is not made for this person, as they read it; empty when it may be."""
    standing = get_person_budget(db, user, day)
    periods = (
        ("today", standing.today_micro, standing.daily_micro, "daily", day),
        ("this month", standing.month_micro, standing.monthly_micro, "monthly", rows.month_of(day)),
    )
    for when, taken, limit, kind, period in periods:
        if limit is not None and taken + micro > limit:
            person = user_rows.get_user(db, user)
            name = one_line(person.name, 64) if person else str(user)
            spent = f"{format_dollars(taken)} of {format_dollars(limit)} spent with all agents"
            return (
                f"{name} has no budget left {when} for another call: {spent}, and this one may cost "
                f"{format_dollars(micro)}. It continues by itself when {period} is over (midnight UTC). Whoever runs "
                "this install can raise it: under People in the dashboard, or with "
                f"'./hermit user set NAME {kind}_budget_usd=…'."
            )
    return ""


def _month_end(month: str) -> float:
    year, number = int(month[:4]), int(month[5:])
    year, number = (year + 1, 1) if number == 12 else (year, number + 1)
    return float(calendar.timegm((year, number, 1, 0, 0, 0, 0, 0, 0)))
