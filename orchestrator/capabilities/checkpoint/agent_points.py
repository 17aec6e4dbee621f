"""Points of time for agents: a job looks them up, names one or goes back, as a history may take its time and is no part
of the database's transaction.

Whose history it is, the door says; a number is looked for in that one alone. Further back than the running turn a
person decides: on one point, some paths, and the changes that it comes to. If any of these is another when the answer
comes, nothing happens.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from orchestrator.agents.agents import Agents
from orchestrator.approvals import rows as approval_rows
from orchestrator.approvals.answers import quote_note
from orchestrator.approvals.approvals import Approvals
from orchestrator.capabilities.capability import Caller, Deeds, Outcome
from orchestrator.capabilities.checkpoint import messages as words
from orchestrator.capabilities.checkpoint.capability import (
    CREATE,
    DIFF,
    KIND,
    LIST,
    RESTORE,
    ComparePoint,
    CreatePoint,
    ListPoints,
    RestorePoint,
)
from orchestrator.capabilities.checkpoint.paths import read_paths
from orchestrator.checkpoints.checkpoints import Checkpoints
from orchestrator.checkpoints.models import Change, Checkpoint, Parts, PointKind
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Conflict, Forbidden, NotFound, Stopped, TooMany
from orchestrator.core.models import Approval, ApprovalStatus, CubicleKey
from orchestrator.jobs import rows
from orchestrator.jobs.kinds import JobKind, JobReport, Running
from orchestrator.jobs.pool import Jobs, job_reference
from orchestrator.jobs.rows import Job, JobState
from orchestrator.turns import point_rows
from orchestrator.turns import rows as turn_rows
from orchestrator.turns.restores import Restores
from orchestrator.turns.turn_points import TurnPoints

MOST_NAMED = 50
"""Points of a cubicle that its agent may have given a name."""
_PAGE = 500
_TIME_S = 1_800.0
_ASKED, _ALLOWED = "asked", "allowed"
_ENDED = {
    ApprovalStatus.DENIED: (JobState.FAILED, words.DENIED),
    ApprovalStatus.EXPIRED: (JobState.FAILED, words.EXPIRED),
    ApprovalStatus.CANCELLED: (JobState.CANCELLED, words.CANCELLED),
}


@dataclass(frozen=True, slots=True)
class PointHistory:
    """What has the past of workspaces."""

    checkpoints: Checkpoints
    points: TurnPoints
    restores: Restores


class AgentPoints:
    """Everything that agents ask of their histories."""

    def __init__(
        self, *, store: Store, agents: Agents, approvals: Approvals, jobs: Jobs, history: PointHistory
    ) -> None:
        self._store, self._agents, self._approvals, self._jobs = store, agents, approvals, jobs
        self._checkpoints, self._points, self._restores = history.checkpoints, history.points, history.restores
        approvals.on_decision(KIND, self._on_decided)
        jobs.add_kind(JobKind(KIND, self._run_job, _TIME_S, report=_report, gave_up=words.GAVE_UP, at_once=4))

    @property
    def deeds(self) -> Deeds:
        """What carries out what agents ask for."""
        return {
            LIST.name: self._ask_for_list,
            DIFF.name: self._ask_for_diff,
            CREATE.name: self._ask_for_name,
            RESTORE.name: self._ask_to_go_back,
        }

    # --- what is asked ---------------------------------------------------------------------------------------------

    def _ask_for_list(self, db: sqlite3.Connection, caller: Caller, asked: ListPoints) -> Outcome:
        return self._submit(db, caller, LIST.name, {"limit": min(asked.limit, words.MOST_LISTED)})

    def _ask_for_diff(self, db: sqlite3.Connection, caller: Caller, asked: ComparePoint) -> Outcome:
        return self._submit(db, caller, DIFF.name, {"id": asked.id})

    def _ask_for_name(self, db: sqlite3.Connection, caller: Caller, asked: CreatePoint) -> Outcome:
        if caller.turn is None:  # a point without a turn is a person's
            raise Conflict("No turn is under way. Name a point while you work on a message.")
        return self._submit(db, caller, CREATE.name, {"name": asked.name})

    def _ask_to_go_back(self, db: sqlite3.Connection, caller: Caller, asked: RestorePoint) -> Outcome:
        paths = ["/".join(part.decode() for part in path) for path in read_paths(asked.paths)]
        return self._submit(db, caller, RESTORE.name, {"id": asked.id, "paths": paths}, words.GOING_BACK)

    def _submit(
        self, db: sqlite3.Connection, caller: Caller, do: str, asked: Mapping[str, Any], text: str = words.LOOKED_UP
    ) -> Outcome:
        job = self._jobs.submit(db, KIND, caller.key, caller.turn, {"do": do, **asked})
        return Outcome(text, waits_for=job_reference(KIND, job.name))

    def _on_decided(self, db: sqlite3.Connection, approval: Approval) -> None:
        for job in rows.list_waiting_for(db, KIND, f"approval:{approval.id}"):
            if approval.status is ApprovalStatus.APPROVED:
                self._jobs.resume_job(db, job, _ALLOWED)
            else:
                state, why = _ENDED[approval.status]
                self._jobs.end_job(db, job, state, str(approval.status), error=f"{why}{quote_note(approval)}")

    # --- the work --------------------------------------------------------------------------------------------------

    def _run_job(self, running: Running) -> Mapping[str, Any] | None:
        job = running.job
        if job.payload["do"] == LIST.name:  # after the points that are on their way
            return self._points.run_between(job.cubicle, partial(self._list_points, job))
        if job.payload["do"] == DIFF.name:
            return self._points.run_between(job.cubicle, partial(self._compare, job))
        if job.payload["do"] == CREATE.name:
            return self._create(job)
        return self._go_back(job)

    def _list_points(self, job: Job) -> dict[str, Any]:
        limit = int(job.payload["limit"])
        found = self._checkpoints.list_checkpoints(job.cubicle, limit=limit + 1)
        shown, has_more = found[:limit], len(found) > limit
        return _said(words.list_text(shown, has_more=has_more), words.list_result(shown, has_more=has_more))

    def _compare(self, job: Job) -> dict[str, Any]:
        older = job.payload["id"]
        if older is None:
            start = self._get_turn_start(job.cubicle, job.turn)
            if start is None:
                raise BadInput("CHECKPOINT_DIFF: id: name a point, as this turn has none. `hermit checkpoint list`")
            older = start.id
        changes = self._checkpoints.diff(job.cubicle, older)
        newest = self._checkpoints.list_checkpoints(job.cubicle, limit=1)[0].id
        return _said(words.diff_text(older, newest, changes), words.diff_result(older, newest, changes))

    def _create(self, job: Job) -> dict[str, Any]:
        name, named = str(job.payload["name"]), self._list_named(job.cubicle)
        made = next((one for one in named if job.tries and (one.turn, one.label) == (job.turn, name)), None)
        if made is None:  # or it was made before a death
            if len(named) >= MOST_NAMED:
                raise TooMany(words.too_many_text(job.cubicle.agent, MOST_NAMED, named[-1].id))
            made = self._restores.create_point(job.cubicle, name, turn=job.turn)
        return _said(words.created_text(made), {"id": made.id, "name": made.label})

    def _go_back(self, job: Job) -> dict[str, Any] | None:
        key, paths = job.cubicle, read_paths(job.payload["paths"])
        point = self._checkpoints.get_checkpoint(key, int(job.payload["id"]))
        start = self._get_turn_start(key, job.turn)
        if job.progress != _ALLOWED and (start is None or point.id < start.id):
            return self._ask_person(job, point, paths)
        by, turn = key.agent, job.turn
        if job.progress == _ALLOWED:
            changes = self._list_changes(job, point, paths)
            if not changes:  # it was done before a death, or by somebody else
                return _said(words.nothing_text(point.id), {"changed": 0})
            by, turn = self._check_allowed(job, _digest(point, paths, changes)), self._get_running(job)
        done = self._restores.restore(key, point.id, paths, by=by, turn=turn)
        return _said(words.restored_text(point.id, done), words.restored_result(done))

    def _ask_person(self, job: Job, point: Checkpoint, paths: Sequence[Parts]) -> dict[str, Any] | None:
        """None: it waits for the answer. Raises TooMany, or Forbidden for what the person refused in this turn."""
        changes = self._list_changes(job, point, paths)
        if not changes:
            return _said(words.nothing_text(point.id), {"changed": 0})
        timeout_s = self._agents.get(job.cubicle.agent).approval_timeout_s
        with self._store.writing() as db:
            approval = self._approvals.ask_person(
                db,
                job.cubicle,
                job.turn,
                kind=KIND,
                text=words.question_text(point, paths, changes),
                reason=words.REASON,
                detail={"point": point.id, "files": len(changes), "digest": _digest(point, paths, changes)},
                timeout_s=timeout_s,
            )
            if not rows.make_wait(db, job.id, f"approval:{approval.id}", _ASKED):
                raise Stopped("Nobody wants this any more.")
        return None

    def _check_allowed(self, job: Job, digest: str) -> str:
        """Who agreed to exactly this. Raises Forbidden when nobody did."""
        with self._store.reading() as db:
            approval = approval_rows.get_approval(db, job.waits_for.removeprefix("approval:"))
        is_yes = approval is not None and approval.status is ApprovalStatus.APPROVED
        if approval is None or not is_yes or approval.kind != KIND or approval.cubicle != job.cubicle:
            raise Forbidden("Nobody has agreed to this.")
        if approval.detail.get("digest") != digest:
            raise Forbidden(words.CHANGED)
        return approval.decided_by or "somebody"

    def _list_changes(self, job: Job, point: Checkpoint, paths: Sequence[Parts]) -> list[Change]:
        """What going back would change, as of now."""
        label = f"Before going back to point {point.id}"
        take = partial(self._checkpoints.take, job.cubicle, PointKind.RESTORE, turn=job.turn, label=label)
        now = self._points.run_between(job.cubicle, take)
        changes = self._checkpoints.diff(job.cubicle, point.id, now.id)
        return [one for one in changes if not paths or any(one.path[: len(path)] == path for path in paths)]

    def _list_named(self, key: CubicleKey) -> list[Checkpoint]:
        """The points that the agent has named, the newest first."""
        named: list[Checkpoint] = []
        before: int | None = None
        while page := self._checkpoints.list_checkpoints(key, limit=_PAGE, before=before):
            named += [one for one in page if one.kind is PointKind.NAMED and one.turn is not None]
            before = page[-1].id
        return named

    def _get_turn_start(self, key: CubicleKey, turn: int | None) -> Checkpoint | None:
        """The point before the turn's first command; None where there is none."""
        if turn is None:
            return None
        with self._store.reading() as db:
            span = point_rows.get_span(db, turn)
        if span is None:
            return None
        try:
            found = self._checkpoints.get_checkpoint(key, span.before)
        except NotFound:
            return None
        return found if found.at == span.before_at else None  # else it is of a history that was begun anew

    def _get_running(self, job: Job) -> int | None:
        """The job's turn while a crab works on it."""
        with self._store.reading() as db:
            running = [claim.turn for _, claim in turn_rows.list_running(db, job.cubicle)]
        return job.turn if job.turn in running else None


def _said(text: str, told: Mapping[str, Any]) -> dict[str, Any]:
    return {"said": text, "told": dict(told)}


def _digest(point: Checkpoint, paths: Sequence[Parts], changes: Sequence[Change]) -> str:
    """Of all that a person decides on."""
    facts = [point.id, point.at, [[part.hex() for part in path] for path in paths]]
    facts += [[[part.hex() for part in one.path], one.kind] for one in changes]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _report(db: sqlite3.Connection, job: Job) -> JobReport:
    is_heard = job.turn is not None and turn_rows.is_open(db, job.turn)
    is_late = job.progress not in map(str, _ENDED) and bool(job.waits_for) and not is_heard
    said = job.error or str(job.result.get("said", ""))
    told = {"code": job.result.get("code", job.progress)} if job.error else job.result.get("told", {})
    return JobReport(said, told, notice=f"{job.cubicle.agent} wanted files put back. {said}" if is_late else "")
