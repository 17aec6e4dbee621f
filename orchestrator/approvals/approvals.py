"""Approvals: one question to a person about one exact text, decided once, used once.

The row is the truth. What a question is about is its kind; whoever asks about a kind follows it, and does within the
transaction of the decision what follows from that. A question that nobody answers in time expires. Nothing that an
agent writes, anywhere, is a decision.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from orchestrator.agents import access_rows
from orchestrator.approvals import history_rows, rows, source_rows
from orchestrator.approvals.answers import (
    NOTHING,
    DecisionDetails,
    check_answer,
    describe_allowance,
    make_note,
    quote_note,
    too_late,
)
from orchestrator.approvals.grant_rows import GrantScope, conversation_of
from orchestrator.approvals.grants import Grants
from orchestrator.approvals.history_rows import ApprovalFilter
from orchestrator.approvals.limits import check_pending, refused_before
from orchestrator.approvals.serialize import approval_json
from orchestrator.approvals.sources import sum_up
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Conflict, Forbidden, NotFound
from orchestrator.core.events import Broker
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import Approval, ApprovalStatus, CubicleKey, Event, Role, Step, User
from orchestrator.core.short_ids import typed_id
from orchestrator.core.text import escape_invisible

Decided = Callable[[sqlite3.Connection, Approval], object]
"""Hears, within the transaction, how a question ended."""


class Approvals:
    """The inbox of questions."""

    def __init__(self, store: Store, broker: Broker, grants: Grants, hooks: Hooks) -> None:
        self._store = store
        self._grants = grants
        self._broker = broker
        self._hooks = hooks
        self._followers: dict[str, Decided] = {}
        hooks.agent_changed.subscribe(self.withdraw)

    def list_approvals(
        self, *, status: ApprovalStatus | None = None, user: int | None = None, limit: int = 200
    ) -> list[Approval]:
        """The newest questions, of one status and one person where given."""
        if status is not ApprovalStatus.PENDING:
            return self.list_history(
                ApprovalFilter(user=user) if status is None else ApprovalFilter((status,), user=user), limit=limit
            )
        self.expire_due()
        with self._store.reading() as db:
            closed = frozenset() if user is None else access_rows.list_closed_agents(db, user)
            pending = rows.list_pending(db)
        theirs = (found for found in pending if user in (None, found.cubicle.user))
        return [found for found in theirs if found.cubicle.agent not in closed][:limit]

    def list_history(self, wanted: ApprovalFilter, *, before: str = "", limit: int) -> list[Approval]:
        """The newest questions that match; with ``before``, the id of the last of a page, those of the next one.
        Raises BadInput when that question is gone."""
        self.expire_due()
        with self._store.reading() as db:
            place = history_rows.find_position(db, before) if before else None
            if before and place is None:
                raise BadInput("before: that question is gone. Begin with the newest ones again.")
            return history_rows.list_page(db, wanted, before=place, limit=limit)

    def of_turn(self, turn: int) -> list[Approval]:
        """What a turn asked the host to do, in order; questions about its commands are named by its steps."""
        with self._store.reading() as db:
            return rows.list_of_turn(db, turn)

    def get(self, approval: str) -> Approval:
        """The approval with this id; raises NotFound."""
        with self._store.reading() as db:
            found = rows.get_approval(db, approval)
        if found is None:
            raise NotFound("There is no approval with this id. './hermit approvals' shows what is waiting.")
        return found

    def on_decision(self, kind: str, decided: Decided) -> None:
        """From now on ``decided`` hears how each question of this kind ended. To be called before one is asked."""
        self._followers[kind] = decided

    def ask_person(
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
        step: int | None = None,
    ) -> Approval:
        """Ask a person whether exactly ``text`` may be done, within the transaction that is given; surfaces show it
        once that is committed. The same question that is open already comes back. About a command, ``step`` is its
        number.

        With a ``host`` or ``kinds`` in ``detail`` the person may also allow that in advance. Raises TooMany, and
        Forbidden for what is no command when the person said no to it in this turn.
        """
        now = time.time()
        approval = Approval(
            id=typed_id(),
            cubicle=key,
            turn=turn,
            step=step,
            kind=kind,
            text=text,
            sha256=hashlib.sha256(text.encode()).hexdigest(),
            reason=reason,
            detail={**detail, **_tell_sources(db, key, turn)},
            status=ApprovalStatus.PENDING,
            asked_at=now,
            expires_at=now + timeout_s,
            decided_at=None,
            decided_by=None,
            used_at=None,
            read_mark=source_rows.get_read_mark(db),
        )
        pending = rows.pending_same(db, approval, now)
        if pending is not None:
            return pending
        # Whether a command may be asked about was judged when its step was written down.
        refused = refused_before(db, turn, approval.sha256) if turn is not None and step is None else ""
        if refused:
            raise Forbidden(refused)
        check_pending(db, key)
        rows.insert_approval(db, approval)
        self._write_audit(db, approval, "approval.asked", f"Asked: {escape_invisible(text)}")
        self._store.after_commit(partial(self._show_approval, approval))
        return approval

    def decide(
        self,
        approval: str,
        *,
        approve: bool,
        by: User,
        surface: str,
        always: bool = False,
        said: DecisionDetails = NOTHING,
    ) -> Approval:
        """Approve or deny, with a note or for longer than once; ``always`` is short for that scope. Raises NotFound
        when it is not theirs, Conflict when it is decided or too late, BadInput when what is said does not fit, and
        Forbidden when a member says "always": that holds for everybody who talks to the agent."""
        found = self.get(approval)
        if by.role is not Role.OPERATOR and (found.cubicle.user != by.id or self._is_closed(found.cubicle)):
            raise NotFound("There is no approval with this id. './hermit approvals' shows what is waiting.")
        status = ApprovalStatus.APPROVED if approve else ApprovalStatus.DENIED
        said = replace(said, scope=GrantScope.ALWAYS) if always else said
        check_answer(found, said, approve=approve)
        if said.scope is GrantScope.ALWAYS and by.role is not Role.OPERATOR:
            raise Forbidden("Only an operator can always allow something. You may approve this once.")
        decided = self._end_approval(found, status, f"{by.name} ({surface})", said=said, allow=(by, surface))
        if decided is None:
            self.expire_due()
            raise Conflict(too_late(self.get(approval)))
        return decided

    def use_approval(self, approval: str, step: Step) -> bool:
        """Take an approval for exactly this step; False when it does not fit, was used or is too old."""
        with self._store.writing() as db:
            used = rows.use_approval(db, approval, step.turn, step.n, sha256=step.sha256, now=time.time())
            if used:
                found = rows.get_approval(db, approval)
                assert found is not None  # noqa: S101 - it was updated just now, in this transaction
                self._write_audit(db, found, "approval.used", "The approved command runs.")
        return used

    def cancel_approval(self, approval: Approval, why: str) -> None:
        """Nobody need answer any more; decided already is fine."""
        self._end_approval(approval, ApprovalStatus.CANCELLED, why)

    def withdraw(self, agent: str) -> None:
        """An agent's settings were changed: what it asked before is cancelled, it may ask again."""
        with self._store.reading() as db:
            pending = rows.list_pending(db)
        for approval in pending:
            if approval.cubicle.agent == agent:
                self.cancel_approval(approval, "a change of the agent's settings")

    def abandon(self, is_theirs: Callable[[CubicleKey], bool], why: str = "a deletion") -> None:
        """Nothing more is done for these cubicles: what was asked about them is cancelled."""
        with self._store.reading() as db:
            pending = rows.list_pending(db)
        for approval in pending:
            if is_theirs(approval.cubicle):
                self.cancel_approval(approval, why)

    def expire_due(self) -> None:
        """Questions whose time is up are expired."""
        with self._store.reading() as db:
            overdue = rows.list_overdue(db, time.time())
        for approval in overdue:
            self._end_approval(self.get(approval), ApprovalStatus.EXPIRED, "nobody answered in time")

    def reconcile(self) -> None:
        """After a start: what nobody answered in time has expired, and open questions are asked again."""
        for approval in self.list_approvals(status=ApprovalStatus.PENDING):
            self._show_approval(approval)

    def _is_closed(self, key: CubicleKey) -> bool:
        with self._store.reading() as db:
            return access_rows.is_closed(db, key)

    def _end_approval(
        self,
        approval: Approval,
        status: ApprovalStatus,
        by: str,
        *,
        said: DecisionDetails = NOTHING,
        allow: tuple[User, str] | None = None,
    ) -> Approval | None:
        """Decide once; None when somebody or something was faster."""
        with self._store.writing() as db:
            if not rows.decide_approval(db, approval.id, status, by, time.time(), detail=make_note(said)):
                return None
            if said.scope is not None and allow is not None:
                self._add_grant(db, approval, said.scope, *allow)
            decided = rows.get_approval(db, approval.id)
            assert decided is not None  # noqa: S101 - it was updated just now, in this transaction
            self._followers[approval.kind](db, decided)
            self._write_audit(
                db, decided, f"approval.{status}", f"{str(status).capitalize()} by {by}.{quote_note(decided)}"
            )
            self._store.after_commit(partial(self._show_approval, decided))
        return decided

    def _show_approval(self, approval: Approval) -> None:
        """Every surface shows the question, or how it ended."""
        self._broker.publish(Event("approval", approval.cubicle, approval_json(approval)))
        is_open = approval.status is ApprovalStatus.PENDING
        (self._hooks.approval_asked if is_open else self._hooks.approval_decided).fire(approval)

    def _add_grant(self, db: sqlite3.Connection, approval: Approval, scope: GrantScope, by: User, surface: str) -> None:
        kind, subjects = describe_allowance(approval)
        self._grants.insert_grant(
            db,
            approval.cubicle,
            kind,
            subjects,
            scope,
            by=by,
            surface=surface,
            turn=approval.turn,
            read_mark=approval.read_mark,
        )

    def _write_audit(self, db: sqlite3.Connection, approval: Approval, kind: str, text: str) -> None:
        audit_rows.insert_record(
            db,
            kind,
            text,
            now=time.time(),
            agent=approval.cubicle.agent,
            user=approval.cubicle.user,
            turn=approval.turn,
            detail={"approval": approval.id, "step": approval.step, "sha256": approval.sha256},
        )


def _tell_sources(db: sqlite3.Connection, key: CubicleKey, turn: int | None) -> dict[str, Any]:
    """What the conversation had read when the question was asked; nothing where that was nothing."""
    read = sum_up(source_rows.list_sources(db, key, conversation_of(db, turn)))
    return {"sources": read} if read else {}
