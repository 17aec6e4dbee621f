"""From what somebody wrote (a start, a zone, a repeat, an end, exceptions) to a plan in order, or the field that isn't.

A start with an offset is that moment, and then repeats by the clock of the person's zone; one without is a time of that
clock; a whole day begins at a stated time.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, time
from zoneinfo import ZoneInfo

from orchestrator.capabilities.calendar.recurrence.expand import read_repeat
from orchestrator.capabilities.calendar.recurrence.occurrences import Plan
from orchestrator.capabilities.calendar.recurrence.zones import check_year, moment_of, wall_at, zone_named
from orchestrator.core.errors import BadInput

DAY_BEGINS = time(9)
"""When something comes due that is for a day, without a time."""
MAX_EXCEPTIONS = 500


def make_plan(
    start: date | datetime,
    zone: str,
    *,
    repeat: str = "",
    until: date | datetime | None = None,
    without: Iterable[date | datetime] = (),
    day_begins: time = DAY_BEGINS,
) -> Plan:
    """The plan; raises BadInput. Whether it ever comes due is for ``plans.check``, which knows the time."""
    place = zone_named(zone)
    left_out = tuple(_exception(moment, place) for moment in without)
    if len(left_out) > MAX_EXCEPTIONS:
        raise BadInput(f"without: {MAX_EXCEPTIONS} exceptions are the most.")
    return Plan(
        start=_wall("start", start, place, day_begins),
        zone=zone,
        repeat=read_repeat(repeat) if repeat.strip() else None,
        until=None if until is None else moment_of(_wall("until", until, place, time(23, 59, 59)), place),
        without=left_out,
    )


def parse_moment(field: str, when: date | datetime, zone: str, *, day_begins: time = DAY_BEGINS) -> datetime:
    """The moment that is meant, such as the end of an entry; raises BadInput."""
    place = zone_named(zone)
    return moment_of(_wall(field, when, place, day_begins), place)


def _exception(when: date | datetime, place: ZoneInfo) -> date | datetime:
    check_year("without", when)
    if not isinstance(when, datetime):
        return when
    return moment_of(_wall("without", when, place, DAY_BEGINS), place) if when.tzinfo is None else when


def _wall(field: str, when: date | datetime, place: ZoneInfo, day_begins: time) -> datetime:
    if not isinstance(when, datetime):
        when = datetime.combine(when, day_begins)
    check_year(field, when)
    wall = when if when.tzinfo is None else wall_at(when, place)
    check_year(field, wall)
    return wall.replace(microsecond=0, fold=0)
