"""Giving files to pages: copies are made, a person is asked about them and the page that gets them, and after a yes
those copies go to that page, once.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from orchestrator.approvals.answers import quote_note
from orchestrator.browser.session import BrowserSession
from orchestrator.capabilities.browser import messages as words
from orchestrator.capabilities.browser.browsing_parts import ALLOWED, ASKED, JOB, BrowsingParts
from orchestrator.capabilities.browser.file_questions import UPLOAD_KIND
from orchestrator.capabilities.browser.held_files import HeldFiles
from orchestrator.capabilities.browser.page_work import PageAnswer, Work, tell_page
from orchestrator.capabilities.browser.site_access import SiteAccess
from orchestrator.capabilities.capability import Caller
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Stopped, TooLarge, UnsafePath
from orchestrator.core.models import Approval, ApprovalStatus, CubicleKey
from orchestrator.files.names import display_path, parts_of
from orchestrator.jobs import rows
from orchestrator.jobs.kinds import Running
from orchestrator.jobs.rows import Job, JobState
from orchestrator.live_browsers.models import MAX_UPLOAD_BYTES

_MOST_NAME_BYTES = 200
_ENDED = {
    ApprovalStatus.DENIED: (JobState.FAILED, words.UPLOAD_DENIED),
    ApprovalStatus.EXPIRED: (JobState.FAILED, words.UPLOAD_EXPIRED),
    ApprovalStatus.CANCELLED: (JobState.CANCELLED, words.UPLOAD_CANCELLED),
}


class PageUploads:
    """Files of workspaces that pages shall get."""

    def __init__(self, parts: BrowsingParts, held: HeldFiles) -> None:
        self._parts, self.held = parts, held
        parts.approvals.on_decision(UPLOAD_KIND, self._on_decided)

    def ask(self, running: Running) -> None:
        """The copies are made, a person is asked, and the job waits. Raises NotFound, UnsafePath, TooLarge, Changing,
        Unavailable, TooMany, and BrowserError where the page has no such element."""
        job = running.job

        async def look(session: BrowserSession) -> str:
            return await session.origin_of(job.payload["ref"])

        origin = self._parts.browsers.call(job.cubicle, look, starts=False)
        more = {"origin": origin, "given": self._copy_all(job)}
        with self._parts.store.writing() as db:
            approval = self._parts.ask_person(
                db,
                Caller(job.cubicle, job.turn),
                UPLOAD_KIND,
                words.upload_text(more),
                reason=f"A page of {origin} would get files of the workspace.",
                detail=words.upload_detail(more, job.payload["why"]),
            )
            if not rows.make_wait(db, job.id, f"approval:{approval.id}", ASKED, more):
                raise Stopped("Nobody wants this any more.")

    def _copy_all(self, job: Job) -> list[dict[str, Any]]:
        """What each is called, how large it is, and where its copy lies."""
        copies: list[dict[str, Any]] = []
        left = MAX_UPLOAD_BYTES
        for path in dict.fromkeys(job.payload["files"]):
            try:
                with self._parts.workspaces.copy_out(
                    job.cubicle, parts_of(path), max_bytes=left, keep_in=self.held.folder_of(job.id)
                ) as copy:
                    assert copy.path is not None  # noqa: S101 - it was said where
                    held = copy.path.name
            except TooLarge as error:
                raise TooLarge(f"The files have more than {MAX_UPLOAD_BYTES >> 20} MiB together.") from error
            left -= copy.size_bytes
            copies.append({"path": path, "size_bytes": copy.size_bytes, "sha256": copy.sha256, "held": held})
        return copies

    @contextmanager
    def given(self, job: Job, access: SiteAccess) -> Iterator[Work]:
        """The copies lie where the browser can read them, and within this may be given to the page that a person was
        asked about: by the work that this yields. Raises NotFound, BrowserEnded, TooLarge, Unavailable."""
        browsers, key = self._parts.browsers, job.cubicle

        async def is_there(_: BrowserSession) -> None:
            return None

        browsers.call(key, is_there, starts=False)  # else it says why there is none
        paths: list[str] = []
        for one in job.payload["given"]:
            with self.held.open(job.id, one["held"], sha256=one["sha256"]) as file:
                name = str(one["path"]).rpartition("/")[2]
                paths.append(str(browsers.put_upload(key, name, file)))

        async def work(session: BrowserSession, given: Mapping[str, Any]) -> PageAnswer:
            return tell_page(await session.upload(given["ref"], paths))

        access.allow_upload(job.payload["origin"], paths, sum(one["size_bytes"] for one in job.payload["given"]))
        try:
            yield work
        finally:
            access.end_upload()

    def _on_decided(self, db: sqlite3.Connection, approval: Approval) -> None:
        for job in rows.list_waiting_for(db, JOB, f"approval:{approval.id}"):
            if approval.status is not ApprovalStatus.APPROVED:
                state, why = _ENDED[approval.status]
                self._parts.jobs.end_job(db, job, state, str(approval.status), error=f"{why}{quote_note(approval)}")
            elif hashlib.sha256(words.upload_text(job.payload).encode()).hexdigest() != approval.sha256:
                self._parts.jobs.end_job(db, job, JobState.FAILED, error=words.UPLOAD_CHANGED)
            else:
                self._parts.jobs.resume_job(db, job, ALLOWED)


def is_awaited(store: Store, key: CubicleKey) -> bool:
    """A person is asked about files for a page of this cubicle's browser."""
    with store.reading() as db:
        return any(
            job.state is JobState.WAITING and job.payload["do"] == "upload" for job in rows.list_open_jobs(db, JOB, key)
        )


def check_files(paths: tuple[str, ...]) -> None:
    """Raises BadInput for what names no file of the workspace."""
    for path in paths:
        try:
            parts = parts_of(path)
            path.encode()
        except UnsafePath as error:
            raise BadInput(f"BROWSER: files: {error.message}") from error
        except UnicodeEncodeError as error:
            raise BadInput("BROWSER: files: a page can't be given a name that is no text. Rename the file.") from error
        if len(parts) < 2:
            raise BadInput("BROWSER: files: name files within the workspace, such as work/report.pdf.")
        if len(os.fsencode(path.rpartition("/")[2])) > _MOST_NAME_BYTES:
            raise BadInput(f"BROWSER: files: {display_path(parts[-1])} is too long a name for a page. Rename it.")
