"""What is to be done now about a plan: nothing, a run on time, one late run for all that was missed, or none.

Owns the policy, not the record: the caller keeps which moment was settled last, and settles what it is told before it
acts. A clock that steps back gives nothing to do twice, since only what lies after the last settled moment counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from orchestrator.capabilities.calendar.recurrence.occurrences import Plan, list_between, next_after

GRACE = timedelta(hours=24)
"""How late a missed run still makes sense."""
PUNCTUAL = timedelta(seconds=90)
"""A run within this time is on time, whatever the policy for missed ones."""


class Missed(StrEnum):
    """What an entry wants when its time passed while nobody could run it."""

    RUN = "run"
    """Once, late, however many times were missed."""
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Due:
    """Times that have come. ``settle`` is recorded first, so that none of them comes up again."""

    at: datetime
    """The time that counts: the latest of them, or the earliest when all are too old."""
    runs: bool
    """Whether it is to run now."""
    is_late: bool
    collapsed: int
    """Other times within the grace that this one stands for."""
    settle: datetime
    """All up to this moment are done with."""


def find_due(
    plan: Plan, *, settled: datetime, now: datetime, missed: Missed = Missed.RUN, grace: timedelta = GRACE
) -> Due | None:
    """What has come since ``settled``, until ``now``; None when nothing has."""
    first = next_after(plan, settled)
    if first is None or first > now:
        return None
    recent = list_between(plan, max(first, now - grace), now + timedelta(microseconds=1))
    if not recent:
        return Due(first, runs=False, is_late=True, collapsed=0, settle=now)
    latest = recent[-1]
    is_late = now - latest > PUNCTUAL
    runs = not is_late or missed is Missed.RUN
    return Due(latest, runs=runs, is_late=is_late, collapsed=len(recent) - 1, settle=latest)
