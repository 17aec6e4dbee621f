"""Browsing: what agents ask of their browsers. A site that nobody allowed is asked about first; then a job does it, and
the call ends with what the page shows. What was read is written down before the agent reads it.
"""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

from orchestrator.agents.agents import Agents
from orchestrator.approvals.answers import quote_note
from orchestrator.approvals.approvals import Approvals
from orchestrator.approvals.grant_rows import GrantKind
from orchestrator.approvals.grants import Grants
from orchestrator.approvals.source_rows import NewSource, Source, SourceKind
from orchestrator.approvals.sources import sum_up
from orchestrator.browser.session import BrowserSession
from orchestrator.capabilities.arrivals import record_arrivals
from orchestrator.capabilities.browser import messages as words
from orchestrator.capabilities.browser.accesses import BrowserAccesses
from orchestrator.capabilities.browser.capability import BROWSER, KIND, BrowserCall
from orchestrator.capabilities.browser.known_hosts import is_measuring
from orchestrator.capabilities.browser.page_work import WORKS, PageAnswer, check_call
from orchestrator.capabilities.browser.site_access import Allowed, SiteAccess
from orchestrator.capabilities.capability import Caller, Deeds, Outcome
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Stopped, TooMany
from orchestrator.core.models import Approval, ApprovalStatus
from orchestrator.files.workspace import Workspaces
from orchestrator.jobs import rows
from orchestrator.jobs.kinds import JobKind, JobReport, Running
from orchestrator.jobs.pool import Jobs, job_reference
from orchestrator.jobs.rows import Job, JobState
from orchestrator.live_browsers.browsers import LiveBrowsers
from orchestrator.web.sites import find_site, is_within, site_of
from orchestrator.web.urls import DEFAULT_PORTS, Link, UrlRules, parse_url

JOB = "browser"
MOST_OPEN = 5
_TIME_S = 180.0
_MOST_FILE_BYTES = 50_000_000
_ASKED, _ALLOWED = "asked", "allowed"
_ENDED = {
    ApprovalStatus.DENIED: (JobState.FAILED, words.DENIED),
    ApprovalStatus.EXPIRED: (JobState.FAILED, words.EXPIRED),
    ApprovalStatus.CANCELLED: (JobState.CANCELLED, words.CANCELLED),
}


@dataclass(frozen=True, slots=True)
class BrowsingParts:
    """What browsing stands on."""

    store: Store
    agents: Agents
    approvals: Approvals
    grants: Grants
    jobs: Jobs
    workspaces: Workspaces
    browsers: LiveBrowsers[BrowserSession]
    accesses: BrowserAccesses
    private_hosts: frozenset[tuple[str, int]] = frozenset()
    """Of a private network, with the port: the operator named them."""


class Browsing:
    """Everything that agents ask of their browsers."""

    def __init__(self, parts: BrowsingParts) -> None:
        self._parts, self._store = parts, parts.store
        parts.approvals.on_decision(KIND, self._on_decided)
        parts.jobs.add_kind(
            JobKind(
                JOB,
                self._run_job,
                _TIME_S,
                report=_report,
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
        if len(rows.list_open_jobs(db, JOB, caller.key)) >= MOST_OPEN:
            raise TooMany(f"{MOST_OPEN} calls of the browser are under way. Try again when one of them has ended.")
        if asked.url:
            link = self._read_address(asked.url)
            given["url"] = link.url
            if not self._may_open(db, caller, link.host):
                return self._ask_about_site(db, caller, link, given)
        return self._submit(db, caller, given, words.LOADING)

    def _read_address(self, url: str) -> Link:
        named = self._parts.private_hosts
        ports = frozenset({*DEFAULT_PORTS.values(), *(port for _, port in named)})
        link = parse_url(url, UrlRules(plain_http=True, ports=ports, local_names=bool(named)))
        if (link.host, link.port) not in named:
            link = parse_url(url, UrlRules(plain_http=True))
            if link.address is not None:
                raise BadInput("BROWSER: url: write the name of a host, not an address.")
        if is_measuring(link.host):
            raise BadInput("BROWSER: url: " + words.MEASURES.format(host=link.host))
        return link

    def _may_open(self, db: sqlite3.Connection, caller: Caller, host: str) -> bool:
        """A person let the agent in and it is still there, or they allowed it in advance."""
        access = self._parts.accesses.get_access(caller.key)
        if access.sent.is_spent(site_of(host)):
            return False
        return access.is_open(host) or bool(find_site(host, self._list_granted(db, caller, access).sites))

    def _list_granted(self, db: sqlite3.Connection, caller: Caller, access: SiteAccess) -> Allowed:
        """What was allowed in advance: of sites those that are open, and those since whose grant nothing was read but
        of themselves."""
        subjects = self._parts.grants.list_subjects(db, caller.key, caller.turn, GrantKind.SITE)
        pairs = [subject.split(" with ") for subject in subjects]
        sites = frozenset(
            pair[0]
            for pair in pairs
            if len(pair) == 1 and (access.is_open(pair[0]) or not self._list_newcomers(db, caller, pair[0]))
        )
        return Allowed(sites, frozenset((pair[0], pair[1]) for pair in pairs if len(pair) == 2))

    def _list_newcomers(self, db: sqlite3.Connection, caller: Caller, site: str) -> list[Source]:
        """Who else was read since the site was allowed."""
        newcomers = self._parts.grants.list_newcomers(db, caller.key, caller.turn, site, GrantKind.SITE) or []
        return [one for one in newcomers if one.kind is not SourceKind.WEB or not is_within(one.subject, site)]

    def _ask_about_site(self, db: sqlite3.Connection, caller: Caller, link: Link, given: Mapping[str, Any]) -> Outcome:
        is_spent = self._parts.accesses.get_access(caller.key).sent.is_spent(site_of(link.host))
        detail = words.site_detail(link, given["why"], has_sent_much=is_spent)
        granted = self._parts.grants.list_subjects(db, caller.key, caller.turn, GrantKind.SITE)
        if newcomers := self._list_newcomers(db, caller, find_site(link.host, granted)):
            detail["since_allowed"] = sum_up(newcomers)
        approval = self._ask_person(db, caller, link.url, f"The browser would contact {link.host}.", detail)
        how = {"state": JobState.WAITING, "progress": _ASKED, "waits_for": f"approval:{approval.id}"}
        return self._submit(db, caller, given, words.asked_text(detail["site"]), **how)

    def _ask_person(
        self, db: sqlite3.Connection, caller: Caller, text: str, reason: str, detail: Mapping[str, Any]
    ) -> Approval:
        return self._parts.approvals.ask_person(
            db,
            caller.key,
            caller.turn,
            kind=KIND,
            text=text,
            reason=reason,
            detail=detail,
            timeout_s=self._parts.agents.get(caller.key.agent).approval_timeout_s,
        )

    def _submit(
        self, db: sqlite3.Connection, caller: Caller, given: Mapping[str, Any], text: str, **how: Any
    ) -> Outcome:
        job = self._parts.jobs.submit(db, JOB, caller.key, caller.turn, given, **how)
        return Outcome(text, waits_for=job_reference(JOB, job.name))

    def _on_decided(self, db: sqlite3.Connection, approval: Approval) -> None:
        for job in rows.list_waiting_for(db, JOB, f"approval:{approval.id}"):
            if approval.status is ApprovalStatus.APPROVED:
                self._parts.jobs.resume_job(db, job, _ALLOWED)
            else:
                state, why = _ENDED[approval.status]
                self._parts.jobs.end_job(db, job, state, str(approval.status), error=f"{why}{quote_note(approval)}")

    # --- the work ----------------------------------------------------------------------------------------------

    def _run_job(self, running: Running) -> dict[str, Any] | None:
        job = running.job
        if job.payload["do"] == "close" and job.payload["tab"] is None:
            self._parts.browsers.end(job.cubicle)
            return {"said": words.CLOSED, "told": {}}
        access = self._parts.accesses.get_access(job.cubicle)
        access.sent.begin_turn(job.turn)
        self._renew_access(job, access)
        if job.payload["do"] == "allow" and job.progress != _ALLOWED:
            return self._ask_for_missing(job)
        return self._work(running, access)

    @staticmethod
    def _use_permission(job: Job, access: SiteAccess) -> None:
        """What a person just agreed to, once the browser is there: with one before it, it would have ended."""
        if job.progress != _ALLOWED:
            return
        if job.payload["url"]:
            site = site_of(_host_of(job.payload["url"]))
            if access.sent.is_spent(site):
                access.sent.allow_more(site)
            access.allow_once(site)
        if job.payload["do"] == "allow":
            access.allow_companions(job.payload["site"], job.payload["hosts"])

    def _renew_access(self, job: Job, access: SiteAccess) -> None:
        """What was allowed in advance may have changed since the last call."""
        with self._store.reading() as db:
            access.set_granted(self._list_granted(db, Caller(job.cubicle, job.turn), access))
        self._parts.accesses.recheck(job.cubicle)

    def _ask_for_missing(self, job: Job) -> dict[str, Any] | None:
        """None: a person is asked, and it waits."""

        async def look(session: BrowserSession) -> tuple[str, tuple[str, ...]]:
            front = next(tab for tab in session.tabs() if tab.is_in_front)
            return _host_of(front.url), session.missing_hosts()

        host, missing = self._parts.browsers.call(job.cubicle, look, starts=False)
        hosts = [one for one in missing if not is_measuring(one)][: words.MOST_HOSTS]
        if not hosts or not host:
            return {"said": words.NOTHING_MISSING, "told": {}}
        site = site_of(host)
        with self._store.writing() as db:
            approval = self._ask_person(
                db,
                Caller(job.cubicle, job.turn),
                words.companions_text(site, hosts),
                f"Pages of {site} also load from other hosts.",
                words.companions_detail(site, hosts, job.payload["why"]),
            )
            if not rows.make_wait(db, job.id, f"approval:{approval.id}", _ASKED, {"site": site, "hosts": hosts}):
                raise Stopped("Nobody wants this any more.")
        return None

    def _work(self, running: Running, access: SiteAccess) -> dict[str, Any]:
        job = running.job

        async def work(session: BrowserSession) -> tuple[PageAnswer, list[str]]:
            self._use_permission(job, access)
            try:
                answer = await WORKS[job.payload["do"]](session, job.payload)
            finally:
                hosts = session.open_hosts()
                access.set_open(hosts)
            return answer, hosts

        try:
            answer, hosts = self._parts.browsers.call(job.cubicle, work, starts=bool(job.payload["url"]))
        finally:
            self._parts.accesses.recheck(job.cubicle)
        running.check_wanted()
        said, told = answer.text, dict(answer.told)
        with self._store.writing() as db:
            self._note_arrival(db, job, hosts)
        if answer.file:
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


def _host_of(url: str) -> str:
    """The host of an address that the browser tells of; empty for none."""
    try:
        parts = urlsplit(url)
        return (parts.hostname or "") if parts.scheme in ("http", "https") else ""
    except ValueError:
        return ""


def _report(_: sqlite3.Connection, job: Job) -> JobReport:
    payload, host = job.payload, _host_of(job.payload["url"])
    detail = {"do": payload["do"], **({"url": payload["url"]} if host else {})}
    if job.error:
        said = f"The browser could not {payload['do']}{f' {host}' if host else ''}."
        code = job.progress if job.progress in _ENDED else "failed"
        return JobReport(job.error, {"code": code}, audit="browser.failed", said=said, detail=detail)
    said = f"The browser: {payload['do']} {payload['url'] if host else ''}".strip() + "."
    return JobReport(job.result["said"], job.result["told"], audit="browser.done", said=said, detail=detail)
