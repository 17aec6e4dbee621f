"""Budgets: an agent's day in money. What a call may cost at most is held before it is sent, and what it cost is booked
after.

The sum that is checked and the hold that follows are one transaction, so parallel calls can't pass together. A call
whose end nobody saw costs its whole hold. Days are UTC days, taken when the call is held; a clock that steps back
refunds nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from orchestrator.errors import OverBudget
from orchestrator.nouns import MICRO, Agent, CubicleKey, TokenUse
from orchestrator.store import audit as audit_rows
from orchestrator.store import ledger as rows
from orchestrator.store.database import Store


@dataclass(frozen=True, slots=True)
class Hold:
    """Money held for one call."""

    row: int
    micro: int
    key: CubicleKey
    turn: int | None
    model: str
    started_at: float


class Budget:
    """Every agent's spending."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def today(self, agent: str) -> rows.Day:
        """What the agent has spent, and what is held, on this UTC day."""
        with self._store.reading() as db:
            return rows.day(db, agent, _day(time.time()))

    def reserve(
        self, agent: Agent, key: CubicleKey, turn: int | None, *, provider: str, model: str, micro: int
    ) -> Hold:
        """Hold ``micro`` micro-dollars for a call; raises OverBudget when the day's budget does not cover it."""
        now = time.time()
        with self._store.writing() as db:
            row = rows.reserve(
                db,
                agent=agent.name,
                user=key.user,
                turn=turn,
                day=_day(now),
                provider=provider,
                model=model,
                micro=micro,
                budget_micro=agent.daily_budget_micro,
                now=now,
            )
            spent = rows.day(db, agent.name, _day(now))
        if row is None:
            raise OverBudget(
                f"Today's budget of {dollars(agent.daily_budget_micro)} for {agent.name} does not cover another call "
                f"({dollars(spent.spent_micro)} spent, {dollars(spent.reserved_micro)} held, this one may cost "
                f"{dollars(micro)}). Raise it with './hermit agent set {agent.name} daily_budget_usd=…', or wait until "
                "midnight UTC."
            )
        return Hold(row, micro, key, turn, model, now)

    def settle(self, hold: Hold, cost_micro: int, use: TokenUse) -> None:
        """Book what a call that went through has cost."""
        self._close(hold, "settled", cost_micro, use, "Model call")

    def keep(self, hold: Hold, use: TokenUse, why: str) -> None:
        """Book the whole hold, because nobody knows what the call has cost."""
        self._close(hold, "kept", hold.micro, use, f"Model call without a bill ({why})")

    def release(self, hold: Hold, why: str) -> None:
        """Give the hold back: the provider refused the call, so it has cost nothing."""
        self._close(hold, "released", 0, TokenUse(), f"Model call refused ({why})")

    def reconcile(self) -> None:
        """After a start: calls that were under way when we died are booked whole."""
        with self._store.writing() as db:
            for row, micro in rows.open_rows(db):
                rows.close(
                    db, row, "kept", cost_micro=micro, prompt_tokens=None, completion_tokens=None, now=time.time()
                )

    def _close(self, hold: Hold, state: str, cost_micro: int, use: TokenUse, text: str) -> None:
        now = time.time()
        with self._store.writing() as db:
            closed = rows.close(
                db,
                hold.row,
                state,
                cost_micro=cost_micro,
                prompt_tokens=use.prompt,
                completion_tokens=use.completion,
                now=now,
            )
            if closed:
                audit_rows.add(
                    db,
                    "model.call",
                    f"{text}: {hold.model}, {dollars(cost_micro)}",
                    now=now,
                    agent=hold.key.agent,
                    user=hold.key.user,
                    turn=hold.turn,
                    detail={
                        "model": hold.model,
                        "prompt_tokens": use.prompt,
                        "completion_tokens": use.completion,
                        "cost_usd": cost_micro / MICRO,
                        "latency_s": round(now - hold.started_at, 4),
                        "state": state,
                    },
                )


def dollars(micro: int) -> str:
    """``1234567`` as ``$1.2346``: cents for large sums, more digits for small ones."""
    return f"${micro / MICRO:.2f}" if micro >= 10 * MICRO or micro % 10_000 == 0 else f"${micro / MICRO:.4f}"


def _day(now: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(now))
