"""Outcomes: what is said when a download has come or will not come, and what ends with it.

Whoever waits in a turn under way hears it there; everybody else by a notice, the agent by a note. What sends on to
another download ends as that did.
"""

from __future__ import annotations

import sqlite3
from functools import partial

from orchestrator.agents import agent_rows
from orchestrator.capabilities import call_rows
from orchestrator.capabilities.downloads import messages as words
from orchestrator.capabilities.downloads.records import KIND, Asset, AssetStatus, read_asset
from orchestrator.core.db.database import Store
from orchestrator.core.events import Broker
from orchestrator.core.models import Event
from orchestrator.jobs import rows
from orchestrator.jobs.kinds import JobReport
from orchestrator.jobs.pool import Jobs, job_reference
from orchestrator.jobs.rows import Job, JobState
from orchestrator.turns import rows as turn_rows


class DownloadOutcomes:
    """Says how downloads ended."""

    def __init__(self, store: Store, broker: Broker, jobs: Jobs) -> None:
        self._store, self._broker, self._jobs = store, broker, jobs

    def publish_change(self, asset: Asset) -> None:
        """Surfaces show where it stands."""
        self._broker.publish(Event("asset", asset.cubicle, words.as_json(asset)))

    def report_outcome(self, db: sqlite3.Connection, job: Job) -> JobReport:
        """What is said of an end, within its transaction."""
        ended = read_asset(job)
        self._store.after_commit(partial(self.publish_change, ended))
        if ended.onward:  # people and the agent hear of the other alone
            return JobReport(words.outcome_text(ended), words.outcome_result(ended))
        led_here = waiting_for(db, ended)
        is_awaited = any(call_rows.is_awaited(db, job_reference(KIND, each.id)) for each in (ended, *led_here))
        for each in led_here:
            self._end_like(db, each, ended)
        is_done = ended.status is AssetStatus.DONE
        found = {"name": ended.name, "size": ended.size_bytes, "sha256": ended.sha256} if is_done else {}
        return JobReport(
            words.outcome_text(ended),
            words.outcome_result(ended),
            audit="asset.arrived" if is_done else f"asset.{ended.status}",
            said=words.audit_text(ended),
            detail={"asset": ended.id, "url": ended.url, "content_type": ended.content_type, **found},
            notice="" if is_awaited else _notice(db, ended),
            is_heard=is_awaited or ended.status is AssetStatus.CANCELLED,
        )

    def _end_like(self, db: sqlite3.Connection, waiting: Asset, ended: Asset) -> None:
        if ended.status is AssetStatus.DONE:
            self._jobs.end_job(db, waiting.job, JobState.DONE, **ended.job.result)
        else:
            self._jobs.end_job(db, waiting.job, JobState.FAILED, error=words.led_astray(waiting, ended))


def waiting_for(db: sqlite3.Connection, asset: Asset) -> list[Asset]:
    """The downloads that wait for this one, directly or by way of others."""
    direct = [read_asset(job) for job in rows.list_waiting_for(db, KIND, job_reference(KIND, asset.id))]
    return [*direct, *(further for each in direct for further in waiting_for(db, each))]


def _notice(db: sqlite3.Connection, ended: Asset) -> str:
    is_under_way = ended.turn is not None and turn_rows.is_open(db, ended.turn)
    is_told = not is_under_way and ended.status in (AssetStatus.DONE, AssetStatus.FAILED)
    return words.person_notice(ended, agent_rows.called_as(db, ended.cubicle.agent)) if is_told else ""
