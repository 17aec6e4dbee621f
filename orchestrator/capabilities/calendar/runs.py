"""Runs: each time that an entry is due becomes one turn, or a row that says why not.

A time is claimed by a row before anything is done, the turn carries the row's own origin, and the row gets the turn
last; so a crash at any instant is made good by doing the rest again, and nothing is done twice. Times that were run are
kept as spans, so a clock that is put back brings none of them up again. What is missed, too late or in the way of the
run before it is decided by ``capabilities.calendar.recurrence.missed`` and written down.
"""

from __future__ import annotations

import logging
import secrets
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from orchestrator.agents import deletion_rows
from orchestrator.capabilities.calendar import describe as saying
from orchestrator.capabilities.calendar import rows, run_rows
from orchestrator.capabilities.calendar.input import EntryInput, plan_of, time_of
from orchestrator.capabilities.calendar.notifications import CalendarNotifications
from orchestrator.capabilities.calendar.recurrence.missed import GRACE, PUNCTUAL, Due, Missed, find_due
from orchestrator.capabilities.calendar.recurrence.occurrences import Plan, iter_occurrences, next_after
from orchestrator.capabilities.calendar.rows import CalendarEntry, EntryStatus, Run, RunResult
from orchestrator.core.db.database import Store
from orchestrator.core.errors import Conflict, OrchestratorError
from orchestrator.core.events import Broker
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import Event

logger = logging.getLogger(__name__)

MOST_FAILURES = 3
"""So many failing runs in a row pause an entry."""
KEPT_RUNS = 200
KEPT_ENDED = 100
"""Of a cubicle's entries that ended."""
_BATCH = 500
_TICK = timedelta(microseconds=1)

Submit = Callable[[CalendarEntry, str], int]
"""Makes a turn of an entry's prompt under an origin, once for each origin, in the entry's conversation; where that is
gone, in the first. Gives its number; raises an error of ours."""


@dataclass(frozen=True, slots=True)
class _Time:
    """A time that has come, and what is to be made of it."""

    due: Due
    first: datetime
    """The first of those that it stands for."""
    outcome: RunResult


class CalendarRuns:
    """What came of the calendar. ``run_due`` is called by one thread at a time, all else from any."""

    def __init__(
        self,
        *,
        store: Store,
        broker: Broker,
        announcer: CalendarNotifications,
        submit: Submit,
        hooks: Hooks,
        now: Callable[[], float],
    ) -> None:
        self._store = store
        self._broker = broker
        self._announcer = announcer
        self._submit = submit
        self._hooks = hooks
        self._now = now

    def run_due(self) -> None:
        """Everything that is due has its turn or its row, whatever the clock did meanwhile, and runs that ended have
        their outcomes."""
        self._notice_a_clock_put_back()
        self._book_ended()
        self._send_claimed()
        while self._claim_punctual():
            self._send_claimed()
        while self._claim_due():
            self._send_claimed()

    def next_due_at(self) -> float | None:
        """When something is due next."""
        with self._store.reading() as db:
            return rows.get_earliest_due(db)

    def list_runs(self, entry: int, limit: int) -> list[Run]:
        """The newest runs of an entry, the newest first."""
        with self._store.reading() as db:
            return run_rows.list_runs(db, entry, limit)

    def of_turn(self, turn: int) -> tuple[Run, CalendarEntry] | None:
        """The run that became this turn, with its entry."""
        with self._store.reading() as db:
            run = run_rows.get_run_of_turn(db, turn)
            entry = None if run is None else rows.get_entry(db, run.entry)
        return None if run is None or entry is None else (run, entry)

    def claim_by_hand(self, db: sqlite3.Connection, entry: CalendarEntry) -> Run:
        """A person wants the entry to run now; raises Conflict while a run is under way."""
        if run_rows.is_running(db, entry.id):
            raise Conflict(f"{saying.quote_title(entry)} is running already. Wait until it has ended, or stop it.")
        now = self._now()
        run = replace(
            _run_of(entry, time_of(now), now), by_hand=True, origin=f"entry:{entry.id}:{secrets.token_hex(8)}"
        )
        number = run_rows.insert_run(db, run)
        if number is None:
            raise Conflict(f"{saying.quote_title(entry)} runs at this very moment.")
        return replace(run, id=number)

    def send_run(self, run: Run, entry: CalendarEntry) -> int:
        """The claimed run is a turn now, whose number comes back. Raises an error of ours; it is tried again then."""
        turn = self._submit(entry, run.origin)
        with self._store.writing() as db:
            run_rows.set_turns(db, [(run.id, turn)])
        self._told(entry, "run", turn=turn)
        return turn

    def next_time(self, db: sqlite3.Connection, entry: CalendarEntry, after: datetime) -> datetime | None:
        """The first time after that which was never run; None when there is none."""
        plan = plan_of(*EntryInput.from_entry(entry).when)
        spans = rows.list_covered_spans(db, entry.id, after.timestamp())
        if not spans:
            return next_after(plan, after)
        return next((moment for moment in iter_occurrences(plan, after) if not _is_in(spans, moment)), None)

    # --- passes ------------------------------------------------------------------------------------------------------

    def _notice_a_clock_put_back(self) -> None:
        """What lies ahead again comes due again, but for what was run."""
        now = self._now()
        with self._store.reading() as db:
            if not rows.list_settled_ahead(db, now):
                return
        with self._store.writing() as db:
            found = rows.list_settled_ahead(db, now)
            for entry in found:
                rows.settle_entry(db, entry, settled_at=now, next_at=_seconds(self.next_time(db, entry, time_of(now))))
        logger.warning("the clock was put back: %d entries of the calendar are looked at again", len(found))
        for key in {entry.cubicle for entry in found}:
            self._hooks.calendar_changed.fire(key)

    def _claim_punctual(self) -> bool:
        """The plain case, many at a time: what is due just now and nothing stands in its way. Its next time is found
        later, by ``_claim_due``, so that nothing waits for that. False when there was none."""
        now = self._now()
        with self._store.reading() as db:
            if not rows.list_due_just_now(db, now, PUNCTUAL.total_seconds(), 1):
                return False
        with self._store.writing() as db:
            found = rows.list_due_just_now(db, now, PUNCTUAL.total_seconds(), _BATCH)
            run_rows.insert_runs(db, [_run_of(entry, time_of(when), now) for entry, when in found])
            for entry, when in found:
                rows.insert_covered_span(db, entry.id, when, when, after=entry.settled_at)
        return bool(found)

    def _claim_due(self) -> bool:
        """What is due is claimed, or written down as not run, and gets its next time; False when nothing was due."""
        now = self._now()
        with self._store.reading() as db:
            if not rows.list_due(db, now, 1):
                return False
        with self._store.writing() as db:
            found = rows.list_due(db, now, _BATCH)
            for entry in found:
                self._claim_one(db, entry, now)
            for key in {entry.cubicle for entry in found}:
                rows.delete_ended(db, key, KEPT_ENDED)
        for key in {entry.cubicle for entry in found}:
            self._hooks.calendar_changed.fire(key)
        return bool(found)

    def _claim_one(self, db: sqlite3.Connection, entry: CalendarEntry, now: float) -> None:
        plan = plan_of(*EntryInput.from_entry(entry).when)
        found = find_due(plan, settled=time_of(entry.settled_at), now=time_of(now), missed=Missed(entry.missed))
        if found is None or deletion_rows.is_being_deleted(db, entry.cubicle):
            upcoming = self.next_time(db, entry, time_of(now))
            rows.settle_entry(db, entry, settled_at=entry.settled_at, next_at=_seconds(upcoming))
            if upcoming is None:
                self._store.after_commit(partial(self._announcer.on_finished, entry, has_run=True, but=None))
            return
        upcoming = self.next_time(db, entry, found.settle)
        if not _is_in(rows.list_covered_spans(db, entry.id, found.at.timestamp()), found.at):
            self._write_down(db, entry, self._judge_run(db, entry, plan, found), now)
        rows.settle_entry(db, entry, settled_at=found.settle.timestamp(), next_at=_seconds(upcoming))
        if upcoming is not None:
            return
        missed = self._announcer.on_missed(entry, found.at) if not found.runs and entry.missed == Missed.RUN else None
        self._store.after_commit(partial(self._announcer.on_finished, entry, has_run=found.runs, but=missed))

    def _judge_run(self, db: sqlite3.Connection, entry: CalendarEntry, plan: Plan, found: Due) -> _Time:
        first = found.at
        if found.collapsed:
            since = max(time_of(entry.settled_at), time_of(self._now()) - GRACE - _TICK)
            first = next_after(plan, since) or found.at
        outcome = (
            RunResult.MISSED
            if not found.runs
            else RunResult.OVERLAP
            if run_rows.is_running(db, entry.id)
            else RunResult.CLAIMED
        )
        return _Time(found, first, outcome)

    def _write_down(self, db: sqlite3.Connection, entry: CalendarEntry, time: _Time, now: float) -> None:
        run = replace(
            _run_of(entry, time.due.at, now),
            collapsed=time.due.collapsed,
            is_late=time.due.is_late,
            outcome=time.outcome,
            ended_at=None if time.outcome is RunResult.CLAIMED else now,
        )
        run_rows.delete_missed(db, entry.id, run.due_at)
        run_rows.insert_run(db, run)
        run_rows.delete_runs(db, entry.id, KEPT_RUNS)
        if time.outcome is not RunResult.MISSED:
            is_next = next_after(plan_of(*EntryInput.from_entry(entry).when), time_of(entry.settled_at)) == time.first
            after = entry.settled_at if is_next else None
            rows.insert_covered_span(db, entry.id, time.first.timestamp(), run.due_at, after=after)
        if time.outcome is not RunResult.CLAIMED:
            self._store.after_commit(partial(self._told, entry, str(time.outcome)))

    def _send_claimed(self) -> None:
        """Claimed runs become turns; what can't become one stays claimed, until it makes no sense any more."""
        while True:
            with self._store.reading() as db:
                waiting = run_rows.list_runs_without_turn(db, _BATCH)
            sent: list[tuple[Run, CalendarEntry, int]] = []
            for run, entry in waiting:
                try:
                    sent.append((run, entry, self._submit(entry, run.origin)))
                except OrchestratorError as error:
                    logger.warning("entry %d can't run yet: %s", entry.id, error.message)
                    self._give_up_late(run, entry)
            if sent:
                with self._store.writing() as db:
                    run_rows.set_turns(db, [(run.id, turn) for run, _, turn in sent])
            for _, entry, turn in sent:
                self._told(entry, "run", turn=turn)
            if len(sent) < _BATCH:
                return

    def _give_up_late(self, run: Run, entry: CalendarEntry) -> None:
        if self._now() - run.claimed_at > GRACE.total_seconds():
            with self._store.writing() as db:
                run_rows.end_run(db, run.id, RunResult.MISSED, self._now())
            self._told(entry, "missed")

    def _book_ended(self) -> None:
        """Runs whose turns have ended get their outcomes; an entry that fails again and again is paused."""
        with self._store.reading() as db:
            if not run_rows.list_ended_runs(db):
                return
        touched: list[CalendarEntry] = []
        with self._store.writing() as db:
            for ended in run_rows.list_ended_runs(db):
                entry = rows.get_entry(db, ended.entry)
                if entry is None or not run_rows.end_run(db, ended.run, ended.outcome, self._now()):
                    continue
                touched.append(entry)
                self._count_outcome(db, entry, ended.outcome)
        for entry in touched:
            self._told(entry, "ended")

    def _count_outcome(self, db: sqlite3.Connection, entry: CalendarEntry, outcome: RunResult) -> None:
        if outcome is RunResult.DONE:
            rows.set_failures(db, entry.id, 0)
        if outcome is not RunResult.FAILED:
            return
        failures = entry.failures + 1
        if failures < MOST_FAILURES or entry.status is not EntryStatus.ACTIVE:
            rows.set_failures(db, entry.id, failures)
            return
        paused = replace(entry, status=EntryStatus.PAUSED, next_at=None, failures=failures)
        rows.update_entry(db, paused)
        self._announcer.on_paused(paused)

    def _told(self, entry: CalendarEntry, what: str, *, turn: int | None = None) -> None:
        self._hooks.calendar_changed.fire(entry.cubicle)
        self._broker.publish(Event("calendar", entry.cubicle, {"entry": entry.id, "change": what, "turn": turn}))


def _run_of(entry: CalendarEntry, due_at: datetime, now: float) -> Run:
    """A run that was claimed now, on time."""
    when = due_at.timestamp()
    return Run(
        id=0,
        entry=entry.id,
        due_at=when,
        collapsed=0,
        is_late=False,
        by_hand=False,
        origin=f"entry:{entry.id}:{round(when)}",
        turn=None,
        outcome=RunResult.CLAIMED,
        claimed_at=now,
        ended_at=None,
    )


def _is_in(spans: list[tuple[float, float]], moment: datetime) -> bool:
    return any(begin <= moment.timestamp() <= until for begin, until in spans)


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()
