"""Jobs: whatever is done in the background for an agent or a person, each a row, done by one pool of threads.

The rows are the truth: what a death left running is queued again at the next start. Within a cubicle and a kind jobs
are done in the order in which they were asked for; of several cubicles the one comes next that has waited longest.
There are as many threads as the kinds together may have jobs running, so no kind ever waits for another.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from orchestrator.approvals.notifications import Notifications
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import OrchestratorError, Stopped, Unavailable
from orchestrator.core.models import CubicleKey, Turn
from orchestrator.core.periodic import guarded
from orchestrator.jobs import rows
from orchestrator.jobs.kinds import Finish, JobKind, JobReport, Running, TryLater
from orchestrator.jobs.rows import Job, JobState

logger = logging.getLogger(__name__)

TOOK_TOO_LONG = "It took too long and was stopped. Ask again, perhaps for less."
_LOOK_S = 30.0
"""The pool looks for work at least this often, should nobody have told it."""
_AFTER_FAILURE_S = 1.0
_TIDY_S = 60.0
_DELETION_S = 30.0


def job_reference(kind: str, name: str) -> str:
    """What a call, or another job, waits for that waits for this job."""
    return f"{kind}:{name}"


class Jobs:
    """The pool. All methods may be called from any thread; those with a connection within its transaction."""

    def __init__(
        self, store: Store, notifications: Notifications, *, finish: Finish, now: Callable[[], float] = time.time
    ) -> None:
        """``finish`` ends the calls that wait for a reference, within the transaction."""
        self._store, self._notifications, self._finish, self._now = store, notifications, finish, now
        self._kinds: dict[str, JobKind] = {}
        self._changed = threading.Condition()  # protects what follows
        self._running: dict[int, Running] = {}
        self._unready: set[str] = set()
        """Kinds that are still being prepared."""
        self._served: dict[tuple[str, CubicleKey], float] = {}
        """When each had its last job."""
        self._is_woken = self._is_closing = self._is_stranded = False
        self._thread = threading.Thread(target=self._work_through, name="jobs", daemon=True)

    def add_kind(self, kind: JobKind) -> None:
        """From now on such jobs are done. To be called before ``start``."""
        self._kinds[kind.name] = kind

    @property
    def is_closing(self) -> bool:
        """No job is begun any more."""
        return self._is_closing

    # --- what nouns ask ----------------------------------------------------------------------------------------

    def submit(
        self,
        db: sqlite3.Connection,
        kind: str,
        key: CubicleKey,
        turn: int | None,
        payload: Mapping[str, Any],
        **more: Any,
    ) -> Job:
        """A new job, as `rows.add` takes it; begun once the transaction is committed."""
        job = rows.insert_job(db, kind, key, turn, payload, now=self._now(), **more)
        self._store.after_commit(self._wake_pool)
        return job

    def resume_job(self, db: sqlite3.Connection, job: Job, progress: str) -> bool:
        """What it waited for is there; False when it does not wait."""
        self._store.after_commit(self._wake_pool)
        return rows.resume_job(db, job.id, progress)

    def cancel_job(self, db: sqlite3.Connection, job: Job) -> bool:
        """It is not wanted any more, and what runs of it breaks off; False when it had ended."""
        return self.end_job(db, job, JobState.CANCELLED)

    def end_job(self, db: sqlite3.Connection, job: Job, state: JobState, progress: str = "", **result: Any) -> bool:
        """It has ended, and with it the calls that wait for it; False when it had ended before."""
        ended = rows.end_job(db, job.id, state, progress=progress or state, result=result, now=self._now())
        if ended is None:
            return False
        kind = self._kinds[ended.kind]
        report = kind.report(db, ended)
        if report is not None:
            self._send_notice(db, ended, report)
        if kind.kept_s == 0:
            rows.delete_job(db, ended.id)
        self._store.after_commit(self._wake_pool)
        return True

    def report_ends(self, kind: str, turn: Turn, *, most: int) -> list[Job]:
        """The ends that this turn is told of: what no turn was told of yet, and, for a turn that is handed out again,
        the same once more."""
        with self._store.reading() as db:
            found = rows.list_untold(db, kind, turn.cubicle, turn.id, most=most)
        if found:
            with self._store.writing() as db:
                rows.set_told(db, found, turn.id)
        return found

    def await_end(self, is_theirs: Callable[[CubicleKey], bool]) -> None:
        """Returns when nothing runs for them that holds their deletion up; they are marked as leaving, so nothing new
        begins. Raises Unavailable when that takes too long."""

        def holds(running: Running) -> bool:
            return self._kinds[running.job.kind].holds_deletion and is_theirs(running.job.cubicle)

        with self._changed:
            if not self._changed.wait_for(lambda: not any(map(holds, self._running.values())), _DELETION_S):
                raise Unavailable("A download of theirs has not ended yet. Try again in a moment.")

    def _send_notice(self, db: sqlite3.Connection, job: Job, report: JobReport) -> None:
        key, turn = job.cubicle, job.turn
        result = dict(report.result)
        self._finish(job_reference(job.kind, job.name), ok=job.state is JobState.DONE, text=report.text, result=result)
        if report.audit:
            audit_rows.insert_record(
                db,
                report.audit,
                report.said,
                now=self._now(),
                agent=key.agent,
                user=key.user,
                turn=turn,
                detail=dict(report.detail),
            )
        if report.is_heard:
            rows.mark_told(db, job.id)
        if report.notice:
            self._notifications.post(key, job.kind, report.notice, turn=turn, subject=job.name)

    # --- start and end -----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Take up what a death left, then do whatever is asked for."""
        self.reconcile()
        self._unready = set(self._kinds)
        self._thread.start()

    def reconcile(self) -> None:
        """What ran when the process died is queued again, or forgotten where nobody waits for it any more."""
        with self._store.writing() as db:
            rows.requeue_jobs(db, ())
            for kind in self._kinds.values():
                if not kind.outlives:
                    rows.drop_open(db, kind.name)

    def prepare_kinds(self) -> None:
        """Prepare every kind, one after the other; where the pool's own thread runs, it does that by itself."""
        for kind in self._kinds.values():
            guarded(f"preparing {kind.name}", kind.prepare)

    def close(self) -> None:
        """Nothing is begun any more; what runs breaks off, and goes on after the next start."""
        with self._changed:
            self._is_closing = True
            running = tuple(self._running.values())
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()
        closed_at = time.monotonic()
        for each in running:
            if each.thread is not None:
                left = closed_at + self._kinds[each.job.kind].ends_within_s - time.monotonic()
                each.thread.join(max(0.0, left))

    # --- the pool's own thread ---------------------------------------------------------------------------------

    def _work_through(self) -> None:
        for kind in self._kinds.values():
            threading.Thread(target=self._prepare_kind, args=(kind,), name=f"prepare {kind.name}", daemon=True).start()
        tidy_at = 0.0
        while not self._is_closing:
            self._is_woken = False
            while guarded("looking for jobs", self._begin_next):
                pass
            guarded("looking for jobs that take too long", self._end_overdue)
            if time.monotonic() >= tidy_at:
                guarded("forgetting old jobs", self.delete_old)
                tidy_at = time.monotonic() + _TIDY_S
            with self._changed:
                self._changed.wait_for(lambda: self._is_woken or self._is_closing, self._pause_s())

    def _prepare_kind(self, kind: JobKind) -> None:
        guarded(f"preparing {kind.name}", kind.prepare)
        self._unready.discard(kind.name)
        self._wake_pool()

    def _begin_next(self) -> bool:
        running = self._claim_job()
        if running is None:
            return False
        job = running.job
        running.thread = threading.Thread(
            target=self._run_pool, args=(running,), name=f"{job.kind} {job.name}", daemon=True
        )
        running.thread.start()
        return True

    def _end_overdue(self) -> None:
        now = time.monotonic()
        for running in tuple(self._running.values()):
            if not running.is_overdue and now - running.since >= self._kinds[running.job.kind].time_s:
                running.is_overdue = True
                self._fail_job(running.job, TOOK_TOO_LONG, "too_long")

    def _pause_s(self) -> float:
        """How long there is nothing to do, should nobody wake it."""
        if self._is_stranded:
            return _AFTER_FAILURE_S
        now = self._now()
        try:
            with self._store.reading() as db:
                due = rows.next_due(db, now)
        except Unavailable:
            return _AFTER_FAILURE_S
        under_way = [running for running in tuple(self._running.values()) if not running.is_overdue]
        ends = [each.since + self._kinds[each.job.kind].time_s - time.monotonic() for each in under_way]
        return max(0.0, min([_LOOK_S, *ends, *([] if due is None else [due - now])]))

    def _wake_pool(self) -> None:
        with self._changed:
            self._is_woken = True
            self._changed.notify_all()

    def delete_old(self) -> None:
        """Jobs that ended long enough ago go, and whatever else their kinds no longer need."""
        for kind in self._kinds.values():
            guarded(f"tidying {kind.name}", kind.tidy)
            if not kind.kept_s:
                continue
            with self._store.reading() as db:
                old = rows.list_ended_before(db, kind.name, self._now() - kind.kept_s)
            for job in old:
                kind.forget(job)
                with self._store.writing() as db:
                    rows.delete_job(db, job.id)

    # --- one job -----------------------------------------------------------------------------------------------

    def run_next(self) -> bool:
        """Do the next job in the thread of the caller; False when none can be begun now."""
        running = self._claim_job()
        if running is not None:
            self._run_pool(running)
        return running is not None

    def _claim_job(self) -> Running | None:
        """The next job, which runs from now on."""
        if self._is_stranded:
            with self._store.writing() as db:
                rows.requeue_jobs(db, tuple(self._running))
            self._is_stranded = False
        now = self._now()
        with self._store.reading() as db:
            heads = rows.list_next_jobs(db, now)
        with self._changed:
            job = None if self._is_closing else self._choose_job(heads)
        if job is None:
            return None
        with self._store.writing() as db:
            if not rows.begin_job(db, job.id, now):
                return None
        running = Running(job, self._store, lambda: self._is_closing)
        with self._changed:
            self._running[job.id] = running
            self._served[job.kind, job.cubicle] = running.since
        return running

    def _choose_job(self, heads: list[Job]) -> Job | None:
        """Of those that there are threads for, one of the cubicle whose last one is longest ago."""
        busy = Counter(running.job.kind for running in self._running.values())
        theirs = Counter((running.job.kind, running.job.cubicle) for running in self._running.values())

        def may_run(job: Job) -> bool:
            kind = self._kinds.get(job.kind)
            if kind is None or job.kind in self._unready:
                return False
            return busy[job.kind] < kind.at_once and theirs[job.kind, job.cubicle] < kind.per_cubicle

        able = filter(may_run, heads)
        return min(able, key=lambda job: (self._served.get((job.kind, job.cubicle), 0.0), job.id), default=None)

    def _run_pool(self, running: Running) -> None:
        try:
            self._run_job(running.job, running)
        except Exception as error:  # the top of a thread: the row could not be written; it is queued again in a moment
            self._is_stranded = True
            logger.warning("%s %s: %s", running.job.kind, running.job.name, error, exc_info=error)
        finally:
            with self._changed:
                del self._running[running.job.id]
                self._changed.notify_all()
            self._wake_pool()

    def _run_job(self, job: Job, running: Running) -> None:
        kind = self._kinds[job.kind]
        if job.tries >= kind.tries:
            self._fail_job(job, kind.gave_up, "gave_up")
            return
        try:
            result = kind.run(running)
        except Stopped:
            self._put_back(job, 0.0)
        except TryLater as later:
            self._put_back(job, later.after_s, is_counted=later.is_counted)
            if later.is_whole_kind:
                with self._store.writing() as db:
                    rows.postpone_kind(db, job.kind, self._now() + later.after_s)
        except OrchestratorError as error:
            self._fail_job(job, error.message, error.code)
        except Exception:  # the top of a thread: whatever broke, whoever waits must hear of it in the end
            logger.exception("%s %s broke", job.kind, job.name)
            if kind.broke:
                self._fail_job(job, kind.broke, "internal")
            else:
                self._put_back(job, _LOOK_S, is_counted=True)
        else:
            if result is not None:
                with self._store.writing() as db:
                    self.end_job(db, job, JobState.DONE, **result)

    def _put_back(self, job: Job, after_s: float, *, is_counted: bool = False) -> None:
        with self._store.writing() as db:
            rows.requeue_job(db, job.id, not_before=self._now() + after_s if after_s else 0.0, is_counted=is_counted)

    def _fail_job(self, job: Job, error: str, code: str) -> None:
        with self._store.writing() as db:
            self.end_job(db, job, JobState.FAILED, error=error, code=code)
