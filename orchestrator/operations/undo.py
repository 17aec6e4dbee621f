"""Undo: what a turn did to files is taken back, the conversation goes back to before it, and what can't be taken back
is named."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.approvals.approvals import Approvals
from orchestrator.capabilities.calendar.entries import CalendarEntries
from orchestrator.capabilities.delivery.deliveries import Deliveries
from orchestrator.capabilities.memory.memory import Memories
from orchestrator.checkpoints.checkpoints import Checkpoints
from orchestrator.checkpoints.models import Change, RestoreResult
from orchestrator.core.db.database import Store
from orchestrator.core.errors import Conflict, NotFound, OrchestratorError
from orchestrator.core.events import Broker
from orchestrator.core.models import MICRO, ApprovalStatus, CubicleKey, Event, Turn
from orchestrator.core.text import one_line
from orchestrator.files.models import FilePath
from orchestrator.files.names import parts_of
from orchestrator.turns import point_rows
from orchestrator.turns.branches import Branches
from orchestrator.turns.point_rows import TurnSpan, UndoWish
from orchestrator.turns.queue import Turns
from orchestrator.turns.restores import Restores
from orchestrator.turns.serialize import turn_json

logger = logging.getLogger(__name__)

GONE = "The files as they were before this message are no longer kept, so they can't be put back."
NO_END = "What this message changed was not noted down to its end. Undo everything since it instead."
_MOST_FACTS = 200
"""Memories that are looked through for those of a turn: the newest."""


@dataclass(frozen=True, slots=True)
class KeptDeed:
    """Something that an undo does not take back."""

    kind: str
    """``delivery``, ``download``, ``packages``, ``calendar``, ``memory`` or ``money``."""
    text: str
    """A sentence."""
    page: str = ""
    """Where in the dashboard it can be looked at."""
    remove: str = ""
    """The API's path to delete it by hand, where there is one."""


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """What the undo of a turn would do."""

    turn: Turn
    turns: tuple[int, ...]
    """Whose changes are taken back."""
    changes: tuple[Change, ...]
    """Files that are put back: ``new`` is what is there now, ``old`` what will be."""
    conflicts: tuple[Change, ...]
    """Files that were changed again since: each stays as it is unless it is named."""
    stays: tuple[KeptDeed, ...]
    undone_at: float | None


@dataclass(frozen=True, slots=True)
class UndoResult:
    """What the undo of a turn did."""

    files: RestoreResult | None
    """None where the turn had changed none."""
    has_moved: bool
    """The conversation goes on from before the turn."""
    stays: tuple[KeptDeed, ...]


class Undo:
    """Takes turns back."""

    def __init__(
        self,
        store: Store,
        broker: Broker,
        *,
        turns: Turns,
        branches: Branches,
        checkpoints: Checkpoints,
        restores: Restores,
        deliveries: Deliveries,
        approvals: Approvals,
        calendar: CalendarEntries,
        memories: Memories,
    ) -> None:
        self._store = store
        self._broker = broker
        self._turns = turns
        self._branches = branches
        self._checkpoints = checkpoints
        self._restores = restores
        self._deliveries = deliveries
        self._approvals = approvals
        self._calendar = calendar
        self._memories = memories

    def get_span(self, turn: int) -> TurnSpan | None:
        """Between which points of its workspace's history a turn worked, where it had a command."""
        with self._store.reading() as db:
            return point_rows.get_span(db, turn)

    def find_span(self, turn: int) -> TurnSpan | None:
        """The span of this turn, or of the nearest one before it on its branch that had a command; None where none had,
        or it has no end."""
        with self._store.reading() as db:
            found = point_rows.find_span_before(db, turn)
        if found is None or found.after is None:
            return None
        self._check_kept(self._turns.get(turn).cubicle, found)
        return found

    def find_last(self, key: CubicleKey, conversation: int | None = None) -> Turn:
        """The newest turn of a conversation that can be taken back. Raises NotFound."""
        found = self._turns.list_history(key, conversation=conversation, limit=1)
        if not found:
            raise NotFound("There is nothing to undo in this conversation.")
        return found[-1]

    def preview(self, turn: int, *, is_since: bool = False) -> UndoPlan:
        """What taking a turn back would do; with ``is_since`` that and everything since. No file changes.

        Raises NotFound where the files from before are no longer kept, Conflict for a turn that has not ended, or whose
        end has no point.
        """
        found = self._turns.get(turn)
        if not found.status.is_final:
            raise Conflict(f"{found.cubicle.agent} is still working on this message. Stop it first, then undo it.")
        turns = self._list_turns(found, is_since=is_since)
        span = self._first_span(turns)
        changes: tuple[Change, ...] = ()
        conflicts: tuple[Change, ...] = ()
        if span is not None:
            self._check_kept(found.cubicle, span)
            self._restores.note_changes(found.cubicle)
            span = self._first_span(turns) or span  # its last point may just have been taken
            if is_since:
                changes = tuple(self._checkpoints.diff(found.cubicle, span.before))
            elif span.after is None:
                raise Conflict(NO_END)
            else:
                plan = self._checkpoints.preview_revert(found.cubicle, span.before, span.after)
                changes, conflicts = plan.changes, plan.conflicts
        own = self.get_span(turn)
        undone_at = own.undone_at if own else None
        return UndoPlan(found, turns, changes, conflicts, self._list_kept(found.cubicle, turns), undone_at)

    def put_back_files(self, turn: int, *, by: str) -> RestoreResult | None:
        """All files are as they were before this turn, and the conversation stays where it is; None where nothing has
        had a command since. Raises as ``preview``."""
        plan = self.preview(turn, is_since=True)
        span = self._first_span(plan.turns)
        return None if span is None else self._restores.restore(plan.turn.cubicle, span.before, by=by)

    def undo(self, turn: int, *, by: str, is_since: bool = False, including: Sequence[FilePath] = ()) -> UndoResult:
        """Take a turn back; with ``is_since`` that and everything since.

        Args:
            turn: which.
            by: who wants it, as it is written down.
            is_since: every later change of files goes back too, whoever made it.
            including: files that go back although they were changed again since.

        Raises as ``preview``, and Conflict for a turn that was taken back before, or while the agent works.
        """
        plan = self.preview(turn, is_since=is_since)
        if plan.undone_at is not None:
            raise Conflict("This message was undone already.")
        wish = UndoWish(turn, by, is_since, tuple(parts_of(path) for path in including))
        with self._store.writing() as db:
            point_rows.insert_undo(db, wish)
        try:
            return self._carry_out(plan, wish)
        finally:
            with self._store.writing() as db:
                point_rows.delete_undo(db, turn)

    def reconcile(self) -> None:
        """After a start: what a death cut short is done again, which changes nothing that was done before."""
        with self._store.reading() as db:
            wishes = point_rows.list_undos(db)
        for wish in wishes:
            try:
                self.undo(wish.turn, by=wish.by, is_since=wish.is_since, including=wish.including)
            except OrchestratorError as error:
                logger.error("the undo of turn %s could not be finished: %s", wish.turn, error.message)

    def _carry_out(self, plan: UndoPlan, wish: UndoWish) -> UndoResult:
        found, span = plan.turn, self._first_span(plan.turns)
        key = found.cubicle
        files: RestoreResult | None = None
        if span is not None and wish.is_since:
            files = self._restores.restore(key, span.before, by=wish.by)
        elif span is not None and span.after is not None:
            what = f"what you did for “{one_line(found.prompt, 60)}”"
            files = self._restores.revert(key, span.before, span.after, including=wish.including, by=wish.by, what=what)
        has_moved = self._branches.go_before(found, with_later=wish.is_since)
        with self._store.writing() as db:
            point_rows.mark_undone(db, plan.turns, time.time())
        for each in plan.turns:
            self._broker.publish(Event("turn", key, turn_json(self._turns.get(each))))
        return UndoResult(files, has_moved, plan.stays)

    def _list_turns(self, turn: Turn, *, is_since: bool) -> tuple[int, ...]:
        if not is_since:
            return (turn.id,)
        with self._store.reading() as db:
            return tuple(sorted({turn.id, *point_rows.list_since(db, turn.cubicle, turn.id)}))

    def _first_span(self, turns: Sequence[int]) -> TurnSpan | None:
        """The span of the first of these turns that had a command."""
        return next((span for turn in turns if (span := self.get_span(turn)) is not None), None)

    def _check_kept(self, key: CubicleKey, span: TurnSpan) -> None:
        try:
            point = self._checkpoints.get_checkpoint(key, span.before)
        except NotFound as error:
            raise NotFound(GONE) from error
        if point.at != span.before_at:  # a point of another history, which was begun since
            raise NotFound(GONE)

    def _list_kept(self, key: CubicleKey, turns: Sequence[int]) -> tuple[KeptDeed, ...]:
        wanted = set(turns)
        kept = [
            KeptDeed("delivery", f"{one_line(delivery.name, 80)} was delivered, and stays so.")
            for delivery in self._deliveries.of_turns(turns)
        ]
        kept += [
            KeptDeed("approval", f"You approved: {one_line(asked.text, 120)}")
            for turn in turns
            for asked in self._approvals.of_turn(turn)
            if asked.status is ApprovalStatus.APPROVED
        ]
        kept += [
            KeptDeed(
                "calendar",
                f"“{one_line(entry.title, 80)}” stays in the calendar.",
                f"/agents/{key.agent}/calendar/{entry.id}",
                f"/api/agents/{key.agent}/calendar/{entry.id}",
            )
            for entry in self._calendar.list_entries(key.agent, key.user)
            if entry.turn in wanted
        ]
        kept += [
            KeptDeed(
                "memory",
                f"Remembered: {one_line(fact.text, 120)}",
                f"/agents/{key.agent}/memory",
                f"/api/agents/{key.agent}/memories/{fact.id}",
            )
            for fact in self._memories.list_facts(key, limit=_MOST_FACTS)
            if fact.turn in wanted
        ]
        spent = sum(self._turns.get(turn).cost_micro for turn in turns)
        return (
            (*kept, KeptDeed("money", f"${spent / MICRO:.2f} was spent, and is not paid back."))
            if spent
            else tuple(kept)
        )
