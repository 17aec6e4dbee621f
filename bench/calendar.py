"""The calendar with ten thousand entries: how long it takes until they are in order, and how late they come due.

``python -m bench.calendar`` prints the figures. Turns go nowhere: what is measured is the calendar alone.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.agents.users import Users
from orchestrator.approvals.notifications import Notifications
from orchestrator.capabilities.calendar import rows
from orchestrator.capabilities.calendar.notifications import CalendarNotifications
from orchestrator.capabilities.calendar.rows import CalendarEntry, EntryStatus
from orchestrator.capabilities.calendar.runs import CalendarRuns
from orchestrator.capabilities.calendar.scheduler import CalendarScheduler
from orchestrator.core.db.database import Store
from orchestrator.core.events import Broker
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import CubicleKey

COUNT = 10_000
PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- calendar figures -->", "<!-- end of calendar figures -->"
LEAD_S = 2.0
SPREAD_S = 30.0


@dataclass(frozen=True)
class Figures:
    """Seconds."""

    load_s: float
    lags_s: list[float]

    @property
    def p99_s(self) -> float:
        """So late one of a hundred comes due, or later."""
        return sorted(self.lags_s)[int(len(self.lags_s) * 0.99)]


@dataclass
class _Sink:
    """Where turns go: their number and when."""

    at: list[tuple[str, float]] = field(default_factory=list)
    is_full: threading.Event = field(default_factory=threading.Event)

    def submit(self, _entry: CalendarEntry, origin: str) -> int:
        """Take a turn."""
        self.at.append((origin, time.time()))
        if len(self.at) == COUNT:
            self.is_full.set()
        return len(self.at)


def measure(home: Path, *, spread_s: float = SPREAD_S, repeat: str = "FREQ=DAILY") -> Figures:
    """Ten thousand entries that come due over ``spread_s`` seconds, all at once with 0."""
    first = round(time.time() + LEAD_S + 5)
    with closing(Store(home / "hermit.db")) as filled:
        Users(filled).ensure_operator("ada", "")
        _fill(filled, first, spread_s, repeat)
    began = time.monotonic()
    store, broker, sink = Store(home / "hermit.db"), Broker(), _Sink()
    people = Users(store)
    announcer = CalendarNotifications(Notifications(store, broker), people)
    runs = CalendarRuns(
        store=store, broker=broker, announcer=announcer, submit=sink.submit, hooks=Hooks(), now=time.time
    )
    loaded = threading.Event()

    def earliest() -> float | None:
        found = runs.next_due_at()
        loaded.set()
        return found

    clock = CalendarScheduler(runs.run_due, earliest)
    clock.start()
    loaded.wait(60)
    load_s = time.monotonic() - began
    sink.is_full.wait(spread_s + 120)
    clock.close()
    store.close()
    return Figures(load_s, [at - float(origin.rpartition(":")[2]) for origin, at in sink.at])


def _fill(store: Store, first: float, spread_s: float, repeat: str) -> None:
    with store.writing() as db:
        db.execute(
            "INSERT INTO agents (name, role, personality, provider, model, fallback_model, image, approval, "
            "approval_timeout_s, step_limit, command_timeout_s, daily_budget_micro, limits, toolsets, created_at) "
            "VALUES ('crab', '', '', '', '', '', 'base', 'off', 60, 10, 60, 0, '{}', '[]', 0)"
        )
    fill(store, first, spread_s, repeat, count=COUNT)


def fill(store: Store, first: float, spread_s: float, repeat: str, *, count: int) -> None:
    """So many entries of the first agent, evenly within ``spread_s`` seconds."""
    with store.writing() as db:
        for number in range(count):
            due = round(first) + int(number * spread_s / count)
            entry = CalendarEntry(
                id=0,
                cubicle=CubicleKey("crab", 1),
                title=f"Entry {number}",
                prompt="Go.",
                start=datetime.fromtimestamp(due, UTC).isoformat(),
                end="",
                time_zone="Europe/Vienna",
                repeat=repeat,
                color="",
                missed="run",
                status=EntryStatus.ACTIVE,
                by="ada",
                turn=None,
                created_at=0.0,
                changed_at=0.0,
                settled_at=round(first) - 60.0,
                next_at=float(due),
                failures=0,
            )
            rows.insert_entry(db, entry)


def main() -> None:
    """Measure, print, and with ``--write`` keep."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    lines = [f"| {COUNT:,} entries | in order after | p50 late | p99 late | goal |", "|---|---:|---:|---:|---|"]
    for what, spread_s, repeat in (
        ("daily, due within 30 s", SPREAD_S, "FREQ=DAILY"),
        ("once, due within 30 s", SPREAD_S, ""),
        ("daily, all due in the same second", 0.0, "FREQ=DAILY"),
    ):
        with tempfile.TemporaryDirectory() as folder:
            found = measure(Path(folder), spread_s=spread_s, repeat=repeat)
        assert len(found.lags_s) == COUNT
        figures = (found.load_s, statistics.median(found.lags_s), found.p99_s)
        lines.append(f"| {what} | {' | '.join(f'{s * 1000:.0f} ms' for s in figures)} | each < 1 s |")
    text = "\n".join(lines)
    print(text)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        head, tail = page.split(BEGIN)[0], page.split(END)[1]
        PAGE.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
