"""The part of the composition root for what agents may set in motion: a builder for each noun, and the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.app_assets import build_assets
from orchestrator.app_builders import Ground
from orchestrator.approvals import Approvals
from orchestrator.budget_notices import BudgetNotices
from orchestrator.capabilities.calls import Calls
from orchestrator.capabilities.table import Capability, table_of
from orchestrator.notices import Notices
from orchestrator.nouns import CubicleKey, Turn
from orchestrator.questions import Questions
from orchestrator.turns import Turns


class Capabilities:
    """Every noun behind the table, with what they need started and stopped."""

    def __init__(self, ground: Ground, approvals: Approvals, turns: Turns) -> None:
        store = ground.store
        self._approvals, self._turns = approvals, turns
        self.notices = Notices(store, ground.broker)
        ground.budget.heed(BudgetNotices(self.notices).heed)
        self.questions = self._made_questions(ground)
        turns.when_ended(self.questions.cancel_turn)
        self.assets, self._downloads = build_assets(
            ground, approvals, self.notices, finish=self._finish, stir=self._stir
        )
        offered: list[Capability] = [self.questions.capability, self.assets.capability]
        self.calls = Calls(store=store, agents=ground.agents, table=table_of(offered))
        self.notes: tuple[Callable[[Turn], str], ...] = (self.assets.note,)
        """What an agent should know at the start of a turn."""
        self.memories: Callable[[CubicleKey, str], list[dict[str, Any]]] = lambda _key, _text: []
        """What is remembered that a text may be about."""

    def start(self) -> None:
        """Workers run, and what a death left half done is taken up."""
        self.calls.tidy()
        self.questions.reconcile()
        self._downloads.start()

    def look(self) -> None:
        """What time has ended is ended; called every second or so."""
        self.questions.look()

    def cease(self, is_theirs: Callable[[CubicleKey], bool]) -> None:
        """Nothing is done any more for cubicles that are being deleted. Raises Unavailable when that takes long."""
        self._approvals.abandon(is_theirs)
        self._downloads.await_end(is_theirs)

    def close(self) -> None:
        """Nothing of it runs any more."""
        self._downloads.close()

    def _made_questions(self, ground: Ground) -> Questions:
        return Questions(
            store=ground.store, agents=ground.agents, broker=ground.broker, finish=self._finish, stir=self._stir
        )

    def _finish(self, waits_for: str, *, ok: bool, text: str, result: Mapping[str, Any] | None = None) -> None:
        self.calls.finish(waits_for, ok=ok, text=text, result=result)  # made after the nouns that need it

    def _stir(self) -> None:
        self.calls.stir()  # made after the nouns that need it
