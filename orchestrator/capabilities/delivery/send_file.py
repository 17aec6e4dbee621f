"""Sending a file: a program in a cubicle hands a file of ``out/`` to its person, with a word to go with it.

A job copies it, as that takes its time; the delivery and the job's end are one transaction, so nothing is sent twice.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable

from orchestrator.capabilities.capability import Caller, Deeds, Outcome
from orchestrator.capabilities.delivery import messages as words
from orchestrator.capabilities.delivery.capability import SEND, Send
from orchestrator.capabilities.delivery.intake import Intake
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Changing, Stopped, UnsafePath
from orchestrator.core.models import Delivery
from orchestrator.files.names import display_path, parts_of
from orchestrator.jobs.kinds import JobKind, JobReport, Running, TryLater
from orchestrator.jobs.pool import Jobs, job_reference
from orchestrator.jobs.rows import Job, JobState

KIND = "send"
_COPIED_AT_ONCE = 2
_PATIENCE_S, _PAUSE_S = 30.0, 0.5
"""How long a file that is still being written is waited for, and how often it is looked at."""
_TIME_S = 3600.0


class SendFile:
    """What programs have asked to be sent."""

    def __init__(self, *, store: Store, intake: Intake, jobs: Jobs, now: Callable[[], float] = time.time) -> None:
        self._store, self._intake, self._jobs, self._now = store, intake, jobs, now
        jobs.add_kind(
            JobKind(
                KIND,
                self._run_job,
                _TIME_S,
                report=_report,
                tries=10,
                gave_up=words.NOT_TAKEN,
                broke=words.NOT_TAKEN,
                at_once=_COPIED_AT_ONCE,
                ends_within_s=60.0,
            )
        )

    @property
    def deeds(self) -> Deeds:
        """What carries out what agents ask for."""
        return {SEND.name: self._send_file}

    def _send_file(self, db: sqlite3.Connection, caller: Caller, action: Send) -> Outcome:
        path = words.within_out(os.fsencode(action.file))
        try:
            parts = parts_of(path)
        except UnsafePath as error:
            raise BadInput(f"SEND: file: {error.message}") from error
        if not parts:
            raise BadInput("SEND: file: name a file or a folder within out/.")
        asked = {"file": os.fsdecode(path), "caption": action.caption}
        job = self._jobs.submit(db, KIND, caller.key, caller.turn, asked)
        return Outcome(f"{display_path(path)} is being sent.", asked, waits_for=job_reference(KIND, job.name))

    def _run_job(self, running: Running) -> None:
        job = running.job
        try:
            self._intake.send_file(
                job.cubicle,
                os.fsencode(job.payload["file"]),
                turn=job.turn,
                caption=job.payload["caption"],
                written=lambda delivery: self._written(job, delivery),
            )
        except Changing:
            if job.started is not None and self._now() > job.started + _PATIENCE_S:
                raise
            raise TryLater(_PAUSE_S) from None

    def _written(self, job: Job, delivery: Delivery) -> None:
        """Within the transaction of the delivery's row."""
        result = {"file": delivery.name, "size": delivery.size_bytes, "sha256": delivery.sha256}
        said = f"{delivery.name} ({words.format_size(delivery.size_bytes)})"
        text = f"{said} is on its way to the person." if delivery.id else f"{said} was sent in this turn already."
        with self._store.writing() as db:
            if not self._jobs.end_job(db, job, JobState.DONE, sent=result, text=text):
                raise Stopped("Nobody wants this any more.")


def _report(_db: sqlite3.Connection, job: Job) -> JobReport:
    if job.state is JobState.DONE:
        return JobReport(job.result["text"], job.result["sent"])
    return JobReport(job.error or words.NOT_TAKEN, {"code": job.result.get("code", str(job.state))})
