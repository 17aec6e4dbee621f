"""The outlook: some days of many calendars at once, with what came of what was due and what is to come.

Only looks. Of a day the first few things are read, and how many others there are is counted; so ten thousand entries
are no more to show than ten. What is to come is laid out by ``capabilities.calendar.recurrence.day_layout``; what has
been is in the runs' rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime

from orchestrator.capabilities.calendar import rows, run_rows
from orchestrator.capabilities.calendar.input import plan_of, time_of
from orchestrator.capabilities.calendar.recurrence.day_layout import Series, Times, day_begins, lay_out_days
from orchestrator.capabilities.calendar.recurrence.zones import FIRST_YEAR, LAST_YEAR, wall_at, zone_named
from orchestrator.capabilities.calendar.rows import CalendarEntry, Run, RunResult
from orchestrator.core.db.database import Store

FIRST, LAST = date(FIRST_YEAR + 1, 1, 1), date(LAST_YEAR - 1, 12, 31)
"""The days that can be looked at."""
MOST_RUNS = 3_000
"""Past runs that are gone through for one look; older ones are left out, which is said."""
MOST_PAUSED = 50
_WORST = (
    RunResult.FAILED,
    RunResult.CLAIMED,
    RunResult.RUNNING,
    RunResult.STOPPED,
    RunResult.MISSED,
    RunResult.OVERLAP,
    RunResult.DONE,
)
"""Which outcome stands for several on one day: the first of these that is among them."""


@dataclass(frozen=True, slots=True)
class CalendarScope:
    """Whose calendars are looked at: of one agent or all, of one person or everybody."""

    agent: str | None = None
    user: int | None = None


@dataclass(frozen=True, slots=True)
class DayItem:
    """An entry on a day."""

    entry: CalendarEntry
    at: datetime
    """The first of its times on that day."""
    count: int
    """How many times it has."""
    is_more: bool
    """There are more than were counted."""
    run: Run | None
    """What came of it; None when it is to come."""


@dataclass(frozen=True, slots=True)
class CalendarDay:
    """A day by the clock of whoever looks."""

    day: date
    items: tuple[DayItem, ...]
    more: int
    """How many others there are."""

    @property
    def total(self) -> int:
        """How many things there are on this day."""
        return len(self.items) + self.more


@dataclass(frozen=True, slots=True)
class Outlook:
    """Some days, one after the other."""

    days: tuple[CalendarDay, ...]
    is_cut: bool
    """There was too much to go through; something is missing."""


def view_days(store: Store, scope: CalendarScope, zone: str, first: date, count: int, *, most_a_day: int) -> Outlook:
    """``count`` days from ``first`` on by the clock of ``zone``, with at most ``most_a_day`` things on each."""
    begins = day_begins(zone, first, count)
    begin, end = begins[0].timestamp(), begins[-1].timestamp()
    with store.reading() as db:
        coming = rows.list_due_before(db, end, scope.agent, scope.user)
        runs = run_rows.list_runs_within(db, begin, end, agent=scope.agent, user=scope.user, limit=MOST_RUNS)
    ahead = lay_out_days(map(_series, coming), zone, first, count, most_a_day=most_a_day)
    been = _by_day(runs, zone)
    days = [(day, been.get(day.day, []), day.times) for day in ahead.days]
    wanted = {times.key for _, _, found in days for times in found}
    wanted |= {group[0].entry for _, groups, _ in days for group in groups[:most_a_day]}
    with store.reading() as db:
        entries = rows.get_entries(db, wanted)
    made = tuple(
        _day(
            day.day, day.more, [*_been(groups[:most_a_day], entries), *_ahead(times, entries)], len(groups), most_a_day
        )
        for day, groups, times in days
    )
    return Outlook(made, ahead.is_cut or len(runs) == MOST_RUNS)


def list_paused(store: Store, scope: CalendarScope) -> list[CalendarEntry]:
    """What comes due only when somebody resumes it, the last changed first."""
    with store.reading() as db:
        return rows.list_paused(db, scope.agent, scope.user, MOST_PAUSED)


def _series(row: tuple[int, float, str, str, str, str, str]) -> Series:
    key, next_at, start, end, zone, repeat, without = row
    return Series(key, time_of(next_at), plan_of(start, end, zone, repeat, without) if repeat else None)


def _by_day(runs: Iterable[Run], zone: str) -> dict[date, list[list[Run]]]:
    """The runs of each day, those of one entry together; what was first is first."""
    place = zone_named(zone)
    found: dict[date, dict[int, list[Run]]] = {}
    for run in sorted(runs, key=lambda run: (run.due_at, run.id)):
        day = wall_at(time_of(run.due_at), place).date()
        found.setdefault(day, {}).setdefault(run.entry, []).append(run)
    return {day: list(groups.values()) for day, groups in found.items()}


def _been(groups: Iterable[list[Run]], entries: Mapping[int, CalendarEntry]) -> Iterable[DayItem]:
    for group in groups:
        entry = entries.get(group[0].entry)
        if entry is not None:
            worst = min(reversed(group), key=lambda run: _WORST.index(run.outcome))
            yield DayItem(entry, time_of(group[0].due_at), len(group), is_more=False, run=worst)


def _ahead(found: Iterable[Times], entries: Mapping[int, CalendarEntry]) -> Iterable[DayItem]:
    for times in found:
        entry = entries.get(times.key)
        if entry is not None:
            yield DayItem(entry, times.first, times.count, is_more=times.is_more, run=None)


def _day(day: date, more: int, items: list[DayItem], been: int, most: int) -> CalendarDay:
    """The first of what has been and of what is to come, and how many others there are of both."""
    shown = sorted(items, key=lambda item: (item.at, item.entry.id, item.run is None))[:most]
    ahead = more + sum(item.run is None for item in items)
    return CalendarDay(day, tuple(shown), max(0, been + ahead - len(shown)))
