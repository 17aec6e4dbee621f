"""Installations: an agent wishes for packages, a courier finds out what that comes to, a person agrees to exactly that
list, the courier fetches it, and the files lie in the cubicle's read-only ``data/packages``.

The row is the truth; one worker does what the rows ask for, one errand at a time, and takes up after a death what was
under way. What runs of the packages runs inside the cubicle.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from typing import Any

from orchestrator.agents import Agents
from orchestrator.approval_answers import quoted
from orchestrator.approvals import Approvals
from orchestrator.capabilities.table import Caller, Capability, Finish, Outcome, Policy
from orchestrator.disk import rules
from orchestrator.engine.helper_folder import Failed, NotWanted
from orchestrator.errors import NotFound, OrchestratorError, TooMany
from orchestrator.notices import Notices
from orchestrator.nouns import Approval, ApprovalStatus, CubicleKey, Turn
from orchestrator.packages import sentences
from orchestrator.packages.courier import Courier
from orchestrator.packages.lists import Package, as_detail, as_question, kept, read_list, total_of
from orchestrator.packages.shelf import INSIDE, Shelf
from orchestrator.packages.wishes import read_wishes
from orchestrator.panel.actions import Install
from orchestrator.store import audit as audit_rows
from orchestrator.store import packages as rows
from orchestrator.store import turns as turn_rows
from orchestrator.store.database import Store
from orchestrator.store.packages import Installation
from orchestrator.workspace import Workspaces

KIND = "packages"
COST = 60
MOST_TRIES = 3
KEPT_S = 7 * 24 * 3600.0
"""So long the files lie in ``data/packages``; what was installed from them stays."""
_HOUR_S = 3600.0
_ENDED = {
    ApprovalStatus.DENIED: (rows.DENIED, sentences.DENIED),
    ApprovalStatus.EXPIRED: (rows.EXPIRED, sentences.EXPIRED),
    ApprovalStatus.CANCELLED: (rows.CANCELLED, sentences.CANCELLED),
}


class Packages:
    """Every installation that an agent wished for."""

    def __init__(
        self,
        *,
        store: Store,
        agents: Agents,
        approvals: Approvals,
        notices: Notices,
        workspaces: Workspaces,
        courier: Courier,
        finish: Finish,
        most_an_hour: int,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``most_an_hour`` requests of a cubicle may have an index asked; ``finish`` ends waiting calls within the
        transaction."""
        self._store, self._agents, self._approvals, self._notices = store, agents, approvals, notices
        self._workspaces, self._shelf, self._courier = workspaces, Shelf(workspaces), courier
        self._finish, self._now = finish, now
        self._most_an_hour = most_an_hour
        self._wake: Callable[[], None] = _nobody
        approvals.follow(KIND, self._decided)

    def when_there_is_work(self, wake: Callable[[], None]) -> None:
        """From now on this is called when a courier is needed."""
        self._wake = wake

    @property
    def capability(self) -> Capability:
        """What agents ask with."""
        return Capability(Install, "packages", Policy.ASKS, COST, self._ask)

    def every(self, *, status: str | None = None, user: int | None = None, limit: int = 200) -> list[Installation]:
        """The newest installations, of one status and one person where given."""
        with self._store.reading() as db:
            return rows.every(db, status=status, user=user, limit=limit)

    def get(self, number: int) -> Installation:
        """The installation of this number; raises NotFound."""
        with self._store.reading() as db:
            found = rows.one(db, number)
        if found is None:
            raise NotFound("There is no such installation.")
        return found

    def note(self, turn: Turn) -> str:
        """What this turn's agent has yet to hear: how wishes ended whose own turn was over by then."""
        key = turn.cubicle
        with self._store.reading() as db:
            found = rows.untold(db, key, turn.id)
        if found:
            with self._store.writing() as db:
                rows.set_told(db, [one.id for one in found], turn.id)
        return "\n".join(sentences.later_note(one.system, one.asked, one.error) for one in found)

    def reconcile(self) -> None:
        """After a start: no errand of a dead house is under way."""
        self._courier.clear()

    def tidy(self) -> None:
        """Files that lay long enough go, and so do records of what came to nothing."""
        before = self._now() - KEPT_S
        with self._store.reading() as db:
            old = rows.done_before(db, before)
        for one in old:
            self._shelf.remove(one.cubicle, one.id)
            with self._store.writing() as db:
                rows.forget(db, one.id)
        with self._store.writing() as db:
            rows.forget_ended(db, before)

    # --- the wish ----------------------------------------------------------------------------------------------

    def _ask(self, db: sqlite3.Connection, caller: Caller, action: Install) -> Outcome:
        key, now = caller.key, self._now()
        asked = read_wishes(action.system, action.packages)
        before = rows.same(db, key, action.system, asked)
        if before is not None and before.status != rows.DONE:
            text = sentences.WAITS if before.status == rows.ASKED else sentences.LOOKED_UP
            return Outcome(text, {"install": before.id}, waits_for=_reference(before.id))
        if before is not None and self._shelf.has(key, before.id):
            return Outcome(_ready(before), _result(before))
        if rows.begun_since(db, key, now - _HOUR_S) >= self._most_an_hour:
            raise TooMany(
                f"At most {self._most_an_hour} package requests an hour are looked up (HERMIT_INSTALLS_PER_HOUR in "
                "hermit.env). Try again later, or ask for several packages at once."
            )
        number = rows.add(db, key, caller.turn, system=action.system, asked=asked, now=now)
        self._store.after_commit(self._wake)
        return Outcome(sentences.LOOKED_UP, {"install": number}, waits_for=_reference(number))

    def _decided(self, db: sqlite3.Connection, approval: Approval) -> None:
        for one in rows.of_approval(db, approval.id):
            if approval.status is ApprovalStatus.APPROVED:
                rows.set_downloading(db, one.id)
                self._store.after_commit(self._wake)
            else:
                status, why = _ENDED[approval.status]
                self._end(db, one, status, error=f"{why}{quoted(approval)}")

    # --- the work ----------------------------------------------------------------------------------------------

    def do_next(self, is_wanted: Callable[[], bool]) -> bool:
        """Do the next thing that rows ask for; False when there is nothing."""
        with self._store.writing() as db:
            one = rows.next_to_do(db)
            if one is None:
                return False
            rows.begin(db, one.id)
        try:
            if one.tries >= MOST_TRIES:
                raise Failed(sentences.GAVE_UP)
            if one.status == rows.RESOLVING:
                self._resolve(one, is_wanted)
            else:
                self._fetch(one, is_wanted)
        except NotWanted:
            with self._store.writing() as db:
                rows.begin(db, one.id, -1)
        except OrchestratorError as error:
            self._fail(one, error.message)
        return True

    def _resolve(self, one: Installation, is_wanted: Callable[[], bool]) -> None:
        packages = self._courier.resolve(one.id, one.system, one.asked, is_wanted=is_wanted)
        self._check_room(one.cubicle, packages)
        timeout_s = self._agents.get(one.cubicle.agent).approval_timeout_s
        with self._store.writing() as db:
            if not rows.is_wanted(db, one.id):
                return  # its agent is being deleted
            approval = self._approvals.ask(
                db,
                one.cubicle,
                one.turn,
                kind=KIND,
                text=as_question(one.system, packages),
                reason=sentences.REASON,
                detail=as_detail(one.system, one.asked, packages),
                timeout_s=timeout_s,
            )
            rows.set_asked(db, one.id, kept(packages), approval.id)

    def _fetch(self, one: Installation, is_wanted: Callable[[], bool]) -> None:
        packages = read_list(one.system, list(one.packages))
        self._check_room(one.cubicle, packages)
        try:
            brought = self._courier.fetch(one.id, one.system, packages, is_wanted=is_wanted)
            if not self._is_wanted(one):
                return  # its agent is being deleted; another of that name gets nothing of it
            self._shelf.put(one.cubicle, one.id, one.system, brought)
        finally:
            self._courier.drop(one.id)
        with self._store.writing() as db:
            self._end(db, one, rows.DONE, error="")

    def _is_wanted(self, one: Installation) -> bool:
        with self._store.reading() as db:
            return rows.is_wanted(db, one.id)

    def _check_room(self, key: CubicleKey, packages: Sequence[Package]) -> None:
        """The files fit into what the workspace may hold, and what is installed from them may need as much again."""
        limit = rules.allowance(self._agents.get(key.agent).limits)
        used = self._workspaces.measure(key)
        if used.bytes + total_of(packages) > limit.bytes:
            raise Failed("There is no room for them in the workspace. Delete what is no longer needed, then ask again.")

    def _fail(self, one: Installation, why: str) -> None:
        with self._store.writing() as db:
            self._end(db, one, rows.FAILED, error=why)

    def _end(self, db: sqlite3.Connection, one: Installation, status: str, *, error: str) -> None:
        """It has ended, and with it the calls that wait; who is told of it is told once that is committed."""
        is_late = one.turn is None or not turn_rows.is_open(db, one.turn)
        if not rows.end(db, one.id, status, error=error, is_late=is_late, now=self._now()):
            return
        key, is_done = one.cubicle, status == rows.DONE
        result = _result(one) if is_done else {"code": status, "install": one.id}
        self._finish(_reference(one.id), ok=is_done, text=error or _ready(one), result=result)
        said = error or f"{sentences.named(one.asked)}: downloaded in a helper container, {len(one.packages)} in all."
        detail = {"install": one.id, "system": one.system, "asked": list(one.asked), "approval": one.approval}
        audit_rows.add(
            db,
            f"packages.{status}",
            said,
            now=self._now(),
            agent=key.agent,
            user=key.user,
            turn=one.turn,
            detail=detail,
        )
        if is_late and status not in (rows.DENIED, rows.CANCELLED):
            said = sentences.notice(key.agent, one.asked, error)
            self._notices.post(key, KIND, said, turn=one.turn, subject=str(one.id))


def as_json(one: Installation) -> dict[str, Any]:
    """The installation as surfaces show it; names and versions were read strictly, an error may quote strangers."""
    packages = [
        {"name": p["name"], "version": p["version"], "size_bytes": p["size"], "hash": p["hash"]} for p in one.packages
    ]
    return {
        "id": one.id,
        "agent": one.cubicle.agent,
        "user": one.cubicle.user,
        "turn": one.turn,
        "system": one.system,
        "asked": list(one.asked),
        "packages": packages,
        "total_bytes": sum(package["size_bytes"] for package in packages),
        "status": one.status,
        "error": one.error,
        "approval": one.approval,
        "asked_at": one.asked_at,
        "ended_at": one.ended_at,
    }


def _nobody() -> None:
    """There is no worker yet; it looks for work when it starts."""


def _reference(number: int) -> str:
    return f"packages:{number}"


def _ready(one: Installation) -> str:
    return sentences.ready(len(one.packages), f"{INSIDE}/{one.id}")


def _result(one: Installation) -> dict[str, Any]:
    packages = [{"name": package["name"], "version": package["version"]} for package in one.packages]
    return {"install": one.id, "system": one.system, "folder": f"{INSIDE}/{one.id}", "packages": packages}
