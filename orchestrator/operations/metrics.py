"""The install in numbers, as Prometheus reads them. Most are read from the database when somebody asks, so nothing that
works pays for being counted; a few things that leave no row are counted as they happen.

Counters begin at nothing when the install starts. A label is an agent's, a provider's or one of our own words, never
what a person or a model wrote.
"""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from orchestrator.agents.user_fields import CHANNELS
from orchestrator.core.db.database import Store
from orchestrator.core.models import MICRO, CubicleKey
from orchestrator.core.version import VERSION
from orchestrator.operations import metrics_rows as tallies
from orchestrator.operations.metrics_rows import EndedCounts

_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)
_LATE = (0.5, 1, 2, 5, 15, 60, 300, 3600)
_CALLED = {"settled": "answered", "kept": "broken", "released": "refused"}
"""How a model call ended, as the state of its money tells."""


@dataclass(frozen=True, slots=True)
class Gauges:
    """What the parts know of themselves without being asked for long."""

    running: Callable[[], int | None]
    """How many cubicles ran at the last look; None when nobody could look."""
    streams: Callable[[], int]
    disk_bytes: Callable[[CubicleKey], int | None]
    cubicles: Callable[[], list[CubicleKey]]


class Metrics:
    """Every number. May be used from any thread."""

    def __init__(self, store: Store, home: Path, database: Path, gauges: Gauges) -> None:
        # The times at which counters were made would double the number of series.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library does not say
        self._store, self._home, self._database, self._gauges = store, home, database, gauges
        self._registry = registry = CollectorRegistry()
        self._lock = threading.Lock()  # one scrape at a time: protects the looks
        Info("hermit_build", "Which version this is.", registry=registry).info({"version": VERSION})
        ProcessCollector(registry=registry)
        self._turns = _Turns(registry)
        self._calls = _Calls(registry)
        self._ends = _Ends(registry)
        self._now = _Now(registry)
        self._seen = _Seen(registry)
        with store.reading() as db:
            self._looks = {
                EndedCounts(db, tallies.TURNS): self._turns.count,
                EndedCounts(db, tallies.CALLS): self._calls.count,
                EndedCounts(db, tallies.DELIVERIES): self._ends.delivery,
                EndedCounts(db, tallies.LETTERS): self._ends.message,
                EndedCounts(db, tallies.RUNS): self._ends.run,
                EndedCounts(db, tallies.APPROVALS): self._ends.approval,
            }

    def door_request(self, agent: str) -> None:
        """A cubicle of this agent asked for something."""
        self._seen.door.labels(agent).inc()

    def channel_call(self, channel: str, outcome: str) -> None:
        """A chat app was asked for something; ``ok``, or the kind of failure."""
        self._seen.calls[channel].labels(outcome).inc()

    def channel_updates(self, channel: str, count: int) -> None:
        """A chat app told us of this much."""
        self._seen.updates[channel].inc(count)

    def render_text(self) -> bytes:
        """All of it, in Prometheus's text format. Raises Unavailable."""
        with self._lock:
            began = time.perf_counter()
            with self._store.reading() as db:
                for look, count in self._looks.items():
                    for row in look.count_ended(db):
                        count(row)
                open_now = tallies.count_open(db)
            self._now.stands(open_now)
            self._now.looks(self._gauges, self._home, self._database)
            self._now.took.set(time.perf_counter() - began)
            return generate_latest(self._registry)


class _Turns:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.ended = Counter("hermit_turns", "Turns that ended.", ("agent", "source", "outcome"), registry=registry)
        self.took = Histogram(
            "hermit_turn_seconds", "From a turn's begin to its end.", buckets=_SECONDS, registry=registry
        )
        self.waited = Histogram(
            "hermit_turn_queue_seconds", "From a message to its turn's begin.", buckets=_SECONDS, registry=registry
        )

    def count(self, row: sqlite3.Row) -> None:
        self.ended.labels(row["agent"], row["source"], row["status"]).inc()
        if row["started_at"] is None:
            return
        self.waited.observe(max(0.0, row["started_at"] - row["created_at"]))
        self.took.observe(max(0.0, (row["ended_at"] or row["started_at"]) - row["started_at"]))


class _Calls:
    def __init__(self, registry: CollectorRegistry) -> None:
        by = ("agent", "provider")
        self.ended = Counter("hermit_model_calls", "Model calls that ended.", (*by, "outcome"), registry=registry)
        self.took = Histogram(
            "hermit_model_call_seconds",
            "From a model call's begin to the end of its answer.",
            ("provider", "outcome"),
            buckets=_SECONDS,
            registry=registry,
        )
        self.tokens = Counter("hermit_model_tokens", "Tokens of model calls.", (*by, "direction"), registry=registry)
        self.cost = Counter("hermit_model_cost_usd", "What model calls cost, in dollars.", by, registry=registry)

    def count(self, row: sqlite3.Row) -> None:
        agent, provider, outcome = row["agent"], row["provider"], _CALLED[row["state"]]
        self.ended.labels(agent, provider, outcome).inc()
        self.took.labels(provider, outcome).observe(
            max(0.0, (row["ended_at"] or row["started_at"]) - row["started_at"])
        )
        self.tokens.labels(agent, provider, "in").inc(row["prompt_tokens"] or 0)
        self.tokens.labels(agent, provider, "out").inc(row["completion_tokens"] or 0)
        self.cost.labels(agent, provider).inc(row["cost_micro"] / MICRO)


class _Ends:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.deliveries = Counter("hermit_deliveries", "Files that left out/.", ("outcome",), registry=registry)
        self.messages = Counter(
            "hermit_telegram_letters", "Messages that were to go to Telegram.", ("outcome",), registry=registry
        )
        self.runs = Counter("hermit_calendar_runs", "Runs of the calendar that ended.", ("outcome",), registry=registry)
        self.late = Histogram(
            "hermit_calendar_late_seconds",
            "How long after its time a run of the calendar was begun.",
            buckets=_LATE,
            registry=registry,
        )
        self.approvals = Counter(
            "hermit_approvals", "Questions for approval that ended.", ("kind", "outcome"), registry=registry
        )

    def delivery(self, row: sqlite3.Row) -> None:
        self.deliveries.labels(row["status"]).inc()

    def message(self, row: sqlite3.Row) -> None:
        self.messages.labels(row["state"]).inc()

    def run(self, row: sqlite3.Row) -> None:
        self.runs.labels(row["outcome"]).inc()
        if not row["by_hand"] and row["outcome"] != "missed":
            self.late.observe(max(0.0, row["claimed_at"] - row["due_at"]))

    def approval(self, row: sqlite3.Row) -> None:
        self.approvals.labels(row["kind"], row["status"]).inc()


class _Seen:
    """What leaves no row."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.door = Counter("hermit_door_requests", "Requests of cubicles.", ("agent",), registry=registry)
        self.calls = {
            name: Counter(f"hermit_{name}_calls", f"Calls to {label}, polls included.", ("outcome",), registry=registry)
            for name, label in CHANNELS.items()
        }
        self.updates = {
            name: Counter(f"hermit_{name}_updates", f"What {label} told us of.", registry=registry)
            for name, label in CHANNELS.items()
        }


class _Now:
    """What stands open, and what the parts know of themselves."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.turns = Gauge("hermit_turns_open", "Turns without an outcome.", ("status",), registry=registry)
        self.approvals = Gauge(
            "hermit_approvals_pending", "Questions for approval that wait.", ("kind",), registry=registry
        )
        self.questions = Gauge("hermit_questions_pending", "Agents' own questions that wait.", registry=registry)
        self.messages = Gauge("hermit_telegram_letters_waiting", "Messages that are to go out.", registry=registry)
        self.running = Gauge(
            "hermit_cubicles_running",
            "Cubicles that ran at the last look, up to a minute ago; NaN when there was none.",
            registry=registry,
        )
        self.streams = Gauge("hermit_event_streams", "Clients that listen to events.", registry=registry)
        self.used = Gauge(
            "hermit_workspace_bytes", "What an agent's workspaces take, where known.", ("agent",), registry=registry
        )
        self.free = Gauge("hermit_disk_free_bytes", "Free where HERMIT_HOME is.", registry=registry)
        self.total = Gauge("hermit_disk_size_bytes", "The file system of HERMIT_HOME.", registry=registry)
        self.database = Gauge("hermit_database_bytes", "The database's file.", registry=registry)
        self.took = Gauge("hermit_scrape_seconds", "How long these numbers took to gather.", registry=registry)

    def stands(self, now: tallies.Counts) -> None:
        for status in ("queued", "running", "waiting_approval"):
            self.turns.labels(status).set(now.turns.get(status, 0))
        self.approvals.clear()
        for kind, count in ({"command": 0} | now.approvals).items():
            self.approvals.labels(kind).set(count)
        self.questions.set(now.questions)
        self.messages.set(now.messages)

    def looks(self, gauges: Gauges, home: Path, database: Path) -> None:
        running = gauges.running()
        self.running.set(float("nan") if running is None else running)
        self.streams.set(gauges.streams())
        self.used.clear()
        for key in gauges.cubicles():
            self.used.labels(key.agent).inc(gauges.disk_bytes(key) or 0)
        room = shutil.disk_usage(home)
        self.free.set(room.free)
        self.total.set(room.total)
        self.database.set(database.stat().st_size)
