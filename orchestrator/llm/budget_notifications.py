"""What people hear of an agent's budget: a word at four fifths of the day, and one when it is used up, each once a day
to whoever's call it was and to the operator. Owns no sums; it only reads them.
"""

from __future__ import annotations

import sqlite3
from functools import partial

from orchestrator.agents import user_rows as people_rows
from orchestrator.agents.agents import Agents
from orchestrator.agents.looks import shown_name
from orchestrator.approvals.notifications import Notifications
from orchestrator.core.db.database import Store
from orchestrator.core.errors import NotFound
from orchestrator.core.hooks import BudgetCrossed, Hooks
from orchestrator.core.models import Agent, CubicleKey
from orchestrator.llm import ledger_rows as rows
from orchestrator.llm.budget import Booking
from orchestrator.llm.dollars import format_dollars
from orchestrator.llm.ledger_rows import SpendingDay

KIND = "budget"
NEARLY, WHOLLY = 80, 100
"""The levels, in percent."""


class BudgetNotifications:
    """Says it, once."""

    def __init__(self, store: Store, notifications: Notifications, agents: Agents, hooks: Hooks) -> None:
        self._store = store
        self._notifications = notifications
        self._agents = agents
        self._hooks = hooks

    def notify_booking(self, db: sqlite3.Connection, booking: Booking) -> None:
        """Look whether this booking is worth a word, within its transaction."""
        key = booking.key
        try:
            agent = self._agents.get(key.agent)
        except NotFound:  # deleted while its call was under way
            return
        day = booking.sums
        # With calls under way a refusal may be over in a moment: their holds are more than they will cost.
        is_final = booking.is_refused and not day.reserved_micro and not day.reserved_tokens
        level = WHOLLY if is_final else reached_level(agent, day)
        if level is None:
            return
        operator = people_rows.get_operator(db)
        for user in dict.fromkeys((key.user, key.user if operator is None else operator.id)):
            person = people_rows.get_user(db, user)
            if person is None or not _is_new(db, booking, level, user):
                continue
            turn = booking.turn if user == key.user else None
            text = notice_text(agent, day, level, booking, is_operator=operator is not None and user == operator.id)
            self._notifications.post(CubicleKey(key.agent, user), KIND, text, turn=turn)
            crossed = BudgetCrossed(key.agent, user, booking.day, level)
            self._store.after_commit(partial(self._hooks.budget_crossed.fire, crossed))


def reached_level(agent: Agent, day: SpendingDay) -> int | None:
    """The level that what is spent has reached, of dollars or of tokens."""
    spent = ((day.spent_micro, agent.daily_budget_micro), (day.spent_tokens, agent.daily_budget_tokens))
    share = max(100 * used // budget if budget else WHOLLY * (used > 0) for used, budget in spent)
    return WHOLLY if share >= WHOLLY else NEARLY if share >= NEARLY else None


def notice_text(agent: Agent, day: SpendingDay, level: int, booking: Booking, *, is_operator: bool) -> str:
    """What this person reads."""
    used = f"{format_dollars(day.spent_micro)} of {format_dollars(agent.daily_budget_micro)} spent"
    if day.spent_tokens:
        used += f", {day.spent_tokens:,} of {agent.daily_budget_tokens:,} tokens of models without a known price used"
    when = f"until {booking.day} is over (midnight UTC)"
    raising = (
        f"'./hermit agent set {agent.name} daily_budget_usd=…' (or daily_budget_tokens=…) raises it."
        if is_operator
        else "The operator can raise it."
    )
    name = shown_name(agent)
    if level == NEARLY:
        return f"{name} has used four fifths of today's budget: {used}. Used up, it stops {when}. {raising}"
    what = "what is left does not cover another call" if booking.is_refused else "it is used up"
    return f"{name} has reached today's budget, {what}: {used}. It stops {when}; commands still work. {raising}"


def _is_new(db: sqlite3.Connection, booking: Booking, level: int, user: int) -> bool:
    is_new = rows.mark_told(db, booking.key.agent, booking.day, level, user)
    if level == WHOLLY:  # whoever heard that it has stopped need not hear that it nearly has
        rows.mark_told(db, booking.key.agent, booking.day, NEARLY, user)
    return is_new
