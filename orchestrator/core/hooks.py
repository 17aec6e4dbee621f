"""Hook points: the moments that other parts may want to follow, each with a name and a typed payload.

A listener is called in the thread that fires, after the transaction that made the moment true was committed, in the
order of subscribing; it returns at once. One that raises is logged and keeps nobody else from hearing. A death may come
between a commit and its listeners, so whatever must not be missed is found again from the rows at the next start.

A check point is the one exception: it comes before the moment, and a listener that raises prevents it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from orchestrator.core.models import Approval, CubicleKey, Delivery, Turn

logger = logging.getLogger(__name__)

Payload = TypeVar("Payload")


class _Point(Generic[Payload]):
    """One named moment. All listeners subscribe before anything runs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._listeners: list[Callable[[Payload], object]] = []

    def subscribe(self, listener: Callable[[Payload], object]) -> None:
        """Call ``listener`` with every payload from now on."""
        self._listeners.append(listener)


class Hook(_Point[Payload]):
    """A moment that has come."""

    def fire(self, payload: Payload) -> None:
        """Call every listener; raises nothing that one of them raises."""
        for listener in self._listeners:
            try:
                listener(payload)
            except Exception:  # a listener's fault must not reach the one who fires, nor those who come after it
                logger.exception("a listener of %s failed", self.name)


class Check(_Point[Payload]):
    """A moment that is about to come, and that a listener prevents by raising what speaks against it."""

    def run_checks(self, payload: Payload) -> None:
        """Call every listener until one raises; that goes through."""
        for listener in self._listeners:
            listener(payload)


@dataclass(frozen=True, slots=True)
class TurnMoment:
    """Something happened to a turn."""

    cubicle: CubicleKey
    turn: int


@dataclass(frozen=True, slots=True)
class StepMoment:
    """Something happened to a command within a turn."""

    cubicle: CubicleKey
    turn: int
    n: int


@dataclass(frozen=True, slots=True)
class CubicleFailed:
    """A cubicle could not be started."""

    cubicle: CubicleKey
    why: str
    """A sentence for the person."""


@dataclass(frozen=True, slots=True)
class BudgetCrossed:
    """An agent's spending of a day has reached a level, and this person was told of it; once for each of them."""

    agent: str
    user: int
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
        self.turn_stopping: Hook[TurnMoment] = Hook("turn_stopping")
        """A turn under way is to end: whoever works for it breaks off."""
        self.turn_ended: Hook[TurnMoment] = Hook("turn_ended")
        """A turn has its outcome; surfaces show it after this."""
        self.summary_dropped: Hook[TurnMoment] = Hook("summary_dropped")
        """A message that a summary stood for was deleted; the turn is the one that its conversation goes on from."""
        self.step_starting: Hook[StepMoment] = Hook("step_starting")
        """A command is about to be let run: what must be before it is done by the listeners."""
        self.step_started: Hook[StepMoment] = Hook("step_started")
        """A command was let run."""
        self.step_ended: Hook[StepMoment] = Hook("step_ended")
        self.approval_asked: Hook[Approval] = Hook("approval_asked")
        """A person is asked; of what is still open, again after a start."""
        self.approval_decided: Hook[Approval] = Hook("approval_decided")
        """A question was approved, denied, cancelled, or has expired."""
        self.agent_changed: Hook[str] = Hook("agent_changed")
        """An agent of this name was made, changed or deleted."""
        self.access_changed: Hook[str] = Hook("access_changed")
        """Whom this agent is for has changed, or with an empty name what somebody may."""
        self.cubicle_starting: Check[CubicleKey] = Check("cubicle_starting")
        """A cubicle is about to start."""
        self.cubicle_ready: Hook[CubicleKey] = Hook("cubicle_ready")
        """A cubicle that was woken runs."""
        self.cubicle_failed: Hook[CubicleFailed] = Hook("cubicle_failed")
        self.door_called: Hook[CubicleKey] = Hook("door_called")
        """A request came through this cubicle's door."""
        self.door_closed: Hook[CubicleKey] = Hook("door_closed")
        """Nobody answers at this cubicle's door any more; what was asked through it has nobody who hears the answer."""
        self.calendar_changed: Hook[CubicleKey] = Hook("calendar_changed")
        """Whose calendar has changed."""
        self.fact_changed: Hook[CubicleKey] = Hook("fact_changed")
        """Whose memories have changed."""
        self.budget_crossed: Hook[BudgetCrossed] = Hook("budget_crossed")
        self.files_changed: Hook[CubicleKey] = Hook("files_changed")
        """A person changed something in this cubicle's workspace."""
        self.delivery_settled: Hook[Delivery] = Hook("delivery_settled")
        """A delivery was sent, or never will be."""
        self.mcp_changed: Hook[str] = Hook("mcp_changed")
        """What runs as the MCP server of this name was changed, or it was removed: sessions with it are to end."""
