"""The part of the composition root for what agents may set in motion: a builder for each noun, and the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from orchestrator.app_builders import Ground
from orchestrator.approvals import Approvals
from orchestrator.capabilities.calls import Calls
from orchestrator.capabilities.table import Capability, table_of
from orchestrator.notices import Notices
from orchestrator.nouns import CubicleKey, Turn
from orchestrator.turns import Turns


class Capabilities:
    """Every noun behind the table, with what they need started and stopped."""

    def __init__(self, ground: Ground, approvals: Approvals, turns: Turns) -> None:
        store = ground.store
        self._approvals, self._turns = approvals, turns
        self.notices = Notices(store, ground.broker)
        offered: list[Capability] = []
        self.calls = Calls(store=store, agents=ground.agents, table=table_of(offered))
        self.notes: tuple[Callable[[Turn], str], ...] = ()
        """What an agent should know at the start of a turn."""
        self.memories: Callable[[CubicleKey, str], list[dict[str, Any]]] = lambda _key, _text: []
        """What is remembered that a text may be about."""

    def start(self) -> None:
        """Workers run, and what a death left half done is taken up."""
        self.calls.tidy()

    def close(self) -> None:
        """Nothing of it runs any more."""
