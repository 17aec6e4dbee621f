"""Downloads as a noun: asking a person, and hearing the answer.

What is approved is the exact URL, by its digest; what may be fetched is that and nothing else. Owns no thread and
touches no network: ``downloads`` fetches what this says was agreed to.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from orchestrator.agents.agents import Agents
from orchestrator.approvals import rows as approval_rows
from orchestrator.approvals import source_rows
from orchestrator.approvals.answers import quote_note
from orchestrator.approvals.approvals import Approvals
from orchestrator.approvals.grants import Grants
from orchestrator.approvals.source_rows import NewSource, SourceKind
from orchestrator.approvals.sources import sum_up
from orchestrator.capabilities.arrivals import record_arrivals
from orchestrator.capabilities.capability import Caller, Deeds, Outcome
from orchestrator.capabilities.downloads import messages as words
from orchestrator.capabilities.downloads.capability import REQUEST, AssetRequest
from orchestrator.capabilities.downloads.outcome import DownloadOutcomes, waiting_for
from orchestrator.capabilities.downloads.records import KIND, Asset, AssetStatus, read_asset
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import Forbidden, NotFound, TooMany
from orchestrator.core.models import Approval, ApprovalStatus, CubicleKey, Turn
from orchestrator.core.short_ids import typed_id
from orchestrator.jobs import rows
from orchestrator.jobs.pool import Jobs, job_reference
from orchestrator.jobs.rows import JobState
from orchestrator.web.fetcher import NewHost
from orchestrator.web.urls import Link, UrlRules, parse_url

_MOST_TOLD = 1_000
_KNOWN_S = 30 * 24 * 3600.0
"""An address that was fetched within this time tells its host nothing new."""
MOST_HOPS = 5
"""How often one request may be sent on to a host that a person is asked about."""
_CHANGED = "The request was changed after a person agreed to it, so nothing was fetched. Ask again."


class DownloadRequests:
    """Everything that agents asked for."""

    def __init__(
        self,
        *,
        store: Store,
        agents: Agents,
        approvals: Approvals,
        grants: Grants,
        jobs: Jobs,
        endings: DownloadOutcomes,
        rules: UrlRules,
    ) -> None:
        self._store, self._agents, self._approvals, self._grants = store, agents, approvals, grants
        self._jobs, self._endings, self._rules = jobs, endings, rules
        approvals.on_decision(KIND, self._on_decided)

    @property
    def deeds(self) -> Deeds:
        """What carries out what agents ask for."""
        return {REQUEST.name: self.request_download}

    # --- looking -----------------------------------------------------------------------------------------------

    def list_downloads(
        self, status: AssetStatus | None = None, user: int | None = None, *, limit: int = 200
    ) -> list[Asset]:
        """The newest downloads, of one status and one person where given."""
        self._approvals.expire_due()
        with self._store.reading() as db:
            return [read_asset(job) for job in rows.list_jobs(db, KIND, progress=status, user=user, limit=limit)]

    def get_download(self, asset: str) -> Asset:
        """The download with this id; raises NotFound."""
        with self._store.reading() as db:
            found = rows.get_job(db, KIND, asset)
        if found is None:
            raise NotFound("There is no asset with this id. './hermit approvals' shows what is waiting.")
        return read_asset(found)

    def turn_note(self, turn: Turn) -> str:
        """What ended since the agent last heard of it; once, at the start of a turn."""
        ended = [read_asset(job) for job in self._jobs.report_ends(KIND, turn, most=_MOST_TOLD)]
        came = [asset for asset in ended if asset.status is AssetStatus.DONE]
        if came:
            with self._store.writing() as db:
                for asset in came:
                    _note_arrival(db, asset, [turn.id])
        return words.agent_notes(ended)

    # --- asking ------------------------------------------------------------------------------------------------

    def request_download(self, db: sqlite3.Connection, caller: Caller, request: AssetRequest) -> Outcome:
        """What the capability does: a person is asked, unless the host was allowed in advance. The same request again,
        while the first is open, is the same."""
        link = parse_url(request.url, self._rules)
        found = _under_way(db, caller.key, link.url)
        if found is not None:
            _note_arrival(db, found, [caller.turn])
            return _waits(found, words.under_way(found))
        recent = _recent_copy(db, caller.key, link.url, since=time.time() - (request.max_age or 0))
        if recent is not None:
            _note_arrival(db, recent, [caller.turn])
            return Outcome(words.outcome_text(recent), words.outcome_result(recent))
        newcomers = self._grants.list_newcomers(db, caller.key, caller.turn, link.host)
        if newcomers is not None and not (newcomers and _has_own_words(db, caller, link)):
            return self._at_once(db, caller, request, link)
        detail = words.approval_detail(link, description=request.description, file_type=request.file_type)
        if newcomers:
            detail["since_allowed"] = sum_up(newcomers)
        asset = self._ask_person(db, caller, link, detail, wanted=words.name_of(link, request.file_type))
        return _waits(asset, words.asked_text(asset))

    def _at_once(self, db: sqlite3.Connection, caller: Caller, request: AssetRequest, link: Link) -> Outcome:
        detail = words.approval_detail(link, description=request.description, file_type=request.file_type)
        asked = _asked_for(link, detail, wanted=words.name_of(link, request.file_type))
        job = self._jobs.submit(
            db, KIND, caller.key, caller.turn, asked, name=typed_id(), progress=AssetStatus.FETCHING
        )
        asset = read_asset(job)
        self._store.after_commit(partial(self._endings.publish_change, asset))
        self._write_audit(
            db, asset, "asset.allowed", f"{link.url} is fetched without a question: {link.host} is allowed."
        )
        return _waits(asset, words.under_way(asset))

    def _ask_person(
        self, db: sqlite3.Connection, caller: Caller, link: Link, detail: dict[str, Any], *, wanted: str
    ) -> Asset:
        """The download of the question about this link, both new or open already. Raises TooMany."""
        approval = self._approvals.ask_person(
            db,
            caller.key,
            caller.turn,
            kind=KIND,
            text=link.url,
            reason=words.approval_reason(link),
            detail=detail,
            timeout_s=self._agents.get(caller.key.agent).approval_timeout_s,
        )
        found = rows.get_job(db, KIND, approval.id)
        if found is not None:
            return read_asset(found)
        job = self._jobs.submit(
            db,
            KIND,
            caller.key,
            caller.turn,
            _asked_for(link, detail, wanted=wanted),
            name=approval.id,
            state=JobState.WAITING,
            progress=AssetStatus.ASKED,
            waits_for=f"approval:{approval.id}",
        )
        asset = read_asset(job)
        self._store.after_commit(partial(self._endings.publish_change, asset))
        return asset

    # --- the answer --------------------------------------------------------------------------------------------

    def _on_decided(self, db: sqlite3.Connection, approval: Approval) -> None:
        job = rows.get_job(db, KIND, approval.id)
        if job is None:
            return  # whoever asked was deleted meanwhile
        if approval.status is not ApprovalStatus.APPROVED:
            is_cancelled = approval.status is ApprovalStatus.CANCELLED
            state = JobState.CANCELLED if is_cancelled else JobState.FAILED
            self._jobs.end_job(db, job, state, str(approval.status), error=quote_note(approval).strip())
        elif not self._is_what_was_asked(read_asset(job), approval):
            self._jobs.end_job(db, job, JobState.FAILED, error=_CHANGED)
        elif self._jobs.resume_job(db, job, AssetStatus.FETCHING):
            self._store.after_commit(lambda: self._endings.publish_change(self.get_download(job.name)))

    def _is_what_was_asked(self, asset: Asset, approval: Approval) -> bool:
        """What would be fetched is, to the byte, what a person saw."""
        digest = hashlib.sha256(asset.url.encode()).hexdigest()
        is_same = asset.url == approval.text and digest == approval.sha256 and asset.cubicle == approval.cubicle
        return is_same and asset.host == approval.detail.get("host") == parse_url(asset.url, self._rules).host

    # --- what the worker asks and says -------------------------------------------------------------------------

    def allowed_fetch(self, asset: Asset) -> tuple[Link, frozenset[str]]:
        """What may be fetched, and to which other hosts it may send on. Raises Forbidden when nobody has agreed."""
        with self._store.reading() as db:
            approval = approval_rows.get_approval(db, asset.id)
            allowed = self._grants.list_hosts(db, asset.cubicle, asset.job.turn)
            before = frozenset(earlier.host for earlier in waiting_for(db, asset))
        link = parse_url(asset.url, self._rules)
        if approval is None and not (asset.host == link.host and link.host in allowed):
            raise Forbidden(f"{asset.host} is not allowed any more, so nothing was fetched. Ask again.")
        if approval is not None:
            is_yes = approval.status is ApprovalStatus.APPROVED
            if not (is_yes and self._is_what_was_asked(asset, approval)):
                raise Forbidden(_CHANGED)
        return link, allowed | before

    def expect_file(self, asset: Asset, host: str) -> None:
        """The file is about to be where the agent can read it, and comes from this host: whoever asked for it, or waits
        for it, will have read it."""
        with self._store.writing() as db:
            ways = [asset, *waiting_for(db, asset)]
            awaited = [job_reference(KIND, way.id) for way in ways]
            _note_arrival(db, asset, [way.turn for way in ways], host=host, awaited=awaited)

    def send_on(self, asset: Asset, found: NewHost) -> None:
        """It sends on to a host that nobody agreed to: a person is asked about that, and it waits."""
        with self._store.writing() as db:
            if rows.is_wanted(db, asset.job.id):
                self._send_on(db, asset, found.link)

    def _send_on(self, db: sqlite3.Connection, before: Asset, link: Link) -> None:
        if len(waiting_for(db, before)) >= MOST_HOPS:
            error = f"{before.host} sends on to {link.host}, and that is one host too many."
            self._jobs.end_job(db, before.job, JobState.FAILED, error=error)
            return
        onward = _under_way(db, before.cubicle, link.url)
        if onward is None:
            fields = {"description": before.description, "file_type": before.file_type, "led_by": before.url}
            detail = words.approval_detail(link, **fields)
            try:
                onward = self._ask_person(db, Caller(before.cubicle, before.turn), link, detail, wanted=before.wanted)
            except TooMany as error:
                why = f"{before.host} sends on to {link.host}, which a person must be asked about. {error.message}"
                self._jobs.end_job(db, before.job, JobState.FAILED, error=why)
                return
        rows.make_wait(db, before.job.id, job_reference(KIND, onward.id), AssetStatus.FETCHING)
        self._write_audit(db, before, "asset.sent_on", f"{before.url} sends on to {link.url}: a person is asked.")

    def _write_audit(self, db: sqlite3.Connection, asset: Asset, kind: str, text: str) -> None:
        key, detail = asset.cubicle, {"asset": asset.id, "url": asset.url, "host": asset.host}
        now = time.time()
        audit_rows.insert_record(
            db, kind, text, now=now, agent=key.agent, user=key.user, turn=asset.turn, detail=detail
        )


def _under_way(db: sqlite3.Connection, key: CubicleKey, url: str) -> Asset | None:
    """The download of the same for this cubicle that was agreed to and has not ended."""
    found = map(read_asset, rows.list_open_jobs(db, KIND, key))
    return next((asset for asset in found if asset.url == url and asset.status is AssetStatus.FETCHING), None)


def _note_arrival(
    db: sqlite3.Connection, asset: Asset, turns: list[int | None], *, host: str = "", awaited: Sequence[str] = ()
) -> None:
    host = host or str(asset.job.result.get("from", asset.host))
    new = NewSource(SourceKind.WEB, host, asset.url, f"asset:{asset.id}")
    record_arrivals(db, asset.cubicle, turns, [new], awaited=awaited, now=time.time())


def _has_own_words(db: sqlite3.Connection, caller: Caller, link: Link) -> bool:
    """The agent may have put something of its own into this address: it is neither the host's first page, nor one that
    a search showed in this conversation, nor one that this cubicle has had from there before."""
    if link.target == "/" or source_rows.has_link(db, caller.turn, link.url):
        return False
    return _recent_copy(db, caller.key, link.url, since=time.time() - _KNOWN_S) is None


def _recent_copy(db: sqlite3.Connection, key: CubicleKey, url: str, *, since: float) -> Asset | None:
    """The newest download of the same for this cubicle that came since then."""
    found = map(read_asset, rows.list_cubicle_jobs(db, KIND, key, since=since))
    came = [asset for asset in found if asset.url == url and asset.status is AssetStatus.DONE]
    return max(came, key=lambda asset: asset.asked_at, default=None)


def _waits(asset: Asset, text: str) -> Outcome:
    return Outcome(text, {"id": asset.id}, waits_for=job_reference(KIND, asset.id))


def _asked_for(link: Link, detail: Mapping[str, Any], *, wanted: str) -> dict[str, str]:
    return {
        "description": detail["description"],
        "url": link.url,
        "host": link.host,
        "file_type": detail["file_type"],
        "wanted": wanted,
    }
