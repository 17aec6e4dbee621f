"""The question to a person about a step's command: the step and its turn wait for it, and the crab is told the answer.

The rows are the truth; the lock file only tells the crab, and is written again where a death came before it. A question
whose turn ends is cancelled.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Mapping
from functools import partial
from typing import Any

from orchestrator.approvals import rows as approval_rows
from orchestrator.approvals.answers import COMMAND
from orchestrator.approvals.approvals import Approvals
from orchestrator.approvals.lock_files import LockFiles
from orchestrator.core.db.database import Store
from orchestrator.core.errors import Conflict, OrchestratorError
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import Approval, ApprovalStatus, CubicleKey, Step
from orchestrator.turns import rows

logger = logging.getLogger(__name__)


class StepApprovals:
    """Follows the approvals of the kind ``command``."""

    def __init__(self, store: Store, approvals: Approvals, locks: LockFiles, hooks: Hooks) -> None:
        self._store = store
        self._approvals = approvals
        self._locks = locks
        self._untold: list[Approval] = []
        self._untold_lock = threading.Lock()  # protects _untold
        approvals.on_decision(COMMAND, self._decided)
        hooks.turn_ended.subscribe(lambda ended: self._cancel_turn(ended.turn))

    def ask_person(self, key: CubicleKey, step: Step, *, timeout_s: int, detail: Mapping[str, Any]) -> Approval:
        """Ask a person about a step's command; asking again about the same step gives the same open question.

        Raises TooMany when this cubicle has too many open questions, Conflict when the turn has ended.
        """
        self._approvals.expire_due()
        with self._store.writing() as db:
            if not rows.is_open(db, step.turn):
                raise Conflict("The turn has ended, so nobody is asked any more.")
            approval = self._approvals.ask_person(
                db,
                key,
                step.turn,
                kind=COMMAND,
                text=step.command,
                reason=step.reason,
                detail=detail,
                timeout_s=timeout_s,
                step=step.n,
            )
            rows.set_step(db, step.turn, step.n, "asked", approval=approval.id)
            rows.set_waiting(db, step.turn, is_waiting=True)
        return approval

    def use_approval(self, approval: str, step: Step) -> bool:
        """Take an approval for exactly this step, which runs from now on; False when it does not fit, was used or is
        too old, or the turn is over."""
        with self._store.writing() as db:
            is_valid = rows.is_open(db, step.turn) and self._approvals.use_approval(approval, step)
            if is_valid:
                rows.set_step(db, step.turn, step.n, "running")
        return is_valid

    def forget_lock(self, key: CubicleKey, approval: str) -> None:
        """The crab has read its answer: the lock file goes."""
        self._locks.clear_approval(key, approval)

    def tell_again(self) -> None:
        """Locks that could not be written are tried again. Called regularly."""
        with self._untold_lock:
            untold, self._untold = self._untold, []
        for decided in untold:
            self._tell_crab(decided)

    def reconcile(self) -> None:
        """After a start: locks that a death kept from being written are written, and questions of turns that have ended
        are cancelled."""
        with self._store.reading() as db:
            orphans, waiting = (
                approval_rows.list_pending_of_ended_turns(db),
                approval_rows.list_unused_of_open_turns(db),
            )
        for turn in sorted({approval.turn for approval in orphans if approval.turn is not None}):
            self._cancel_turn(turn)
        for approval in waiting:
            if approval.status is not ApprovalStatus.PENDING:
                self._tell_crab(approval)

    def _cancel_turn(self, turn: int) -> None:
        """The turn has ended: its open questions are cancelled and its lock files go."""
        with self._store.reading() as db:
            unused = approval_rows.list_unused_of_turn(db, turn)
        for approval in unused:
            self._approvals.cancel_approval(approval, "the turn ended")
            self._locks.clear_approval(approval.cubicle, approval.id)

    def _decided(self, db: sqlite3.Connection, approval: Approval) -> None:
        if approval.turn is not None and approval.step is not None:
            rows.set_waiting(db, approval.turn, is_waiting=False)
            if approval.status is not ApprovalStatus.APPROVED:
                rows.set_step(db, approval.turn, approval.step, str(approval.status))
        self._store.after_commit(partial(self._tell_crab, approval))

    def _tell_crab(self, approval: Approval) -> None:
        """Write the lock; where that fails for now, the decision stands. Nobody reads it once the turn has ended."""
        try:
            self._locks.write_decision(approval)
            with self._store.reading() as db:  # after the writing: whoever ends the turn from now on clears it
                is_awaited = approval.turn is not None and rows.is_open(db, approval.turn)
            if not is_awaited:
                self._locks.clear_approval(approval.cubicle, approval.id)
        except OrchestratorError as error:
            logger.warning("approval %s: %s", approval.id, error.message)
            with self._untold_lock:
                self._untold.append(approval)
