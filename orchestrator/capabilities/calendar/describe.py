"""The calendar in words, for people and for models: when something is due, by the clock of whoever reads it. Pure.

Titles and prompts are written by agents: they are shown on one line, and in quotation marks.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from orchestrator.capabilities.calendar.input import EntryInput, plan_of, time_of
from orchestrator.capabilities.calendar.recurrence.describe import DAYS, MONTHS, describe_plan
from orchestrator.capabilities.calendar.recurrence.zones import wall_at, zone_named
from orchestrator.capabilities.calendar.rows import CalendarEntry, EntryStatus
from orchestrator.core.text import in_quotes

_PROMPT_CHARS = 300


def quote_title(entry: CalendarEntry) -> str:
    """The entry's title."""
    return in_quotes(entry.title)


def prompt_of(entry: CalendarEntry) -> str:
    """What the agent is told, or its beginning."""
    return in_quotes(entry.prompt, _PROMPT_CHARS)


def describe_rhythm(request: EntryInput, time_zone: str) -> str:
    """How it comes due; the zone is named where it isn't the reader's."""
    said = describe_plan(plan_of(*request.when))
    return said if request.time_zone == time_zone else f"{said} ({request.time_zone})"


def format_moment(when: datetime, time_zone: str) -> str:
    """``Mon 2 Mar 2026 at 09:00``, by the reader's clock."""
    wall = wall_at(when, zone_named(time_zone))
    return f"{DAYS[wall.weekday()][:3]} {wall.day} {MONTHS[wall.month - 1][:3]} {wall.year} at {wall:%H:%M}"


def due_next(entry: CalendarEntry, time_zone: str) -> str:
    """When it is due next, as a sentence."""
    if entry.status is EntryStatus.PAUSED:
        return "It is paused."
    if entry.next_at is None:
        return "It does not come due any more."
    return f"It next comes due on {format_moment(time_of(entry.next_at), time_zone)} ({time_zone})."


def entry_line(entry: CalendarEntry, time_zone: str) -> str:
    """The entry on one line of a list."""
    ahead = entry.status if entry.next_at is None else f"next {format_moment(time_of(entry.next_at), time_zone)}"
    return f"{entry.id}: {quote_title(entry)}, {describe_rhythm(EntryInput.from_entry(entry), time_zone)}; {ahead}"


def format_lateness(late: timedelta) -> str:
    """``2 hours``, ``5 minutes``."""
    minutes = max(1, round(late.total_seconds() / 60))
    if minutes < 120:
        return f"{minutes} minute{'s' * (minutes > 1)}"
    return f"{round(minutes / 60)} hours"
