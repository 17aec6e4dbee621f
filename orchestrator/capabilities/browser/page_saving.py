"""Saving what pages give: a file of the browser's folder is copied, a person is asked about the copy, and it lands in
``in/``, once, also after a crash. Who gave it is written down before anything inside can read it.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import time
from collections.abc import Mapping
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from orchestrator.agents import agent_rows
from orchestrator.approvals.answers import quote_note
from orchestrator.approvals.grant_rows import GrantKind
from orchestrator.approvals.source_rows import NewSource, Source, SourceKind
from orchestrator.approvals.sources import sum_up
from orchestrator.browser.downloads import MAX_DOWNLOAD_BYTES
from orchestrator.browser.session import BrowserSession
from orchestrator.capabilities import call_rows
from orchestrator.capabilities.arrivals import record_arrivals
from orchestrator.capabilities.browser import messages as words
from orchestrator.capabilities.browser.browsing_parts import BrowsingParts
from orchestrator.capabilities.browser.file_questions import FILE_KIND
from orchestrator.capabilities.browser.held_files import HeldFiles
from orchestrator.capabilities.browser.page_work import await_download
from orchestrator.capabilities.browser.saved_file import HELD_NAME, SAVE_JOB, SavedFile, name_of, read_saved
from orchestrator.capabilities.capability import Caller, Outcome
from orchestrator.capabilities.landing import WorkspaceStore
from orchestrator.core.errors import NotFound, Stopped, TooLarge, TooMany, Unavailable
from orchestrator.core.models import Approval, ApprovalStatus, Turn
from orchestrator.jobs import rows
from orchestrator.jobs.kinds import JobKind, JobReport, Running
from orchestrator.jobs.pool import job_reference
from orchestrator.jobs.rows import Job, JobState
from orchestrator.turns import rows as turn_rows
from orchestrator.web.sites import is_within, site_of

MOST_OPEN = 5
_TIME_S = 600.0
_KEPT_S = 7 * 24 * 3600.0
_MOST_TOLD = 20
_LANDING, _ASKED = "landing", "asked"
_ENDED = {
    ApprovalStatus.DENIED: (JobState.FAILED, words.FILE_DENIED),
    ApprovalStatus.EXPIRED: (JobState.FAILED, words.FILE_EXPIRED),
    ApprovalStatus.CANCELLED: (JobState.CANCELLED, words.FILE_CANCELLED),
}


class PageSaving:
    """Files of pages that agents want to have."""

    def __init__(self, parts: BrowsingParts, landing: WorkspaceStore, held: HeldFiles) -> None:
        self._parts, self._store, self._landing, self._held = parts, parts.store, landing, held
        parts.approvals.on_decision(FILE_KIND, self._on_decided)
        parts.jobs.add_kind(
            JobKind(
                SAVE_JOB,
                self._run_job,
                _TIME_S,
                report=self._report,
                prepare=held.tidy,
                tidy=held.tidy,
                tries=10,
                gave_up=words.BROKE,
                broke=words.BROKE,
                at_once=2,
                kept_s=_KEPT_S,
                ends_within_s=30.0,
                holds_deletion=True,
            )
        )

    def request(self, db: sqlite3.Connection, caller: Caller, given: Mapping[str, Any]) -> Outcome:
        """Put the file of this number into ``in/``. Raises TooMany."""
        if len(rows.list_open_jobs(db, SAVE_JOB, caller.key)) >= MOST_OPEN:
            raise TooMany(f"{MOST_OPEN} files of pages are under way. Try again when one of them has ended.")
        asked = {name: given[name] for name in ("number", "out", "why")}
        job = self._parts.jobs.submit(db, SAVE_JOB, caller.key, caller.turn, asked)
        return Outcome(words.LOADING, waits_for=job_reference(SAVE_JOB, job.name))

    def turn_note(self, turn: Turn) -> str:
        """What came since the agent last heard of it; once, at the start of a turn."""
        ended = self._parts.jobs.report_ends(SAVE_JOB, turn, most=_MOST_TOLD)
        came = [read_saved(job) for job in ended if job.state is JobState.DONE]
        if came:
            with self._store.writing() as db:
                for one in came:
                    self._note_arrival(db, one, [turn.id])
        told = [f"{one.said} has arrived, which you saved from a page." for one in came]
        return " ".join([*told, *(job.error for job in ended if job.error)])

    # --- the work ----------------------------------------------------------------------------------------------

    def _run_job(self, running: Running) -> dict[str, Any] | None:
        job = running.job
        if job.progress != _LANDING:
            copied = self._copy(running)
            if not self._may_land(copied):
                return None
            job = copied.job
        return self._land(running, read_saved(job))

    def _copy(self, running: Running) -> SavedFile:
        """Its copy is made, and written down."""
        job, browsers = running.job, self._parts.browsers
        one = browsers.call(job.cubicle, lambda session: await_download(session, job.payload["number"]), starts=False)
        room = min(self._landing.room_for(job.cubicle), MAX_DOWNLOAD_BYTES)
        if one.size_bytes > room:
            raise TooLarge(f"The file does not fit: there is room for {room:,} bytes. Delete something first.")
        with self._held.make(job.id, HELD_NAME) as file:
            sink = _HashingSink(file, room)
            browsers.take_download(job.cubicle, one.guid, cast("BinaryIO", sink), stays=True)
        facts: dict[str, Any] = {
            "wanted": name_of(one.suggested_name, job.payload["out"]),
            "size_bytes": sink.size,
            "sha256": sink.digest.hexdigest(),
            "host": one.host,
            "url": one.url if urlsplit(one.url).scheme in ("http", "https") else "",
            "page": urlsplit(one.page_url).hostname or "",
            "guid": one.guid,
        }
        running.record_progress(**facts)
        with self._store.reading() as db:
            now = rows.get_job(db, SAVE_JOB, job.name)
        if now is None:
            raise Stopped("Nobody wants this any more.")
        return read_saved(now)

    def _may_land(self, one: SavedFile) -> bool:
        """Somebody allowed its host in advance; else a person is asked, and it waits."""
        job = one.job
        with self._store.writing() as db:
            caller = Caller(job.cubicle, job.turn)
            newcomers = self._list_newcomers(db, caller, one.host)
            if newcomers == []:
                if not rows.save_progress(db, job.id, _LANDING, {}):
                    raise Stopped("Nobody wants this any more.")
                return True
            reason = f"A page gave a file of {one.host}."
            detail = one.detail() | ({"since_allowed": sum_up(newcomers)} if newcomers else {})
            approval = self._parts.ask_person(db, caller, FILE_KIND, one.text, reason=reason, detail=detail)
            if not rows.make_wait(db, job.id, f"approval:{approval.id}", _ASKED):
                raise Stopped("Nobody wants this any more.")
        return False

    def _list_newcomers(self, db: sqlite3.Connection, caller: Caller, host: str) -> list[Source] | None:
        """Which strangers were read since a person let the agent fetch from this host, beside its own site's pages;
        None where they did not."""
        found = self._parts.grants.list_newcomers(db, caller.key, caller.turn, host, GrantKind.HOST)
        if found is None:
            return None
        return [one for one in found if one.kind is not SourceKind.WEB or not is_within(one.subject, site_of(host))]

    def _land(self, running: Running, one: SavedFile) -> dict[str, Any]:
        name = one.name
        if not self._landing.lies_there(one):
            with self._held.open(one.job.id, HELD_NAME, sha256=one.sha256) as file:
                with self._store.writing() as db:
                    awaited = [job_reference(SAVE_JOB, one.job.name)]
                    self._note_arrival(db, one, [one.job.turn], awaited=awaited)
                name = self._landing.store_file(one, file, running, size_bytes=one.size_bytes)
        self._take_away(one)
        return {"name": name}

    def _take_away(self, one: SavedFile) -> None:
        """The browser need not keep it any longer; where there is none, it is gone with it."""

        async def forget(session: BrowserSession) -> None:
            session.take_download(one.guid)

        with contextlib.suppress(NotFound, Unavailable):
            self._parts.browsers.drop_download(one.cubicle, one.guid)
            self._parts.browsers.call(one.cubicle, forget, starts=False)

    def _note_arrival(
        self, db: sqlite3.Connection, one: SavedFile, turns: list[int | None], *, awaited: list[str] | None = None
    ) -> None:
        """Whoever gave it is heard from now on, and whoever's page it was."""
        reference = job_reference(SAVE_JOB, one.job.name)
        hosts = [host for host in dict.fromkeys((one.host, one.page)) if host]
        new = [NewSource(SourceKind.WEB, host, one.url, reference) for host in hosts]
        record_arrivals(db, one.cubicle, turns, new, awaited=awaited or [], now=time.time())

    # --- the answer, and the end -------------------------------------------------------------------------------

    def _on_decided(self, db: sqlite3.Connection, approval: Approval) -> None:
        for job in rows.list_waiting_for(db, SAVE_JOB, f"approval:{approval.id}"):
            if approval.status is not ApprovalStatus.APPROVED:
                state, why = _ENDED[approval.status]
                self._parts.jobs.end_job(db, job, state, str(approval.status), error=f"{why}{quote_note(approval)}")
            elif hashlib.sha256(read_saved(job).text.encode()).hexdigest() != approval.sha256:
                self._parts.jobs.end_job(db, job, JobState.FAILED, error=words.FILE_CHANGED)
            else:
                self._parts.jobs.resume_job(db, job, _LANDING)

    def _report(self, db: sqlite3.Connection, job: Job) -> JobReport:
        self._held.drop_after(job.id)
        is_awaited = call_rows.is_awaited(db, job_reference(SAVE_JOB, job.name))
        is_heard = is_awaited or job.state is JobState.CANCELLED
        if job.state is not JobState.DONE:
            code = job.progress if job.progress in _ENDED else str(job.result.get("code", "failed"))
            text = job.error or words.FILE_CANCELLED
            said = f"File {job.payload['number']} of a page was not saved. {text}"
            detail = {"number": job.payload["number"], "host": job.result.get("host", "")}
            return JobReport(text, {"code": code}, audit="browser.unsaved", said=said, detail=detail, is_heard=is_heard)
        one = read_saved(job)
        is_open = job.turn is not None and turn_rows.is_open(db, job.turn)
        called = agent_rows.called_as(db, job.cubicle.agent)
        return JobReport(
            words.file_text(one.name, one.size_bytes),
            {"path": f"/app/workspace/in/{one.name}", "size_bytes": one.size_bytes, "sha256": one.sha256},
            audit="browser.saved",
            said=f"{one.said} was saved from a page.",
            detail={"name": one.name, "size": one.size_bytes, "sha256": one.sha256, "host": one.host, "url": one.url},
            notice="" if is_awaited or is_open else f"{one.said} has arrived for {called}.",
            is_heard=is_heard,
        )


class _HashingSink:
    """A file with the digest and the size of what went through."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self._file, self._most = file, most
        self.digest, self.size = hashlib.sha256(), 0

    def write(self, data: bytes, /) -> int:
        """Take all of it. Raises TooLarge and OSError."""
        self.size += len(data)
        if self.size > self._most:
            raise TooLarge(f"The file has more than {self._most:,} bytes.")
        self.digest.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        """All of it is with the kernel."""
        self._file.flush()
