"""Installs: an agent asks for packages, a package resolver finds out what that comes to, a person agrees to
exactly that list, the package resolver fetches it, and the files lie in the cubicle's read-only ``data/packages``.

A job does it: it resolves, waits for the person, and downloads. What runs of the packages runs inside the cubicle.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from orchestrator.agents import agent_rows
from orchestrator.agents.agents import Agents
from orchestrator.approvals.answers import quote_note
from orchestrator.approvals.approvals import Approvals
from orchestrator.approvals.grant_rows import GrantKind
from orchestrator.approvals.grants import Grants
from orchestrator.approvals.policy.kinds import LOOK_UP
from orchestrator.approvals.source_rows import NewSource, Source, SourceKind
from orchestrator.approvals.sources import sum_up
from orchestrator.capabilities.arrivals import record_arrivals
from orchestrator.capabilities.capability import Caller, Deeds, Outcome
from orchestrator.capabilities.packages import messages as sentences
from orchestrator.capabilities.packages import records
from orchestrator.capabilities.packages.capability import INSTALL, NAMES_APPROVAL, Install
from orchestrator.capabilities.packages.input import read_requests
from orchestrator.capabilities.packages.lists import Package, as_detail, as_question, read_list, total_of, write_list
from orchestrator.capabilities.packages.package_store import INSIDE, PackageStore
from orchestrator.capabilities.packages.records import Installation, read_installation
from orchestrator.capabilities.packages.resolver import PackageResolver
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import NotFound, Stopped, TooMany
from orchestrator.core.models import Approval, ApprovalStatus, CubicleKey, Turn
from orchestrator.engine.helper_folder import Failed
from orchestrator.files import quota as rules
from orchestrator.files.workspace import Workspaces
from orchestrator.gate.traffic_log import GateUser
from orchestrator.jobs import rows
from orchestrator.jobs.kinds import JobKind, JobReport, Running
from orchestrator.jobs.pool import Jobs, job_reference
from orchestrator.jobs.rows import Job, JobState
from orchestrator.turns import rows as turn_rows

KIND = "packages"
KEPT_S = 7 * 24 * 3600.0
"""So long the files lie in ``data/packages``; what was installed from them stays."""
_HOUR_S = 3600.0
_TIME_S = 2 * 3600.0
"""The first one of all has its image built, which takes minutes."""
_MOST_TOLD = 10
_ENDED = {
    ApprovalStatus.DENIED: (JobState.FAILED, sentences.DENIED),
    ApprovalStatus.EXPIRED: (JobState.FAILED, sentences.EXPIRED),
    ApprovalStatus.CANCELLED: (JobState.CANCELLED, sentences.CANCELLED),
}


class Packages:
    """Every installation that an agent asked for."""

    def __init__(
        self,
        *,
        store: Store,
        agents: Agents,
        approvals: Approvals,
        grants: Grants,
        jobs: Jobs,
        workspaces: Workspaces,
        resolver: PackageResolver,
        most_an_hour: int,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``most_an_hour`` requests of a cubicle may have an index asked."""
        self._store, self._agents, self._approvals, self._grants, self._jobs = store, agents, approvals, grants, jobs
        self._workspaces, self._shelf, self._resolver = workspaces, PackageStore(workspaces), resolver
        self._most_an_hour, self._now = most_an_hour, now
        approvals.on_decision(KIND, partial(self._on_decided, records.DOWNLOADING))
        approvals.on_decision(NAMES_APPROVAL.name, partial(self._on_decided, records.RESOLVING))
        jobs.add_kind(
            JobKind(
                KIND,
                self._run_job,
                _TIME_S,
                report=_report,
                prepare=resolver.clear_leftovers,
                forget=lambda job: self._shelf.remove_folder(job.cubicle, int(job.name)),
                gave_up=sentences.GAVE_UP,
                kept_s=KEPT_S,
            )
        )

    @property
    def deeds(self) -> Deeds:
        """What carries out what agents ask for."""
        return {INSTALL.name: self._ask_person}

    def list_installs(
        self, *, status: str | None = None, user: int | None = None, limit: int = 200
    ) -> list[Installation]:
        """The newest installations, of one status and one person where given."""
        with self._store.reading() as db:
            return [read_installation(job) for job in rows.list_jobs(db, KIND, progress=status, user=user, limit=limit)]

    def get_install(self, number: int) -> Installation:
        """The installation of this number; raises NotFound."""
        with self._store.reading() as db:
            found = rows.get_job(db, KIND, str(number))
        if found is None:
            raise NotFound("There is no such installation.")
        return read_installation(found)

    def turn_note(self, turn: Turn) -> str:
        """What this turn's agent has yet to hear: how requests ended whose own turn was over by then."""
        found = [read_installation(job) for job in self._jobs.report_ends(KIND, turn, most=_MOST_TOLD)]
        for one in found:
            if one.status == records.DONE:
                with self._store.writing() as db:
                    self._note_arrival(db, one, [turn.id])
        return "\n".join(sentences.later_note(one.system, one.asked, one.error) for one in found)

    # --- the request ----------------------------------------------------------------------------------------------

    def _ask_person(self, db: sqlite3.Connection, caller: Caller, action: Install) -> Outcome:
        key, now = caller.key, self._now()
        asked = read_requests(action.system, action.packages)
        before = _same(db, key, action.system, asked)
        if before is not None and before.status != records.DONE:
            text = sentences.WAITS if before.status == records.ASKED else sentences.LOOKED_UP
            return Outcome(text, {"install": before.id}, waits_for=job_reference(KIND, str(before.id)))
        if before is not None and self._shelf.has_folder(key, before.id):
            self._note_arrival(db, before, [caller.turn])
            return Outcome(_ready(before), _result(before))
        if len(rows.list_cubicle_jobs(db, KIND, key, since=now - _HOUR_S)) >= self._most_an_hour:
            raise TooMany(
                f"At most {self._most_an_hour} package requests an hour are looked up (HERMIT_INSTALLS_PER_HOUR in "
                "hermit.env). Try again later, or ask for several packages at once."
            )
        payload = {"system": action.system, "asked": asked}
        how: dict[str, Any] = {"progress": records.RESOLVING}
        if not self._may_look_up(db, caller, action.system, asked):
            approval = self._ask_about_names(db, caller, action.system, asked)
            how = {"progress": records.ASKED, "state": JobState.WAITING, "waits_for": f"approval:{approval.id}"}
        job = self._jobs.submit(db, KIND, key, caller.turn, payload, **how)
        text = sentences.NAMES_ASKED if job.state is JobState.WAITING else sentences.LOOKED_UP
        return Outcome(text, {"install": int(job.name)}, waits_for=job_reference(KIND, job.name))

    def _may_look_up(self, db: sqlite3.Connection, caller: Caller, system: str, asked: Sequence[str]) -> bool:
        """The index has these names from this cubicle, with a person's consent, or a person allowed any."""
        theirs = map(read_installation, rows.list_cubicle_jobs(db, KIND, caller.key))
        told = {name for one in theirs if one.system == system for name in records.list_told(one)}
        if told.issuperset(asked):
            return True
        held = self._grants.find_covering(db, caller.key, caller.turn, [f"{LOOK_UP} {system}"])
        if held is None or self._list_newcomers(db, caller, system):
            return False
        text = f"{sentences.name_packages(asked)}: looked up without a question, as {held[0].subject} is allowed."
        detail = {"system": system, "asked": list(asked), "grant": held[0].id}
        key = caller.key
        audit_rows.insert_record(
            db,
            "packages.names_allowed",
            text,
            now=self._now(),
            agent=key.agent,
            user=key.user,
            turn=caller.turn,
            detail=detail,
        )
        return True

    def _list_newcomers(self, db: sqlite3.Connection, caller: Caller, system: str) -> list[Source]:
        """What was read since a person allowed any names, but for packages: installing one is no reason to be asked
        about the next."""
        subject = f"{LOOK_UP} {system}"
        newcomers = self._grants.list_newcomers(db, caller.key, caller.turn, subject, GrantKind.COMMAND) or []
        return [one for one in newcomers if one.kind is not SourceKind.PACKAGES]

    def _ask_about_names(self, db: sqlite3.Connection, caller: Caller, system: str, asked: Sequence[str]) -> Approval:
        """Before a name leaves. Raises TooMany, Forbidden."""
        newcomers = self._list_newcomers(db, caller, system)
        return self._approvals.ask_person(
            db,
            caller.key,
            caller.turn,
            kind=NAMES_APPROVAL.name,
            text="\n".join([f"{system} look-up", *asked]),
            reason=sentences.NAMES_REASON,
            detail={"system": system, "asked": list(asked), "kinds": [f"{LOOK_UP} {system}"]}
            | ({"since_allowed": sum_up(newcomers)} if newcomers else {}),
            timeout_s=self._agents.get(caller.key.agent).approval_timeout_s,
        )

    def _on_decided(self, onward: str, db: sqlite3.Connection, approval: Approval) -> None:
        for job in rows.list_waiting_for(db, KIND, f"approval:{approval.id}"):
            if approval.status is ApprovalStatus.APPROVED:
                self._jobs.resume_job(db, job, onward)
            else:
                state, why = _ENDED[approval.status]
                self._jobs.end_job(db, job, state, str(approval.status), error=f"{why}{quote_note(approval)}")

    # --- the work ----------------------------------------------------------------------------------------------

    def _run_job(self, running: Running) -> dict[str, Any] | None:
        one = read_installation(running.job)
        if one.status == records.DOWNLOADING:
            self._fetch_packages(one, running)
            return {}
        self._resolve_packages(one, running)
        return None

    def _resolve_packages(self, one: Installation, running: Running) -> None:
        packages = self._resolver.resolve_packages(
            one.id, one.system, one.asked, user=_gate_user(one), is_wanted=running.is_wanted
        )
        self._check_room(one.cubicle, packages)
        timeout_s = self._agents.get(one.cubicle.agent).approval_timeout_s
        with self._store.writing() as db:
            approval = self._approvals.ask_person(
                db,
                one.cubicle,
                one.turn,
                kind=KIND,
                text=as_question(one.system, packages),
                reason=sentences.REASON,
                detail=as_detail(one.system, one.asked, packages),
                timeout_s=timeout_s,
            )
            listed = {"packages": write_list(packages)}
            if not rows.make_wait(db, running.job.id, f"approval:{approval.id}", records.ASKED, listed):
                raise Stopped("Nobody wants these packages any more.")

    def _fetch_packages(self, one: Installation, running: Running) -> None:
        packages = read_list(one.system, list(one.packages))
        self._check_room(one.cubicle, packages)
        try:
            brought = self._resolver.fetch_files(
                one.id, one.system, packages, user=_gate_user(one), is_wanted=running.is_wanted
            )
            running.check_wanted()  # of an agent that is being deleted another of its name gets nothing
            with self._store.writing() as db:
                self._note_arrival(db, one, [one.turn], awaited=[job_reference(KIND, str(one.id))])
            self._shelf.store_files(one.cubicle, one.id, one.system, brought)
        finally:
            self._resolver.drop_files(one.id)

    def _note_arrival(
        self, db: sqlite3.Connection, one: Installation, turns: list[int | None], *, awaited: Sequence[str] = ()
    ) -> None:
        """What strangers wrote of these packages is read from now on; what they need counts with those asked for."""
        new = [NewSource(SourceKind.PACKAGES, f"{one.system} {name}", ref=f"{KIND}:{one.id}") for name in one.asked]
        record_arrivals(db, one.cubicle, turns, new, awaited=awaited, now=self._now())

    def _check_room(self, key: CubicleKey, packages: Sequence[Package]) -> None:
        """The files fit into what the workspace may hold, and what is installed from them may need as much again."""
        limit = rules.get_allowance(self._agents.get(key.agent).limits)
        used = self._workspaces.measure_usage(key)
        if used.bytes + total_of(packages) > limit.bytes:
            raise Failed("There is no room for them in the workspace. Delete what is no longer needed, then ask again.")


def _gate_user(one: Installation) -> GateUser:
    return GateUser(KIND, one.cubicle, one.turn, one.id)


def _same(db: sqlite3.Connection, key: CubicleKey, system: str, asked: Sequence[str]) -> Installation | None:
    """The newest one of this cubicle with the same request that is under way or done."""
    theirs = map(read_installation, reversed(rows.list_cubicle_jobs(db, KIND, key)))
    usable = (records.RESOLVING, records.ASKED, records.DOWNLOADING, records.DONE)
    same = (one for one in theirs if one.system == system and one.asked == tuple(asked) and one.status in usable)
    return next(same, None)


def _report(db: sqlite3.Connection, job: Job) -> JobReport:
    one = read_installation(job)
    is_heard, is_done = one.turn is not None and turn_rows.is_open(db, one.turn), one.status == records.DONE
    error = one.error
    is_silent = is_heard or one.status in (records.DENIED, records.CANCELLED)
    return JobReport(
        error or _ready(one),
        _result(one) if is_done else {"code": one.status, "install": one.id},
        audit=f"packages.{one.status}",
        said=error
        or f"{sentences.name_packages(one.asked)}: downloaded in a helper container, {len(one.packages)} in all.",
        detail={"install": one.id, "system": one.system, "asked": list(one.asked), "approval": one.approval},
        notice=""
        if is_silent
        else sentences.person_notice(agent_rows.called_as(db, one.cubicle.agent), one.asked, error),
        is_heard=is_heard,
    )


def _ready(one: Installation) -> str:
    return sentences.ready_text(len(one.packages), f"{INSIDE}/{one.id}")


def _result(one: Installation) -> dict[str, Any]:
    packages = [{"name": package["name"], "version": package["version"]} for package in one.packages]
    return {"install": one.id, "system": one.system, "folder": f"{INSIDE}/{one.id}", "packages": packages}
