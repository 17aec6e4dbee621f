"""What a job is to the nouns that have some: a kind says how its jobs are done and what is said of their ends.

Owns no thread and no row: ``jobs`` is the pool that runs them, ``jobs.rows`` has the rows.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from orchestrator.core.db.database import Store
from orchestrator.core.errors import Stopped
from orchestrator.jobs import rows
from orchestrator.jobs.rows import Job

_LOOK_S = 0.2
"""How often a running job asks the database whether it is still wanted."""


class Finish(Protocol):
    """Ends the calls that wait for a reference (``Calls.finish_calls``)."""

    def __call__(self, waits_for: str, *, ok: bool, text: str, result: Mapping[str, Any] | None = None) -> None: ...


class TryLater(Exception):
    """A job can't be done now; it is queued again."""

    def __init__(self, after_s: float, *, is_counted: bool = False, is_whole_kind: bool = False) -> None:
        """``after_s`` seconds from now; ``is_counted``: as one of its tries; ``is_whole_kind``: none of its kind is
        begun before then."""
        super().__init__()
        self.after_s, self.is_counted, self.is_whole_kind = after_s, is_counted, is_whole_kind


@dataclass(frozen=True, slots=True)
class JobReport:
    """What is said of a job's end."""

    text: str
    """For the call that waits for it."""
    result: Mapping[str, Any] = field(default_factory=dict)
    """The same for programs."""
    audit: str = ""
    """The kind of its line in the audit log; empty for none."""
    said: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    notice: str = ""
    """For the person; empty for none."""
    is_heard: bool = True
    """The agent knows, and need not be told at a later turn."""


def no_report(_db: sqlite3.Connection, _job: Job) -> JobReport | None:
    """Nothing is said."""
    return None


def do_nothing() -> None:
    """There is nothing to do."""


class Running:
    """A job that is being done. ``run`` of its kind gets one, in a thread of the pool."""

    def __init__(self, job: Job, store: Store, is_closing: Callable[[], bool]) -> None:
        self.job = job
        self.since = time.monotonic()
        self.thread: threading.Thread | None = None
        self.is_overdue = False
        self._store = store
        self._is_closing = is_closing
        self._look_at = 0.0
        self._is_unwanted = False

    def is_wanted(self) -> bool:
        """It shall go on: nobody has cancelled it, its time is not up, its agent and its person stay, and the pool is
        not closing. May be called as often as one likes."""
        if self._is_closing():
            return False
        now = time.monotonic()
        if not self._is_unwanted and now >= self._look_at:
            with self._store.reading() as db:
                self._is_unwanted = not rows.is_wanted(db, self.job.id)
            self._look_at = now + _LOOK_S
        return not self._is_unwanted

    def check_wanted(self) -> None:
        """Raises Stopped when it shall not go on, looking now."""
        self._look_at = 0.0
        if not self.is_wanted():
            raise Stopped("Nobody wants this any more.")

    def record_progress(self, progress: str | None = None, **result: Any) -> None:
        """Write down how far it has come, and what there is of it. Raises Stopped when it is not wanted any more."""
        with self._store.writing() as db:
            if not rows.save_progress(db, self.job.id, progress, result):
                raise Stopped("Nobody wants this any more.")


@dataclass(frozen=True, slots=True)
class JobKind:
    """How jobs of a kind are done."""

    name: str
    run: Callable[[Running], Mapping[str, Any] | None]
    """Does one: what came of it, or None when it was ended or waits by now. Raises Stopped when it broke off because it
    was not wanted, TryLater, and any other OrchestratorError when it failed, with the sentence that says why."""
    time_s: float
    """So long one may run; then it has failed, and whoever waits hears of it."""
    report: Callable[[sqlite3.Connection, Job], JobReport | None] = no_report
    """What is said of an end, within its transaction."""
    prepare: Callable[[], None] = do_nothing
    """After a start, before the first: what a death left is put right."""
    forget: Callable[[Job], None] = lambda _: None
    """What lies about of one goes, before its row does."""
    tidy: Callable[[], None] = do_nothing
    """Every minute or so: what nobody needs any more goes."""
    tries: int = 3
    """So often one is begun; deaths count, an orderly stop does not."""
    gave_up: str = "It was started several times and never finished, so it was cancelled."
    broke: str = ""
    """Why one failed in which something broke that nobody foresaw; empty where it is tried again."""
    at_once: int = 1
    """So many run at the same time, in all ..."""
    per_cubicle: int = 1
    """... and of one cubicle."""
    kept_s: float | None = 0.0
    """So long a row stays after the end; None: somebody else lets it go."""
    outlives: bool = True
    """One that has not ended goes on after the next start."""
    ends_within_s: float = 5.0
    """So long the pool's end waits for one to break off."""
    holds_deletion: bool = False
    """Its agent is not deleted while one runs."""
