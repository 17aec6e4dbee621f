"""Rows of jobs: what is done in the background, for whom, how far it is, and how it ended."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from orchestrator.agents.access_rows import NOT_CLOSED
from orchestrator.core.models import CubicleKey

LONGEST_PAUSE_S = 2 * 3600.0
"""No job is put off for longer. One that seems to be was put off by a clock that has gone back since."""
_OPEN = "ended IS NULL"
_STAYS = "NOT EXISTS (SELECT 1 FROM leaving WHERE leaving.agent = jobs.agent OR leaving.user = jobs.user)"
"""Nothing is done for whoever is being deleted."""


class JobState(StrEnum):
    """Where a job stands with the worker pool; the first three can change."""

    WAITING = "waiting"
    """Somebody must decide, or another job must end first."""
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Job:
    """One job."""

    id: int
    kind: str
    name: str
    """Its name among those of its kind, which people and agents know."""
    cubicle: CubicleKey
    turn: int | None
    state: JobState
    payload: dict[str, Any]
    """What is to be done."""
    progress: str
    """How far it has come, in a word of its kind."""
    tries: int
    """How often it was begun."""
    waits_for: str
    """What it waits for, or waited for last, such as ``approval:k3j9``."""
    result: dict[str, Any]
    """What came of it so far; ``error`` says why it failed."""
    told: int | None
    """The turn that was told of its end; 0 where nobody needs to be."""
    not_before: float
    created: float
    started: float | None
    """When the current run of the pool began it first."""
    ended: float | None

    @property
    def error(self) -> str:
        """Why it came to nothing, as a sentence; empty while it did not."""
        return str(self.result.get("error", ""))


def insert_job(
    db: sqlite3.Connection,
    kind: str,
    key: CubicleKey,
    turn: int | None,
    payload: Mapping[str, Any],
    *,
    now: float,
    name: str = "",
    state: JobState = JobState.QUEUED,
    progress: str = "",
    waits_for: str = "",
) -> Job:
    """Write a new job down. Without a ``name`` it gets a number."""
    number = db.execute(
        "INSERT INTO jobs (kind, name, agent, user, turn, state, payload, progress, waits_for, created) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (kind, name or None, key.agent, key.user, turn, state, json.dumps(payload), progress, waits_for, now),
    ).lastrowid
    if not name:
        db.execute("UPDATE jobs SET name = CAST(id AS TEXT) WHERE id = ?", (number,))
    return _select_jobs(db, "WHERE id = ?", number)[0]


def get_job(db: sqlite3.Connection, kind: str, name: str) -> Job | None:
    """The job of that kind and name."""
    return next(iter(_select_jobs(db, "WHERE kind = ? AND name = ?", kind, name)), None)


def list_jobs(
    db: sqlite3.Connection, kind: str, *, progress: str | None = None, user: int | None = None, limit: int = 200
) -> list[Job]:
    """The newest of a kind, of one progress and one person where given."""
    where = (
        "WHERE kind = ? AND (? IS NULL OR progress = ?) AND (? IS NULL OR (user = ? AND "
        f"{NOT_CLOSED.format(user='?')})) ORDER BY id DESC LIMIT ?"
    )
    return _select_jobs(db, where, kind, progress, progress, user, user, user, limit)


def list_cubicle_jobs(db: sqlite3.Connection, kind: str, key: CubicleKey, *, since: float = 0.0) -> list[Job]:
    """A cubicle's jobs of a kind that were asked for since then, oldest first."""
    return _select_jobs(
        db, "WHERE agent = ? AND user = ? AND kind = ? AND created > ? ORDER BY id", key.agent, key.user, kind, since
    )


def list_open_jobs(db: sqlite3.Connection, kind: str, key: CubicleKey) -> list[Job]:
    """A cubicle's jobs of a kind that have not ended, oldest first."""
    return _select_jobs(
        db, f"WHERE kind = ? AND agent = ? AND user = ? AND {_OPEN} ORDER BY id", kind, key.agent, key.user
    )


def list_waiting_for(db: sqlite3.Connection, kind: str, waits_for: str) -> list[Job]:
    """Those of a kind that wait for this."""
    return _select_jobs(
        db, "WHERE +kind = ? AND waits_for = ? AND state = 'waiting' AND ended IS NULL ORDER BY id", kind, waits_for
    )


def list_ended_before(db: sqlite3.Connection, kind: str, before: float) -> list[Job]:
    """Some of a kind that ended before then."""
    return _select_jobs(db, "WHERE kind = ? AND ended < ? ORDER BY id LIMIT 100", kind, before)


# --- the worker pool ---------------------------------------------------------------------------------------------


def list_next_jobs(db: sqlite3.Connection, now: float) -> list[Job]:
    """The oldest queued job of each kind and cubicle, where it may be begun now."""
    return _select_jobs(
        db,
        "WHERE id IN (SELECT MIN(id) FROM jobs WHERE state = 'queued' AND ended IS NULL GROUP BY kind, agent, user) "  # noqa: S608 - constant
        f"AND (not_before <= ? OR not_before > ?) AND {_STAYS} ORDER BY id",
        now,
        now + LONGEST_PAUSE_S,
    )


def next_due(db: sqlite3.Connection, now: float) -> float | None:
    """When the next of those that were put off may be begun."""
    row = db.execute(
        "SELECT MIN(not_before) FROM jobs WHERE state = 'queued' AND ended IS NULL AND not_before > ?", (now,)
    ).fetchone()
    return None if row[0] is None else float(row[0])


def begin_job(db: sqlite3.Connection, job: int, now: float) -> bool:
    """It runs from now on; False when it is not queued any more."""
    return _execute_change(
        db,
        "UPDATE jobs SET state = 'running', tries = tries + 1, started = COALESCE(started, ?) "  # noqa: S608 - constant
        f"WHERE id = ? AND state = 'queued' AND {_STAYS}",
        now,
        job,
    )


def requeue_job(db: sqlite3.Connection, job: int, *, not_before: float, is_counted: bool) -> None:
    """What ran is queued again; a try that is not counted never was."""
    db.execute(
        "UPDATE jobs SET state = 'queued', not_before = ?, tries = tries - ? WHERE id = ? AND state = 'running'",
        (not_before, int(not is_counted), job),
    )


def postpone_kind(db: sqlite3.Connection, kind: str, not_before: float) -> None:
    """None of this kind is begun before then."""
    db.execute(
        "UPDATE jobs SET not_before = ? WHERE kind = ? AND state = 'queued' AND ended IS NULL", (not_before, kind)
    )


def requeue_jobs(db: sqlite3.Connection, running: Collection[int]) -> None:
    """Whatever is said to run, and is not among these, is queued again; its try counts."""
    marks = ", ".join("?" * len(running))
    db.execute(
        "UPDATE jobs SET state = 'queued', started = NULL "  # noqa: S608 - marks
        f"WHERE state = 'running' AND ended IS NULL AND id NOT IN ({marks})",
        tuple(running),
    )


def is_wanted(db: sqlite3.Connection, job: int) -> bool:
    """It runs, for somebody who stays."""
    row = db.execute(f"SELECT 1 FROM jobs WHERE id = ? AND state = 'running' AND {_STAYS}", (job,)).fetchone()  # noqa: S608 - constant
    return row is not None


def save_progress(db: sqlite3.Connection, job: int, progress: str | None, result: Mapping[str, Any]) -> bool:
    """How far it has come, and what there is of it; False when it is not wanted any more."""
    return _execute_change(
        db,
        "UPDATE jobs SET progress = COALESCE(?, progress), result = json_patch(result, ?) "  # noqa: S608 - constant
        f"WHERE id = ? AND state = 'running' AND {_STAYS}",
        progress,
        json.dumps(result),
        job,
    )


def make_wait(
    db: sqlite3.Connection, job: int, waits_for: str, progress: str, payload: Mapping[str, Any] | None = None
) -> bool:
    """What ran waits for this, with more to its ``payload``; False when it is not wanted any more."""
    return _execute_change(
        db,
        "UPDATE jobs SET state = 'waiting', waits_for = ?, progress = ?, "  # noqa: S608 - constant
        f"payload = json_patch(payload, ?), tries = 0 WHERE id = ? AND state = 'running' AND {_STAYS}",
        waits_for,
        progress,
        json.dumps(payload or {}),
        job,
    )


def resume_job(db: sqlite3.Connection, job: int, progress: str) -> bool:
    """What waited is queued; False when it does not wait."""
    return _execute_change(
        db,
        "UPDATE jobs SET state = 'queued', progress = ?, tries = 0 WHERE id = ? AND state = 'waiting'",
        progress,
        job,
    )


def end_job(
    db: sqlite3.Connection, job: int, state: JobState, *, progress: str, result: Mapping[str, Any], now: float
) -> Job | None:
    """It has ended so; None when it had ended before, or is gone with its agent."""
    is_ended = _execute_change(
        db,
        "UPDATE jobs SET state = ?, progress = ?, result = json_patch(result, ?), ended = ? "  # noqa: S608 - constant
        f"WHERE id = ? AND {_OPEN}",
        state,
        progress,
        json.dumps(result),
        now,
        job,
    )
    return _select_jobs(db, "WHERE id = ?", job)[0] if is_ended else None


def delete_job(db: sqlite3.Connection, job: int) -> None:
    """Nothing is known of it any more."""
    db.execute("DELETE FROM jobs WHERE id = ?", (job,))


def drop_open(db: sqlite3.Connection, kind: str) -> None:
    """Of this kind nothing is to be done any more."""
    db.execute(f"DELETE FROM jobs WHERE kind = ? AND {_OPEN}", (kind,))  # noqa: S608 - constant


# --- who was told ------------------------------------------------------------------------------------------------


def mark_told(db: sqlite3.Connection, job: int) -> None:
    """The agent need not be told of its end: it knows."""
    db.execute("UPDATE jobs SET told = 0 WHERE id = ?", (job,))


def list_untold(db: sqlite3.Connection, kind: str, key: CubicleKey, turn: int, *, most: int) -> list[Job]:
    """Those that ended and no turn but this one was told of."""
    told = "SELECT id FROM jobs WHERE agent = ? AND user = ? AND kind = ? AND told"
    theirs = (key.agent, key.user, kind)
    return _select_jobs(
        db,
        f"WHERE ended IS NOT NULL AND id IN ({told} IS NULL UNION ALL {told} = ?) ORDER BY ended, id LIMIT ?",
        *theirs,
        *theirs,
        turn,
        most,
    )


def set_told(db: sqlite3.Connection, jobs: Sequence[Job], turn: int) -> None:
    """This turn was told of these."""
    db.executemany("UPDATE jobs SET told = ? WHERE id = ?", [(turn, job.id) for job in jobs])


def _select_jobs(db: sqlite3.Connection, where: str, *values: object) -> list[Job]:
    return [_make_job(row) for row in db.execute(f"SELECT * FROM jobs {where}", values)]  # noqa: S608 - constants


def _execute_change(db: sqlite3.Connection, statement: str, *values: object) -> bool:
    return db.execute(statement, values).rowcount == 1


def _make_job(row: sqlite3.Row) -> Job:
    fields: dict[str, Any] = dict(row)
    key = CubicleKey(fields.pop("agent"), fields.pop("user"))
    payload, result = json.loads(fields.pop("payload")), json.loads(fields.pop("result"))
    return Job(**{**fields, "state": JobState(fields["state"])}, cubicle=key, payload=payload, result=result)
