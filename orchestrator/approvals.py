"""Approvals: one question to a person about one exact text, decided once, used once.

The row is the truth; the lock file only tells the crab. A question that nobody answers in time expires, one whose turn
ends is cancelled, and both say so. Nothing that an agent writes, anywhere, is a decision.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from orchestrator.approval_answers import COMMAND, NOTHING, Said, allowable, check, noted, quoted, too_late
from orchestrator.approval_json import approval_json
from orchestrator.approval_limits import check_pending, refused_before
from orchestrator.errors import BadInput, Conflict, Forbidden, NotFound, OrchestratorError
from orchestrator.events import Broker
from orchestrator.grants import Grants
from orchestrator.locks import Locks
from orchestrator.nouns import Approval, ApprovalStatus, CubicleKey, Event, Role, Step, User
from orchestrator.store import approval_history as history_rows
from orchestrator.store import approvals as rows
from orchestrator.store import audit as audit_rows
from orchestrator.store import turns as turn_rows
from orchestrator.store.approval_history import Wanted
from orchestrator.store.database import Store
from orchestrator.store.grants import Scope
from orchestrator.text import visible
from orchestrator.typed_ids import typed_id

logger = logging.getLogger(__name__)

MAX_PENDING = 5
"""Open questions of one cubicle at a time; a person who is asked too much stops reading."""

Decided = Callable[[sqlite3.Connection, Approval], tuple[Callable[[], None], ...]]
"""Hears, within the transaction, how a question ended; what it gives back is done once that is committed."""


class Approvals:
    """The inbox of questions."""

    def __init__(self, store: Store, locks: Locks, broker: Broker, grants: Grants) -> None:
        self._store = store
        self._grants = grants
        self._locks = locks
        self._broker = broker
        self._followers: dict[str, Decided] = {}
        self._untold: list[Approval] = []
        self._untold_lock = threading.Lock()  # protects _untold

    def every(
        self, *, status: ApprovalStatus | None = None, user: int | None = None, limit: int = 200
    ) -> list[Approval]:
        """The newest questions, of one status and one person where given."""
        if status is not ApprovalStatus.PENDING:
            return self.history(Wanted(user=user) if status is None else Wanted((status,), user=user), limit=limit)
        self.expire_due()
        with self._store.reading() as db:
            return [found for found in rows.pending(db) if user in (None, found.cubicle.user)][:limit]

    def history(self, wanted: Wanted, *, before: str = "", limit: int) -> list[Approval]:
        """The newest questions that match; with ``before``, the id of the last of a page, those of the next one.
        Raises BadInput when that question is gone."""
        self.expire_due()
        with self._store.reading() as db:
            place = history_rows.place_of(db, before) if before else None
            if before and place is None:
                raise BadInput("before: that question is gone. Begin with the newest ones again.")
            return history_rows.page(db, wanted, before=place, limit=limit)

    def of_turn(self, turn: int) -> list[Approval]:
        """What a turn asked the host to do, in order; questions about its commands are named by its steps."""
        with self._store.reading() as db:
            return rows.of_turn(db, turn)

    def get(self, approval: str) -> Approval:
        """The approval with this id; raises NotFound."""
        with self._store.reading() as db:
            found = rows.one(db, approval)
        if found is None:
            raise NotFound("There is no approval with this id. './hermit approvals' shows what is waiting.")
        return found

    def ask(self, key: CubicleKey, step: Step, *, timeout_s: int, detail: Mapping[str, Any] | None = None) -> Approval:
        """Ask a person about a step's command; asking again about the same step gives the same open question. With
        ``kinds`` in ``detail`` the person may allow those in advance.

        Raises TooMany when this cubicle has too many open questions, Conflict when the turn has ended.
        """
        self.expire_due()
        now = time.time()
        with self._store.writing() as db:
            if not turn_rows.is_open(db, step.turn):
                raise Conflict("The turn has ended, so nobody is asked any more.")
            pending = rows.pending_of_step(db, step.turn, step.n, now)
            if pending is not None:
                return pending
            check_pending(db, key)
            approval = _asked(
                key,
                COMMAND,
                step.command,
                now,
                turn=step.turn,
                step=step.n,
                reason=step.reason,
                timeout_s=timeout_s,
                detail=detail,
            )
            rows.add(db, approval)
            turn_rows.set_step(db, step.turn, step.n, "asked", approval=approval.id)
            turn_rows.set_waiting(db, step.turn, is_waiting=True)
            self._audit(db, approval, "approval.asked", f"Asked: {visible(step.command)}")
        self.announce(approval)
        return approval

    def follow(self, kind: str, decided: Decided) -> None:
        """Questions of this kind are about what the host shall do; from now on ``decided`` hears how each ended."""
        self._followers[kind] = decided

    def ask_host(
        self,
        db: sqlite3.Connection,
        key: CubicleKey,
        turn: int | None,
        *,
        kind: str,
        text: str,
        reason: str,
        detail: Mapping[str, Any],
        timeout_s: int,
    ) -> Approval:
        """Ask a person whether the host may do exactly ``text``, within the transaction that is given; the same
        question that is open already comes back. The caller announces it once that is committed.

        With a ``host`` in ``detail`` the person may also allow that in advance. Raises TooMany, and Forbidden when the
        person said no to it in this turn.
        """
        now = time.time()
        approval = _asked(key, kind, text, now, turn=turn, reason=reason, timeout_s=timeout_s, detail=detail)
        pending = rows.pending_of_text(db, key, kind, approval.sha256, now)
        if pending is not None:
            return pending
        refused = "" if turn is None else refused_before(db, turn, approval.sha256)
        if refused:
            raise Forbidden(refused)
        check_pending(db, key)
        rows.add(db, approval)
        self._audit(db, approval, "approval.asked", f"Asked: {visible(text)}")
        return approval

    def decide(
        self, approval: str, *, approve: bool, by: User, surface: str, always: bool = False, said: Said = NOTHING
    ) -> Approval:
        """Approve or deny, with a note or for longer than once; ``always`` is short for that scope. Raises NotFound
        when it is not theirs, Conflict when it is decided or too late, BadInput when what is said does not fit, and
        Forbidden when a member says "always": that holds for everybody who talks to the agent."""
        found = self.get(approval)
        if by.role is not Role.OPERATOR and found.cubicle.user != by.id:
            raise NotFound("There is no approval with this id. './hermit approvals' shows what is waiting.")
        status = ApprovalStatus.APPROVED if approve else ApprovalStatus.DENIED
        said = replace(said, scope=Scope.ALWAYS) if always else said
        check(found, said, approve=approve)
        if said.scope is Scope.ALWAYS and by.role is not Role.OPERATOR:
            raise Forbidden("Only an operator can always allow something. You may approve this once.")
        decided = self._end(found, status, f"{by.name} ({surface})", said=said, allow=(by, surface))
        if decided is None:
            self.expire_due()
            raise Conflict(too_late(self.get(approval)))
        return decided

    def use(self, approval: str, step: Step) -> bool:
        """Take an approval for exactly this step; False when it does not fit, was used or is too old."""
        with self._store.writing() as db:
            used = rows.use(db, approval, step.turn, step.n, sha256=step.sha256, now=time.time())
            if used:
                found = rows.one(db, approval)
                assert found is not None  # noqa: S101 - it was updated just now, in this transaction
                self._audit(db, found, "approval.used", "The approved command runs.")
        return used

    def forget_lock(self, key: CubicleKey, approval: str) -> None:
        """The crab has read its answer: the lock file goes."""
        self._locks.clear_approval(key, approval)

    def cancel_turn(self, turn: int) -> None:
        """The turn has ended: its open questions are cancelled and its lock files go."""
        with self._store.reading() as db:
            unused = rows.unused_of_turn(db, turn)
        for approval in unused:
            self._end(approval, ApprovalStatus.CANCELLED, "the turn ended")
            self._locks.clear_approval(approval.cubicle, approval.id)

    def withdraw(self, agent: str) -> None:
        """An agent's settings were changed: what it asked before is cancelled, it may ask again."""
        with self._store.reading() as db:
            pending = rows.pending(db)
        for approval in pending:
            if approval.cubicle.agent == agent:
                self._end(approval, ApprovalStatus.CANCELLED, "a change of the agent's settings")

    def abandon(self, is_theirs: Callable[[CubicleKey], bool]) -> None:
        """These agents or people are being deleted: what the host was asked to do for them is cancelled."""
        with self._store.reading() as db:
            pending = rows.pending(db)
        for approval in pending:
            if approval.kind != COMMAND and is_theirs(approval.cubicle):
                self._end(approval, ApprovalStatus.CANCELLED, "a deletion")

    def expire_due(self) -> None:
        """Questions whose time is up are expired, and locks that could not be written are tried again."""
        with self._untold_lock:
            untold, self._untold = self._untold, []
        for decided in untold:
            self._tell_crab(decided)
        with self._store.reading() as db:
            overdue = rows.overdue(db, time.time())
        for approval in overdue:
            self._end(self.get(approval), ApprovalStatus.EXPIRED, "nobody answered in time")

    def reconcile(self) -> None:
        """After a start: locks that a crash kept from being written are written, questions of turns that have ended
        are cancelled, open ones are asked anew."""
        self.expire_due()
        with self._store.reading() as db:
            orphans, waiting = rows.pending_of_ended_turns(db), rows.unused_of_open_turns(db)
        for turn in sorted({approval.turn for approval in orphans if approval.turn is not None}):
            self.cancel_turn(turn)
        for approval in waiting:
            if approval.status is not ApprovalStatus.PENDING:
                self._tell_crab(approval)
            self.announce(approval)

    def announce(self, approval: Approval) -> None:
        """Show the question, or how it ended, on every surface."""
        self._broker.publish(Event("approval", approval.cubicle, approval_json(approval)))
        if approval.turn is None:
            return
        with self._store.reading() as db:
            turn = turn_rows.one(db, approval.turn)
        if turn is not None and not turn.status.is_final:
            self._broker.publish(Event("turn", approval.cubicle, {"turn": turn.id, "status": str(turn.status)}))

    def _end(
        self,
        approval: Approval,
        status: ApprovalStatus,
        by: str,
        *,
        said: Said = NOTHING,
        allow: tuple[User, str] | None = None,
    ) -> Approval | None:
        """Decide once; None when somebody or something was faster."""
        then: tuple[Callable[[], None], ...] = ()
        with self._store.writing() as db:
            if not rows.decide(db, approval.id, status, by, time.time(), detail=noted(said)):
                return None
            if said.scope is not None and allow is not None:
                self._allow(db, approval, said.scope, *allow)
            decided = rows.one(db, approval.id)
            assert decided is not None  # noqa: S101 - it was updated just now, in this transaction
            if approval.turn is not None and approval.step is not None:
                turn_rows.set_waiting(db, approval.turn, is_waiting=False)
                if status is not ApprovalStatus.APPROVED:
                    turn_rows.set_step(db, approval.turn, approval.step, str(status))
            else:
                then = self._followers[approval.kind](db, decided)
            self._audit(db, decided, f"approval.{status}", f"{str(status).capitalize()} by {by}.{quoted(decided)}")
        if approval.kind == COMMAND:
            self._tell_crab(decided)
        self.announce(decided)
        for follow in then:
            follow()
        return decided

    def _allow(self, db: sqlite3.Connection, approval: Approval, scope: Scope, by: User, surface: str) -> None:
        kind, subjects = allowable(approval)
        self._grants.give(db, approval.cubicle, kind, subjects, scope, by=by, surface=surface)

    def _tell_crab(self, approval: Approval) -> None:
        """Write the lock; where that fails for now, the decision stands. Nobody reads it once the turn has ended."""
        try:
            self._locks.decided(approval)
            with self._store.reading() as db:  # after the writing: whoever ends the turn from now on clears it
                is_awaited = approval.turn is not None and turn_rows.is_open(db, approval.turn)
            if not is_awaited:
                self._locks.clear_approval(approval.cubicle, approval.id)
        except OrchestratorError as error:
            logger.warning("approval %s: %s", approval.id, error.message)
            with self._untold_lock:
                self._untold.append(approval)

    def _audit(self, db: sqlite3.Connection, approval: Approval, kind: str, text: str) -> None:
        audit_rows.add(
            db,
            kind,
            text,
            now=time.time(),
            agent=approval.cubicle.agent,
            user=approval.cubicle.user,
            turn=approval.turn,
            detail={"approval": approval.id, "step": approval.step, "sha256": approval.sha256},
        )


def _asked(
    key: CubicleKey,
    kind: str,
    text: str,
    now: float,
    *,
    turn: int | None,
    reason: str,
    timeout_s: int,
    step: int | None = None,
    detail: Mapping[str, Any] | None = None,
) -> Approval:
    """A new question."""
    return Approval(
        id=typed_id(),
        cubicle=key,
        turn=turn,
        step=step,
        kind=kind,
        text=text,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        reason=reason,
        detail=dict(detail or {}),
        status=ApprovalStatus.PENDING,
        asked_at=now,
        expires_at=now + timeout_s,
        decided_at=None,
        decided_by=None,
        used_at=None,
    )
