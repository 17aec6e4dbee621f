"""Between the time of a clock on a wall somewhere and the one moment that it is everywhere.

Owns what happens when clocks are changed: a time that a change leaps over is the first moment after the leap, and a
time that comes twice is its first coming. Wall times are datetimes without a zone, moments are in UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from orchestrator.core.errors import BadInput

FIRST_YEAR = 1970
LAST_YEAR = 2199
"""The calendar's last year: far beyond any use, and far from where datetimes end."""

_NAME = re.compile(r"[A-Za-z0-9_+-]{1,30}(?:/[A-Za-z0-9_+-]{1,30}){0,2}")
_OTHER_CLOCKS = ("posix/", "right/", "localtime", "posixrules", "Factory")
"""What lies beside the zones in some systems: copies, clocks that count leap seconds, whatever the host is set to."""


def zone_named(name: str) -> ZoneInfo:
    """The IANA time zone; raises BadInput."""
    if _NAME.fullmatch(name) and not name.startswith(_OTHER_CLOCKS):
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):  # OSError: a folder such as "Europe"
            pass
    raise BadInput('time_zone: there is no such zone. Give an IANA name such as "Europe/Vienna" or "UTC".')


def check_year(field: str, moment: date) -> None:
    """Raises BadInput for a year that the calendar doesn't have."""
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise BadInput(f"{field}: the year must be {FIRST_YEAR} to {LAST_YEAR}, not {moment.year}.")


def moment_of(wall: datetime, zone: ZoneInfo) -> datetime:
    """When a clock there first shows this time, or has just leapt over it."""
    moment = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    return moment if wall_at(moment, zone) == wall else _end_of_leap(wall, zone)


def second_coming(wall: datetime, zone: ZoneInfo) -> datetime | None:
    """When a clock there shows this time once more, because it was put back; None for nearly every time."""
    moment = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    return moment if moment > moment_of(wall, zone) else None


def wall_at(moment: datetime, zone: ZoneInfo) -> datetime:
    """What a clock there shows at that moment."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def _end_of_leap(wall: datetime, zone: ZoneInfo) -> datetime:
    """The moment of the change that leapt over this time: the offsets before and after it lie around it."""
    early = wall.replace(tzinfo=zone, fold=1).astimezone(UTC).replace(microsecond=0)
    late = wall.replace(tzinfo=zone, fold=0).astimezone(UTC).replace(microsecond=0) + timedelta(seconds=1)
    before = early.astimezone(zone).utcoffset()
    while late - early > timedelta(seconds=1):
        middle = early + timedelta(seconds=(late - early) // timedelta(seconds=2))
        if middle.astimezone(zone).utcoffset() == before:
            early = middle
        else:
            late = middle
    return late
