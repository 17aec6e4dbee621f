"""Budgets: an agent's day in money, and in tokens where nobody knows a model's price; and a person's day and month over
all agents (``person_budget``). What a call may cost at most is
held before it is sent, and what it cost is booked after.

The sums that are checked and the hold that follows are one transaction, so parallel calls can't pass together. A call
whose end nobody saw costs its whole hold. Days are UTC days, taken when the call is held, and they only go forward: a
clock that steps back refunds nothing, for the agent's last day goes on until that day is really over.
"""

from __future__ import annotations

import calendar
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.agents import agent_rows
from orchestrator.agents.looks import shown_name
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import NotFound, OverBudget
from orchestrator.core.models import MICRO, Agent, CubicleKey, TokenUse
from orchestrator.llm import ledger_rows as rows
from orchestrator.llm import person_ledger_rows
from orchestrator.llm.conversation_use import ConversationUse, read_use
from orchestrator.llm.dollars import format_dollars
from orchestrator.llm.person_budget import PersonBudget, find_refusal, get_person_budget

_DAY_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Hold:
    """Money held for one call, and tokens where its price is unknown."""

    row: int
    micro: int
    key: CubicleKey
    turn: int | None
    model: str
    started_at: float
    day: str
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class _Bill:
    """How a hold ends."""

    state: str
    text: str
    micro: int
    tokens: int
    use: TokenUse


@dataclass(frozen=True, slots=True)
class BudgetState:
    """How an agent's day stands."""

    spent_micro: int
    held_micro: int
    budget_micro: int
    left_micro: int
    """What another call may cost; never below nothing."""
    tokens: int
    """Used and held, of models without a known price."""
    token_budget: int
    resets_at: float
    is_stopped: bool
    """Nothing is left, or what is left did not cover the last call."""


@dataclass(frozen=True, slots=True)
class Booking:
    """Something that changed what an agent has left of a day."""

    key: CubicleKey
    turn: int | None
    day: str
    sums: rows.SpendingDay
    """How that day stands now."""
    is_refused: bool


Booked = Callable[[sqlite3.Connection, Booking], None]
"""Hears of a booking within its transaction."""


class Budget:
    """Every agent's spending."""

    def __init__(
        self, store: Store, *, booked: Booked = lambda _db, _booking: None, now: Callable[[], float] = time.time
    ) -> None:
        """``booked`` writes down what follows from a booking."""
        self._store = store
        self._booked = booked
        self._now = now

    def get_today(self, agent: str) -> rows.SpendingDay:
        """What the agent has spent, and what is held, on its current day."""
        with self._store.reading() as db:
            return rows.get_day(db, agent, self._get_day(db, agent))

    def get_standing(self, agent: str) -> BudgetState:
        """How the agent's day stands; raises NotFound."""
        with self._store.reading() as db:
            found = agent_rows.get_agent(db, agent)
            date = self._get_day(db, agent)
            day = rows.get_day(db, agent, date)
        if found is None:
            raise NotFound(f"There is no agent called {agent[:40]!r}. './hermit agent list' shows all.")
        left = max(0, found.daily_budget_micro - day.spent_micro - day.reserved_micro)
        tokens = day.spent_tokens + day.reserved_tokens
        was_refused = (day.refused_micro, day.refused_tokens) == (found.daily_budget_micro, found.daily_budget_tokens)
        is_used_up = day.spent_micro + day.reserved_micro > 0 == left or tokens >= max(1, found.daily_budget_tokens)
        return BudgetState(
            spent_micro=day.spent_micro,
            held_micro=day.reserved_micro,
            budget_micro=found.daily_budget_micro,
            left_micro=left,
            tokens=tokens,
            token_budget=found.daily_budget_tokens,
            resets_at=_day_end(date),
            is_stopped=was_refused or is_used_up,
        )

    def get_person_standing(self, user: int) -> PersonBudget:
        """How the day and the month of a person stand, over all agents."""
        with self._store.reading() as db:
            day = max(_utc_date(self._now()), person_ledger_rows.get_latest_day(db, user))
            return get_person_budget(db, user, day)

    def read_use(self, conversation: int) -> ConversationUse:
        """What the conversation of this id takes; nothing for one without calls."""
        return read_use(self._store, conversation)

    def last_days(self, count: int) -> tuple[str, ...]:
        """The last UTC days as ``YYYY-MM-DD``, today the last of them."""
        now = self._now()
        return tuple(_utc_date(now - ago * _DAY_S) for ago in range(count - 1, -1, -1))

    def spent_since(self, day: str) -> list[rows.Spent]:
        """What was spent on this UTC day and after it, by day, agent and model."""
        with self._store.reading() as db:
            return rows.sum_spent_since(db, day)

    def reserve(
        self,
        agent: Agent,
        key: CubicleKey,
        turn: int | None,
        *,
        provider: str,
        model: str,
        micro: int,
        tokens: int = 0,
    ) -> Hold:
        """Hold ``micro`` micro-dollars for a call, and ``tokens`` where its price is unknown; raises OverBudget when
        the day's budgets, or what the person may spend, do not cover it."""
        now = self._now()
        with self._store.writing() as db:
            day = max(self._get_day(db, agent.name), person_ledger_rows.get_latest_day(db, key.user))
            if refusal := find_refusal(db, key.user, day, micro):
                raise OverBudget(refusal)
            row = rows.insert_reservation(
                db,
                agent=agent.name,
                user=key.user,
                turn=turn,
                day=day,
                provider=provider,
                model=model,
                micro=micro,
                budget_micro=agent.daily_budget_micro,
                now=now,
                tokens=tokens,
                budget_tokens=agent.daily_budget_tokens,
            )
            if row is not None:
                return Hold(row, micro, key, turn, model, now, day, tokens)
            spent = rows.get_day(db, agent.name, day)
            self._booked(db, Booking(key, turn, day, spent, is_refused=True))
        raise OverBudget(_refusal_text(agent, spent, micro, f"{provider} {model}", day))

    def settle_hold(self, hold: Hold, cost_micro: int, use: TokenUse, *, tokens: int = 0) -> None:
        """Book what a call that went through has cost."""
        text = (
            "Model call"
            if cost_micro <= hold.micro
            else f"Model call, dearer than the {format_dollars(hold.micro)} held"
        )
        self._close_hold(hold, _Bill("settled", text, cost_micro, tokens, use))

    def book_hold(self, hold: Hold, use: TokenUse, why: str) -> None:
        """Book the whole hold, because nobody knows what the call has cost."""
        self._close_hold(hold, _Bill("kept", f"Model call without a bill ({why})", hold.micro, hold.tokens, use))

    def release_hold(self, hold: Hold, why: str) -> None:
        """Give the hold back: the provider refused the call, so it has cost nothing."""
        self._close_hold(hold, _Bill("released", f"Model call refused ({why})", 0, 0, TokenUse()))

    def reconcile(self) -> None:
        """After a start: calls that were under way when we died are booked whole."""
        with self._store.writing() as db:
            for row, micro, tokens in rows.list_open_reservations(db):
                rows.close_reservation(
                    db,
                    row,
                    "kept",
                    cost_micro=micro,
                    prompt_tokens=None,
                    completion_tokens=None,
                    now=self._now(),
                    cost_tokens=tokens,
                )

    def _get_day(self, db: sqlite3.Connection, agent: str) -> str:
        """The UTC day by the clock, but never one before the last on which this agent asked for money."""
        return max(_utc_date(self._now()), rows.get_latest_day(db, agent))

    def _close_hold(self, hold: Hold, bill: _Bill) -> None:
        now = self._now()
        with self._store.writing() as db:
            sums = rows.close_reservation(
                db,
                hold.row,
                bill.state,
                cost_micro=bill.micro,
                prompt_tokens=bill.use.prompt,
                completion_tokens=bill.use.completion,
                now=now,
                cost_tokens=bill.tokens,
            )
            if sums is not None:
                _write_down(db, hold, bill, now)
                self._booked(db, Booking(hold.key, hold.turn, hold.day, sums, is_refused=False))


def _write_down(db: sqlite3.Connection, hold: Hold, bill: _Bill, now: float) -> None:
    audit_rows.insert_record(
        db,
        "model.call",
        f"{bill.text}: {hold.model}, {format_dollars(bill.micro)}",
        now=now,
        agent=hold.key.agent,
        user=hold.key.user,
        turn=hold.turn,
        detail={
            "model": hold.model,
            "prompt_tokens": bill.use.prompt,
            "completion_tokens": bill.use.completion,
            "cost_usd": bill.micro / MICRO,
            "latency_s": round(now - hold.started_at, 4),
            "state": bill.state,
        },
    )


def _refusal_text(agent: Agent, day: rows.SpendingDay, micro: int, model: str, date: str) -> str:
    goes_on = f"It continues by itself when {date} is over (midnight UTC)"
    if day.spent_micro + day.reserved_micro + micro > agent.daily_budget_micro:
        held = f", {format_dollars(day.reserved_micro)} held for calls under way" if day.reserved_micro else ""
        return (
            f"{shown_name(agent)} has no budget left today for another call: {format_dollars(day.spent_micro)} of "
            f"{format_dollars(agent.daily_budget_micro)} spent{held}, and this one may cost {format_dollars(micro)}. "
            f"{goes_on}; './hermit agent set {agent.name} daily_budget_usd=…' lets it continue now."
        )
    return (
        f"{shown_name(agent)} has used up today's tokens for models whose price is unknown: "
        f"{day.spent_tokens + day.reserved_tokens:,} of {agent.daily_budget_tokens:,}. {goes_on}; "
        f"'./hermit agent set {agent.name} daily_budget_tokens=…' lets it continue now, and so does a price: "
        f"'./hermit prices set {model} in=… out=…'."
    )


def _utc_date(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at))


def _day_end(date: str) -> float:
    """When this UTC day is over."""
    return calendar.timegm(time.strptime(date, "%Y-%m-%d")) + _DAY_S
