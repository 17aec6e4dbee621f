"""Which sites an agent's browser may open, and asking a person about those that it may not yet."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from orchestrator.approvals.grant_rows import GrantKind
from orchestrator.approvals.source_rows import Source, SourceKind
from orchestrator.approvals.sources import sum_up
from orchestrator.browser.session import BrowserSession
from orchestrator.capabilities.browser import messages as words
from orchestrator.capabilities.browser.addresses import host_in
from orchestrator.capabilities.browser.browsing_parts import ASKED, BrowsingParts
from orchestrator.capabilities.browser.capability import COMPANIONS_KIND, KIND
from orchestrator.capabilities.browser.known_hosts import is_measuring
from orchestrator.capabilities.browser.site_access import Allowed, SiteAccess
from orchestrator.capabilities.capability import Caller
from orchestrator.core.errors import Stopped
from orchestrator.core.models import Approval
from orchestrator.jobs import rows
from orchestrator.jobs.rows import Job
from orchestrator.web.sites import find_site, is_within, site_of
from orchestrator.web.urls import Link


class SiteQuestions:
    """For all cubicles."""

    def __init__(self, parts: BrowsingParts) -> None:
        self._parts = parts

    def may_open(self, db: sqlite3.Connection, caller: Caller, host: str) -> bool:
        """A person let the agent in and it is still there, or they allowed it in advance."""
        access = self._parts.accesses.get_access(caller.key)
        if access.sent.is_spent(site_of(host)):
            return False
        return access.is_open(host) or bool(find_site(host, self.list_granted(db, caller, access).sites))

    def list_granted(self, db: sqlite3.Connection, caller: Caller, access: SiteAccess) -> Allowed:
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

    def ask_about_site(self, db: sqlite3.Connection, caller: Caller, link: Link, given: Mapping[str, Any]) -> Approval:
        """May the site of this address be opened? Raises TooMany, and Forbidden for what was refused in this turn."""
        is_spent = self._parts.accesses.get_access(caller.key).sent.is_spent(site_of(link.host))
        detail = words.site_detail(link, given["why"], has_sent_much=is_spent, remote_host=self._parts.remote_host)
        granted = self._parts.grants.list_subjects(db, caller.key, caller.turn, GrantKind.SITE)
        if newcomers := self._list_newcomers(db, caller, find_site(link.host, granted)):
            detail["since_allowed"] = sum_up(newcomers)
        reason = f"The browser would contact {link.host}."
        return self._parts.ask_person(db, caller, KIND, link.url, reason=reason, detail=detail)

    def ask_for_missing(self, job: Job) -> dict[str, Any] | None:
        """May the page in front load what it was kept from? None: a person is asked, and the job waits."""

        async def look(session: BrowserSession) -> tuple[str, tuple[str, ...]]:
            front = next(tab for tab in session.tabs() if tab.is_in_front)
            return host_in(front.url), session.missing_hosts()

        host, missing = self._parts.browsers.call(job.cubicle, look, starts=False)
        hosts = [one for one in missing if not is_measuring(one)][: words.MOST_HOSTS]
        if not hosts or not host:
            return {"said": words.NOTHING_MISSING, "told": {}}
        site = site_of(host)
        with self._parts.store.writing() as db:
            approval = self._parts.ask_person(
                db,
                Caller(job.cubicle, job.turn),
                COMPANIONS_KIND,
                words.companions_text(site, hosts),
                reason=f"Pages of {site} also load from other hosts.",
                detail=words.companions_detail(site, hosts, job.payload["why"]),
            )
            if not rows.make_wait(db, job.id, f"approval:{approval.id}", ASKED, {"site": site, "hosts": hosts}):
                raise Stopped("Nobody wants this any more.")
        return None

    def _list_newcomers(self, db: sqlite3.Connection, caller: Caller, site: str) -> list[Source]:
        """Who else was read since the site was allowed."""
        newcomers = self._parts.grants.list_newcomers(db, caller.key, caller.turn, site, GrantKind.SITE) or []
        return [one for one in newcomers if one.kind is not SourceKind.WEB or not is_within(one.subject, site)]
