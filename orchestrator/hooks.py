"""Hook points: the moments that other parts may want to follow, each with a name and a typed payload.

A listener is called in the thread that fires, after the transaction that made the moment true was committed, in the
order of subscribing; it returns at once. One that raises is logged and keeps nobody else from hearing. A death may come
between a commit and its listeners, so whatever must not be missed is found again from the rows at the next start.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from orchestrator.nouns import Approval, CubicleKey, Delivery, Turn

logger = logging.getLogger(__name__)

Payload = TypeVar("Payload")


class Hook(Generic[Payload]):
    """One named moment. All listeners subscribe before anything runs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._listeners: list[Callable[[Payload], object]] = []

    def subscribe(self, listener: Callable[[Payload], object]) -> None:
        """Call ``listener`` with every payload that is fired from now on."""
        self._listeners.append(listener)

    def fire(self, payload: Payload) -> None:
        """Call every listener; raises nothing that one of them raises."""
        for listener in self._listeners:
            try:
                listener(payload)
            except Exception:  # a listener's fault must not reach the one who fires, nor those who come after it
                logger.exception("a listener of %s failed", self.name)


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A turn has its outcome."""

    cubicle: CubicleKey
    turn: int


@dataclass(frozen=True, slots=True)
class StepMoment:
    """A command within a turn was let run, or has ended."""

    cubicle: CubicleKey
    turn: int
    n: int


@dataclass(frozen=True, slots=True)
class BudgetCrossed:
    """An agent's spending of a day has reached a level that a person is told of, for the first time."""

    agent: str
    day: str
    """The UTC day, ``YYYY-MM-DD``."""
    level: int
    """Percent of the day's budget."""


class Hooks:
    """Every hook point. The composition root makes one and passes it on."""

    def __init__(self) -> None:
        self.message_sent: Hook[Turn] = Hook("message_sent")
        """A message was queued as a turn."""
        self.turn_started: Hook[Turn] = Hook("turn_started")
        """A crab has taken a turn."""
        self.turn_ended: Hook[TurnEnded] = Hook("turn_ended")
        self.step_started: Hook[StepMoment] = Hook("step_started")
        """A command was let run."""
        self.step_ended: Hook[StepMoment] = Hook("step_ended")
        self.approval_decided: Hook[Approval] = Hook("approval_decided")
        """A question was approved, denied, cancelled, or has expired."""
        self.agent_changed: Hook[str] = Hook("agent_changed")
        """An agent of this name was made, changed or deleted."""
        self.fact_changed: Hook[CubicleKey] = Hook("fact_changed")
        """Whose memories have changed."""
        self.budget_crossed: Hook[BudgetCrossed] = Hook("budget_crossed")
        self.delivery_settled: Hook[Delivery] = Hook("delivery_settled")
        """A delivery was sent or failed."""
