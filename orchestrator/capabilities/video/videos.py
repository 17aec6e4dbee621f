"""Videos: an agent asks for one, a job has it made in the video renderer, and it lies in the cubicle's ``out/``.

A video lies hidden in the outbox folder before the job's row says which name it gets, and gets it in one rename, so
after a crash one look tells how far it came: it is made again or named, and never there twice.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import Any

from orchestrator.agents import agent_rows
from orchestrator.agents.agents import Agents
from orchestrator.capabilities import call_rows
from orchestrator.capabilities.capability import Caller, Deeds, Outcome
from orchestrator.capabilities.video import messages as sentences
from orchestrator.capabilities.video.capability import CLAWMOTION, Clawmotion
from orchestrator.capabilities.video.input import ending_of, read_request
from orchestrator.capabilities.video.renderer import Made, VideoRenderer
from orchestrator.core.errors import TooMany
from orchestrator.core.models import CubicleKey, Turn
from orchestrator.engine import helper_folder
from orchestrator.engine.helper_folder import Failed
from orchestrator.files import quota as rules
from orchestrator.files.workspace import Workspaces
from orchestrator.jobs import rows
from orchestrator.jobs.kinds import JobKind, JobReport, Running
from orchestrator.jobs.pool import Jobs, job_reference
from orchestrator.jobs.rows import Job

KIND = "video"
MOST_OPEN = 2
MOST_SECONDS_A_DAY = 1_800.0
_DAY_S = 86_400.0
_TIME_S = 2 * 3600.0
"""The first one of all has its image built, which takes minutes."""
_PLACING = "placing"
_MOST_TOLD = 10


class Videos:
    """Every video that an agent asked for."""

    def __init__(
        self,
        *,
        agents: Agents,
        jobs: Jobs,
        workspaces: Workspaces,
        studio: VideoRenderer,
        check_room: Callable[[], None],
        now: Callable[[], float] = time.time,
    ) -> None:
        """``check_room`` raises Unavailable when the install's disk is full."""
        self._agents, self._jobs, self._workspaces = agents, jobs, workspaces
        self._studio, self._check_room, self._now = studio, check_room, now
        jobs.add_kind(
            JobKind(
                KIND,
                self._run_job,
                _TIME_S,
                report=_report,
                prepare=studio.clear_leftovers,
                gave_up=sentences.GAVE_UP,
                kept_s=7 * _DAY_S,
            )
        )

    @property
    def deeds(self) -> Deeds:
        """What carries out what agents ask for."""
        return {CLAWMOTION.name: self._request_video}

    def turn_note(self, turn: Turn) -> str:
        """What this turn's agent has yet to hear: how requests ended that nobody waited for."""
        found = self._jobs.report_ends(KIND, turn, most=_MOST_TOLD)
        return "\n".join(sentences.agent_note(job.payload["name"], job.error, _done(job)) for job in found)

    def _request_video(self, db: sqlite3.Connection, caller: Caller, action: Clawmotion) -> Outcome:
        key, request = caller.key, read_request(action)
        if len(rows.list_open_jobs(db, KIND, key)) >= MOST_OPEN:
            raise TooMany(f"{MOST_OPEN} videos are being made already. Ask again when one of them is there.")
        today = rows.list_cubicle_jobs(db, KIND, key, since=self._now() - _DAY_S)
        left = MOST_SECONDS_A_DAY - sum(job.payload["seconds"] for job in today)
        if request.seconds > left:
            most = MOST_SECONDS_A_DAY / 60
            raise TooMany(f"At most {most:.0f} minutes of video are made within a day; {left:.0f} seconds are left.")
        payload = {"text": request.text, "seconds": request.seconds, "name": request.name}
        job = self._jobs.submit(db, KIND, key, caller.turn, payload)
        result = {"video": int(job.name), "file": f"out/{request.name}"}
        return Outcome(sentences.begun_text(request.name), result, waits_for=job_reference(KIND, job.name))

    # --- the work ----------------------------------------------------------------------------------------------

    def _run_job(self, running: Running) -> dict[str, Any]:
        """Make it, or end what a crash left nearly done."""
        job = running.job
        try:
            if job.progress == _PLACING:
                self._publish_video(running, job.result)  # where nothing lies hidden any more, it has its name
            else:
                self._make_video(running)
        except OSError as error:
            raise Failed(sentences.NO_OUT) from error
        return {}

    def _make_video(self, running: Running) -> None:
        """The video is made, and lies in the outbox folder."""
        job, request = running.job, running.job.payload
        self._check_room()
        try:
            ending = ending_of(request["name"])
            made = self._studio.make_video(
                job.name, request["text"], request["seconds"], ending, is_wanted=running.is_wanted
            )
            running.check_wanted()
            self._check_space(job.cubicle, made)
            with helper_folder.open_result(made.path) as file:
                self._workspaces.lay_out(job.cubicle, _hidden(job), file, max_bytes=made.size_bytes)
            if not self._publish_video(running, {"size_bytes": made.size_bytes, "left_out": made.left_out}):
                raise Failed(sentences.TAKEN_AWAY)
        finally:
            self._studio.drop_file(job.name)

    def _publish_video(self, running: Running, facts: dict[str, Any]) -> bool:
        """What lies hidden has its name; False when nothing does."""
        job = running.job

        def chosen(name: str) -> None:
            running.record_progress(_PLACING, **{**facts, "placed": name})

        return self._workspaces.show_out(job.cubicle, _hidden(job), job.payload["name"], chosen=chosen) is not None

    def _check_space(self, key: CubicleKey, made: Made) -> None:
        limit = rules.get_allowance(self._agents.get(key.agent).limits)
        if self._workspaces.measure_usage(key).bytes + made.size_bytes > limit.bytes:
            raise Failed(sentences.NO_ROOM)


def _report(db: sqlite3.Connection, job: Job) -> JobReport:
    is_heard, called = (
        call_rows.is_awaited(db, job_reference(KIND, job.name)),
        agent_rows.called_as(db, job.cubicle.agent),
    )
    error, placed, number = job.error, job.result.get("placed", ""), int(job.name)
    size, seconds = job.result.get("size_bytes", 0), job.payload["seconds"]
    made = {"video": number, "file": f"out/{placed}", "seconds": seconds, "size": size}
    return JobReport(
        error or _done(job),
        {"code": "failed", "video": number} if error else {**made, "left_out": job.result.get("left_out", 0)},
        audit=f"video.{job.state}",
        said=error or _done(job),
        detail={"video": number, "file": placed, "seconds": seconds, "size_bytes": size},
        notice="" if is_heard or not error else sentences.person_notice(called, job.payload["name"], error),
        is_heard=is_heard,
    )


def _hidden(job: Job) -> str:
    return f".clawmotion-{job.name}.part"


def _done(job: Job) -> str:
    result = job.result
    return sentences.done_text(result.get("placed", ""), result.get("size_bytes", 0), result.get("left_out", 0))
