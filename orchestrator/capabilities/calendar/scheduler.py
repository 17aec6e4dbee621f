"""The clock: wakes whoever looks after the calendar when something is due, when something changed, and every half
minute, so that a host whose clock was set is noticed.

One job with one date, in memory, is all that the scheduler is given: what is due when is in the database. It goes by
the host's clock, and when that is put back it would wait for a date far ahead; the half minute does not.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.interval import IntervalTrigger

from orchestrator.core.periodic import guarded

HEARTBEAT_S = 30.0
_SHORTEST_S = 1.0
"""What could not be dealt with in one pass is tried again after this."""
_JOB = "next"


class CalendarScheduler:
    """A thread that does a pass whenever it is woken."""

    def __init__(
        self,
        tick: Callable[[], None],
        earliest: Callable[[], float | None],
        *,
        now: Callable[[], float] = time.time,
        heartbeat_s: float = HEARTBEAT_S,
    ) -> None:
        """``tick`` deals with what is due by ``now``, ``earliest`` says when there will be more."""
        self._tick = tick
        self._earliest = earliest
        self._now = now
        self._heartbeat_s = heartbeat_s
        self._woken = threading.Event()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run_loop, name="calendar", daemon=True)
        self._scheduler = BackgroundScheduler(
            timezone=UTC, job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1}, daemon=True
        )

    def start(self) -> None:
        """Begin with a pass."""
        self._scheduler.start()
        self._woken.set()
        self._thread.start()

    def wake(self) -> None:
        """Something changed: look again, now. Returns at once."""
        self._woken.set()

    def close(self) -> None:
        """No more passes; the one under way ends first."""
        self._is_closed = True
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join(timeout=30)
        if self._scheduler.running:
            self._scheduler.shutdown(wait=True)

    def _run_loop(self) -> None:
        while not self._is_closed:
            self._woken.wait(self._heartbeat_s)
            self._woken.clear()
            if not self._is_closed:
                guarded("looking after the calendar", self._run_pass)

    def _run_pass(self) -> None:
        self._tick()
        self._set_timer()

    def _set_timer(self) -> None:
        """The scheduler rings when something is due next."""
        upcoming = self._earliest()
        if upcoming is None:
            return  # whatever comes into the calendar wakes
        left = upcoming - self._now()
        if left > 2 * self._heartbeat_s:
            return  # a later pass does it
        when = datetime.now(UTC) + timedelta(seconds=left if left > 0 else _SHORTEST_S)
        # A job that goes on, though it need not: one that is over is removed by the scheduler's thread, which breaks
        # with an exception when the scheduler is shut down at that moment.
        again = IntervalTrigger(seconds=max(self._heartbeat_s, _SHORTEST_S), timezone=UTC)
        self._scheduler.add_job(self._woken.set, again, next_run_time=when, id=_JOB, replace_existing=True)
