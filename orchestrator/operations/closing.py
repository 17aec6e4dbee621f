"""Closing agents to people: what was under way for somebody who may no longer use an agent ends.

That an agent is closed is written down first (``agents/access``), and nothing of theirs starts from then on. Then their
turns stop, what they were asked is cancelled, their calendar is paused and the container stops. Their files, memories
and conversations are kept. It is looked at again regularly and after a start, so nothing is missed that a crash, or a
message sent at the same moment, left over.
"""

from __future__ import annotations

import logging

from orchestrator.agents.access import Access
from orchestrator.agents.cubicles import Cubicles
from orchestrator.agents.users import Users
from orchestrator.approvals.approvals import Approvals
from orchestrator.approvals.notifications import Notifications
from orchestrator.capabilities.ask.questions import Questions
from orchestrator.capabilities.calendar.entries import CalendarEntries
from orchestrator.capabilities.calendar.rows import EntryStatus
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.models import CubicleKey, TurnStatus
from orchestrator.turns.queue import Turns

logger = logging.getLogger(__name__)

KIND = "access"
_WHY = "an operator, who closed this agent to this person"
_QUEUED = "You may not use this agent any more. Somebody who runs this install can let you in again."


class Closing:
    """Ends what nobody may go on with."""

    def __init__(
        self,
        *,
        access: Access,
        users: Users,
        turns: Turns,
        approvals: Approvals,
        questions: Questions,
        calendar: CalendarEntries,
        notifications: Notifications,
        cubicles: Cubicles,
    ) -> None:
        self._access = access
        self._users = users
        self._turns = turns
        self._approvals = approvals
        self._questions = questions
        self._calendar = calendar
        self._notifications = notifications
        self._cubicles = cubicles

    def end_closed(self) -> None:
        """Nothing is under way for people who may not use its agent, and no container of theirs runs; one that can't be
        stopped now stops when it has been idle."""
        self.end_work()
        if closed := self._access.list_closed():
            self._stop_cubicles(closed)

    def end_work(self) -> None:
        """No turn, question or entry of the calendar is open for people who may not use its agent."""
        closed = self._access.list_closed()
        if not closed:
            return
        ended = self._end_turns(closed) | self._pause_entries()
        self._approvals.abandon(closed.__contains__, _WHY)
        self._questions.abandon(closed.__contains__, _WHY)
        for key in ended:
            self._notifications.post(
                key, KIND, f"You may not use {key.agent} any more. What was under way has ended; your files are kept."
            )

    def _end_turns(self, closed: frozenset[CubicleKey]) -> set[CubicleKey]:
        held = [(key, claim.turn) for key, claim in self._turns.list_running() if key in closed]
        waiting = {key for key in self._turns.list_waiting() if key in closed}
        for key in waiting:
            self._turns.fail_queued(key, _QUEUED)
        for key, turn in held:
            self._turns.end_turn(key, turn, TurnStatus.STOPPED)
        return waiting | {key for key, _ in held}

    def _pause_entries(self) -> set[CubicleKey]:
        operator, entries = self._users.get_operator(), self._calendar.list_active_of_closed()
        for entry in entries:
            self._calendar.change_entry(entry.id, {"status": str(EntryStatus.PAUSED)}, by=operator)
        return {entry.cubicle for entry in entries}

    def _stop_cubicles(self, closed: frozenset[CubicleKey]) -> None:
        try:
            for key in self._cubicles.list_running() & closed:
                self._cubicles.stop(key)
        except OrchestratorError as error:
            logger.warning("a container of somebody who may not use its agent runs on: %s", error.message)
