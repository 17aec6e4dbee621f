"""How an agent's day stands in money, as people read it: spent, left, when it begins again, and how worried to look."""

from __future__ import annotations

from dataclasses import dataclass

from dashboard.services import get_services
from orchestrator.llm.budget import BudgetState

WARN_PERCENT = 80


@dataclass(frozen=True, slots=True)
class Money:
    """One agent's day."""

    agent: str
    standing: BudgetState

    @property
    def used_micro(self) -> int:
        """Spent, and held for calls that are under way."""
        return self.standing.spent_micro + self.standing.held_micro

    @property
    def percent(self) -> int:
        """How much of the day's budget is used, in money or in tokens, whatever is more."""
        used, most = self.used_micro, self.standing.budget_micro
        of_money = 100 if used >= most and used else used * 100 // max(1, most)
        tokens, most_tokens = self.standing.tokens, self.standing.token_budget
        return min(100, max(of_money, tokens * 100 // max(1, most_tokens)))

    @property
    def level(self) -> str:
        """``ok``, ``warn`` or ``stop``: a word that is also its colour."""
        if self.standing.is_stopped:
            return "stop"
        return "warn" if self.percent >= WARN_PERCENT else "ok"


def money_of(agent: str) -> Money:
    """The agent's day; raises NotFound."""
    return Money(agent, get_services().budget.get_standing(agent))
