"""A plan: when it starts, how it repeats, when it ends and what is left out; and the moments that this gives.

Owns the order and the bounds of those moments. They are strictly increasing, whatever the clocks do: times that a
change of the clock leaps over fall together with the first moment after it, and count once; an hour that comes twice
is gone through twice by what comes due each hour or more often, and once by everything else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import islice, pairwise, takewhile

from orchestrator.capabilities.calendar.recurrence.cron import Cron
from orchestrator.capabilities.calendar.recurrence.expand import Repeat, wall_times
from orchestrator.capabilities.calendar.recurrence.zones import LAST_YEAR, moment_of, second_coming, wall_at, zone_named
from orchestrator.core.errors import BadInput

MAX_LISTED = 10_000
MIN_GAP = timedelta(minutes=5)
_LOOKED_AT = 400
"""Times whose distances are looked at: more than a day of the densest plan, and a year of a daily one."""
_LONGEST_TWICE = timedelta(hours=4)
"""No clock has been put back by more since the calendar's first year."""


@dataclass(frozen=True, slots=True)
class Plan:
    """When something comes due."""

    start: datetime
    """By the clock on the wall, without a zone."""
    zone: str
    repeat: Repeat | None = None
    until: datetime | None = None
    """The last moment at which it may come due, beside what the repeat itself says."""
    without: tuple[datetime | date, ...] = ()
    """Moments, and days by the clock on the wall, at which it does not."""


def iter_occurrences(plan: Plan, after: datetime) -> Iterator[datetime]:
    """The moments strictly after that one, ever later."""
    if after.year > LAST_YEAR:
        return
    end, left_out = _end(plan), frozenset(plan.without)
    previous = after
    for wall, moment in _moments(plan, after):
        if end is not None and moment > end:
            return
        if moment <= previous:
            continue
        previous = moment
        if moment not in left_out and wall.date() not in left_out:
            yield moment


def next_after(plan: Plan, after: datetime) -> datetime | None:
    """The next moment strictly after that one; None when there is no other."""
    return next(iter_occurrences(plan, after), None)


def list_between(plan: Plan, begin: datetime, end: datetime, *, limit: int = MAX_LISTED) -> list[datetime]:
    """The moments from ``begin`` on and before ``end``, the first ``limit`` of them."""
    found = iter_occurrences(plan, begin - timedelta(microseconds=1))
    return list(islice(takewhile(lambda moment: moment < end, found), min(limit, MAX_LISTED)))


def check_plan(plan: Plan, *, now: datetime, min_gap: timedelta = MIN_GAP) -> datetime:
    """The first moment to come; raises BadInput when there is none, or when moments come too close together."""
    first = next_after(plan, now)
    if first is None:
        raise _nothing_to_come(plan, now)
    if plan.repeat is not None:
        # Walls, not moments: a change of the clock that moves two times together is nobody's mistake.
        found = islice(wall_times(plan.repeat, plan.start, wall_at(now, zone_named(plan.zone))), _LOOKED_AT)
        closest = min((later - earlier for earlier, later in pairwise(found)), default=min_gap)
        if closest < min_gap:
            raise BadInput(
                f"repeat: it may come due every {_minutes(min_gap)} at most, not every {_minutes(closest)}. "
                "Choose times further apart."
            )
    return first


# --- moments -------------------------------------------------------------------------------------------------------


def _moments(plan: Plan, after: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Wall times with their moments, in the order of the moments, from shortly before ``after`` on."""
    zone = zone_named(plan.zone)
    if plan.repeat is None:
        yield plan.start, moment_of(plan.start, zone)
        return
    is_hourly = plan.repeat.is_hourly
    asked = max(after, datetime(plan.start.year, 1, 1, tzinfo=UTC) - timedelta(days=2))
    since = wall_at(asked, zone)
    # Shortly before a clock is put back, times are still to come that it has shown already.
    since -= max(timedelta(), since + _LONGEST_TWICE - wall_at(asked + _LONGEST_TWICE, zone))
    again: deque[tuple[datetime, datetime]] = deque()
    for wall in wall_times(plan.repeat, plan.start, since):
        moment = moment_of(wall, zone)
        while again and again[0][1] <= moment:
            yield again.popleft()
        yield wall, moment
        if is_hourly and (second := second_coming(wall, zone)):
            again.append((wall, second))
    yield from again


def _end(plan: Plan) -> datetime | None:
    own = None if plan.repeat is None or isinstance(plan.repeat, Cron) else plan.repeat.until
    ends = [end for end in (own, plan.until) if isinstance(end, datetime) and end.tzinfo is not None]
    return min(ends, default=None)


def _nothing_to_come(plan: Plan, now: datetime) -> BadInput:
    if plan.repeat is None:
        return BadInput("start: that time has passed. Give one that lies ahead.")
    if next(wall_times(plan.repeat, plan.start, plan.start), None) is None:
        return BadInput("repeat: this never comes due. Take out what contradicts itself.")
    if next_after(Plan(plan.start, plan.zone, plan.repeat), now) is None:
        return BadInput("repeat: its last time has passed. Give a later end, or none.")
    return BadInput("repeat: with this end and these exceptions nothing is left to come.")


def _minutes(gap: timedelta) -> str:
    minutes = round(gap.total_seconds() / 60)
    return "minute" if minutes <= 1 else f"{minutes} minutes"
