"""Browsing: what agents ask of their browsers. A site that nobody allowed is asked about first; then a job does it, and
the call ends with what the page shows. What was read is written down before the agent reads it.
"""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

from orchestrator.approvals.answers import quote_note
from orchestrator.approvals.source_rows import NewSource, SourceKind
from orchestrator.browser.session import BrowserSession
from orchestrator.capabilities.arrivals import record_arrivals
from orchestrator.capabilities.browser import messages as words
from orchestrator.capabilities.browser.addresses import host_in, read_address
from orchestrator.capabilities.browser.browsing_parts import ALLOWED, ASKED, JOB, BrowsingParts
from orchestrator.capabilities.browser.capability import BROWSER, COMPANIONS_KIND, KIND, BrowserCall
from orchestrator.capabilities.browser.kept_logins import KeptLogins, SeenLogins
from orchestrator.capabilities.browser.page_looks import PageLooks
from orchestrator.capabilities.browser.page_uploads import PageUploads, check_files
from orchestrator.capabilities.browser.page_work import WORKS, PageAnswer, Work, check_call
from orchestrator.capabilities.browser.site_access import SiteAccess
from orchestrator.capabilities.browser.site_questions import SiteQuestions
from orchestrator.capabilities.capability import Caller, Deeds, Outcome
from orchestrator.core.errors import Conflict, Stopped, TooMany
from orchestrator.core.models import Approval, ApprovalStatus
from orchestrator.jobs import rows
from orchestrator.jobs.kinds import JobKind, JobReport, Running
from orchestrator.jobs.pool import job_reference
from orchestrator.jobs.rows import Job, JobState
from orchestrator.web.sites import site_of

MOST_OPEN = 5
_TIME_S = 180.0
_MOST_FILE_BYTES = 50_000_000
_ENDED = {
    ApprovalStatus.DENIED: (JobState.FAILED, words.DENIED),
    ApprovalStatus.EXPIRED: (JobState.FAILED, words.EXPIRED),
    ApprovalStatus.CANCELLED: (JobState.CANCELLED, words.CANCELLED),
}
_HELD = "person:browser"
_HANDOVERS = "handovers"
_ON_A_PAGE = frozenset(
    {
        "click",
        "type",
        "select",
        "press",
        "hover",
        "scroll",
        "back",
        "reload",
        "dialog",
        "cdp",
        "allow",
        "fill",
        "upload",
    }
)
"""What is meant for the page that the agent saw."""
PageRequest = Callable[[sqlite3.Connection, Caller, Mapping[str, Any]], Outcome]


class Browsing:
    """Everything that agents ask of their browsers."""

    def __init__(
        self,
        parts: BrowsingParts,
        uploads: PageUploads,
        logins: KeptLogins,
        looks: PageLooks,
        others: Mapping[str, PageRequest],
    ) -> None:
        """``others``: what is asked of the browser and done by somebody else."""
        self._logins, self._looks = logins, looks
        self._parts, self._store, self._uploads, self._others = parts, parts.store, uploads, others
        self._sites = SiteQuestions(parts)
        for kind in (KIND, COMPANIONS_KIND):
            parts.approvals.on_decision(kind, self._on_decided)
        parts.jobs.add_kind(
            JobKind(
                JOB,
                self._run_job,
                _TIME_S,
                report=self._report,
                prepare=uploads.held.tidy,
                tidy=uploads.held.tidy,
                tries=1,  # a click is not done twice
                gave_up=words.CUT_SHORT,
                broke=words.BROKE,
                at_once=4,
                ends_within_s=10.0,
            )
        )

    @property
    def deeds(self) -> Deeds:
        """What carries out what agents ask for."""
        return {BROWSER.name: self._request}

    # --- what is asked -----------------------------------------------------------------------------------------

    def _request(self, db: sqlite3.Connection, caller: Caller, asked: BrowserCall) -> Outcome:
        given = asdict(asked)
        check_call(asked.do, given)
        if asked.do in self._others:
            return self._others[asked.do](db, caller, given)
        if len(rows.list_open_jobs(db, JOB, caller.key)) >= MOST_OPEN:
            raise TooMany(f"{MOST_OPEN} calls of the browser are under way. Try again when one of them has ended.")
        if asked.do == "upload":
            check_files(asked.files)
        if asked.url:
            link = read_address(asked.url, self._parts.private_hosts, field="BROWSER: url")
            given["url"] = link.url
            if not self._sites.may_open(db, caller, link.host):
                approval = self._sites.ask_about_site(db, caller, link, given)
                how = {"state": JobState.WAITING, "progress": ASKED, "waits_for": f"approval:{approval.id}"}
                return self._submit(db, caller, given, words.asked_text(approval.detail["site"]), **how)
        is_held = self._parts.holds.left_s(caller.key) is not None
        return self._submit(db, caller, given, words.HELD if is_held else words.LOADING)

    def _submit(
        self, db: sqlite3.Connection, caller: Caller, given: Mapping[str, Any], text: str, **how: Any
    ) -> Outcome:
        payload = {**given, _HANDOVERS: self._parts.holds.count_changes(caller.key)}
        job = self._parts.jobs.submit(db, JOB, caller.key, caller.turn, payload, **how)
        return Outcome(text, waits_for=job_reference(JOB, job.name))

    def _on_decided(self, db: sqlite3.Connection, approval: Approval) -> None:
        for job in rows.list_waiting_for(db, JOB, f"approval:{approval.id}"):
            if approval.status is ApprovalStatus.APPROVED:
                self._parts.jobs.resume_job(db, job, ALLOWED)
            else:
                state, why = _ENDED[approval.status]
                self._parts.jobs.end_job(db, job, state, str(approval.status), error=f"{why}{quote_note(approval)}")

    # --- the work ----------------------------------------------------------------------------------------------

    def resume_held(self) -> None:
        """What waited for a browser that a person had goes on, where they gave it back."""
        with self._store.reading() as db:
            waiting = rows.list_waiting_for(db, JOB, _HELD)
        free = [job for job in waiting if self._parts.holds.left_s(job.cubicle) is None]
        if free:
            with self._store.writing() as db:
                for job in free:
                    self._parts.jobs.resume_job(db, job, job.progress)

    def _run_job(self, running: Running) -> dict[str, Any] | None:
        """None: it waits for a person."""
        job, holds = running.job, self._parts.holds
        handovers = holds.count_changes(job.cubicle)
        if holds.left_s(job.cubicle) is not None:
            with self._store.writing() as db:
                if not rows.make_wait(db, job.id, _HELD, job.progress):
                    raise Stopped("Nobody wants this any more.")
            return None
        if job.payload["do"] in _ON_A_PAGE and job.payload.get(_HANDOVERS, 0) != handovers:
            raise Conflict(words.PASSED)
        try:
            done = self._do(running, handovers)
        finally:
            self._parts.changed(job.cubicle)
        return done

    def _do(self, running: Running, handovers: int) -> dict[str, Any] | None:
        job = running.job
        if job.payload["do"] == "close" and job.payload["tab"] is None:
            self._parts.browsers.end(job.cubicle)
            return {"said": words.CLOSED, "told": {}}
        access = self._parts.accesses.get_access(job.cubicle)
        access.sent.begin_turn(job.turn)
        self._renew_access(job, access)
        if job.payload["do"] == "allow" and job.progress != ALLOWED:
            return self._sites.ask_for_missing(job)
        if job.payload["do"] == "upload":
            return self._upload(running, access, handovers)
        return self._work(running, access, handovers, WORKS[job.payload["do"]])

    @staticmethod
    def _use_permission(job: Job, access: SiteAccess) -> None:
        """What a person just agreed to, once the browser is there: with one before it, it would have ended."""
        if job.progress != ALLOWED:
            return
        if job.payload["url"]:
            site = site_of(host_in(job.payload["url"]))
            if access.sent.is_spent(site):
                access.sent.allow_more(site)
            access.allow_once(site)
        if job.payload["do"] == "allow":
            access.allow_companions(job.payload["site"], job.payload["hosts"])

    def _upload(self, running: Running, access: SiteAccess, handovers: int) -> dict[str, Any] | None:
        """None: a person is asked, and it waits."""
        if running.job.progress != ALLOWED:
            self._uploads.ask(running)
            return None
        with self._uploads.given(running.job, access) as work:
            return self._work(running, access, handovers, work)

    def _renew_access(self, job: Job, access: SiteAccess) -> None:
        """What was allowed in advance may have changed since the last call."""
        with self._store.reading() as db:
            access.set_granted(self._sites.list_granted(db, Caller(job.cubicle, job.turn), access))
        self._parts.accesses.recheck(job.cubicle)

    def _work(self, running: Running, access: SiteAccess, handovers: int, does: Work) -> dict[str, Any]:
        job, holds = running.job, self._parts.holds

        async def work(session: BrowserSession) -> tuple[PageAnswer, list[str], SeenLogins | None]:
            if holds.count_changes(job.cubicle) != handovers:
                raise Conflict(words.PASSED)
            self._use_permission(job, access)
            await self._logins.restore(job.cubicle, session)
            try:
                answer = await does(session, job.payload)
            finally:
                hosts = session.open_hosts()
                access.set_open(hosts)
            return answer, hosts, await self._logins.read(job.cubicle, session)

        try:
            answer, hosts, seen = self._parts.browsers.call(job.cubicle, work, starts=bool(job.payload["url"]))
        finally:
            self._parts.accesses.recheck(job.cubicle)
        self._logins.save(job.cubicle, seen)
        running.check_wanted()
        if holds.count_changes(job.cubicle) != handovers:
            answer = PageAnswer(words.TAKEN)  # a person may have typed something
        said, told = answer.text, dict(answer.told)
        with self._store.writing() as db:
            self._note_arrival(db, job, hosts)
        if answer.file and job.payload["do"] == "look":
            said = self._looks.describe(job, answer.file)
            told = {"answer": said}
        elif answer.file:
            said, told = self._keep_file(job, answer)
        return {"said": said, "told": told}

    def _note_arrival(self, db: sqlite3.Connection, job: Job, hosts: Sequence[str]) -> None:
        """Whoever wrote these pages is heard from now on."""
        reference = job_reference(JOB, job.name)
        new = [NewSource(SourceKind.WEB, host, "", reference) for host in dict.fromkeys(hosts)]
        record_arrivals(db, job.cubicle, [job.turn], new, awaited=[reference], now=job.created)

    def _keep_file(self, job: Job, answer: PageAnswer) -> tuple[str, dict[str, Any]]:
        name = job.payload["out"] or f"page.{answer.ending}"
        if not name.lower().endswith(f".{answer.ending}"):
            name = f"{name}.{answer.ending}"
        size = len(answer.file)
        stored = self._parts.workspaces.write_in(job.cubicle, name, io.BytesIO(answer.file), max_bytes=_MOST_FILE_BYTES)
        return words.file_text(stored.name, size), {
            "file": f"in/{stored.name}",
            "path": f"{words.INBOX}/{stored.name}",
            "size_bytes": size,
        }

    def _report(self, _: sqlite3.Connection, job: Job) -> JobReport:
        if job.payload["do"] == "upload":
            self._uploads.held.drop_after(job.id)
        return _report(job)


def _report(job: Job) -> JobReport:
    payload, host = job.payload, host_in(job.payload["url"])
    detail = {"do": payload["do"], **({"url": payload["url"]} if host else {})}
    if payload["secret"]:
        detail |= {"secret": payload["secret"]}
    if "given" in payload:
        detail |= {"origin": payload["origin"], "files": words.list_files(payload)}
        host = urlsplit(payload["origin"]).hostname or ""
    if job.error:
        said = f"The browser could not {payload['do']}{f' {host}' if host else ''}."
        code = job.progress if job.progress in _ENDED else "failed"
        return JobReport(job.error, {"code": code}, audit="browser.failed", said=said, detail=detail)
    said = f"The browser: {payload['do']} {payload['url'] or host if host else ''}".strip() + "."
    return JobReport(job.result["said"], job.result["told"], audit="browser.done", said=said, detail=detail)
