"""Times as people say them: how long ago, how soon, how long it took. The exact time is beside it, in the person's
zone. Pure.
"""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

_UNITS = ((86_400, "day", "days"), (3_600, "h", "h"), (60, "min", "min"))


def format_relative(at: float, now: float) -> str:
    """``just now``, ``3 min ago``, ``in 2 h``."""
    seconds = abs(now - at)
    if seconds < 45:
        return "just now" if at <= now else "in less than a minute"
    for size, one, many in _UNITS:
        if seconds >= size or size == 60:
            count = max(1, round(seconds / size))
            span = f"{count} {one if count == 1 else many}"
            return f"{span} ago" if at <= now else f"in {span}"
    raise AssertionError("minutes catch everything")


def format_exact(at: float, zone: str) -> str:
    """``Sat 28 Feb 2026, 10:00:00 CET``."""
    return datetime.fromtimestamp(at, UTC).astimezone(ZoneInfo(zone)).strftime("%a %d %b %Y, %H:%M:%S %Z")


def day_and_time(at: float, zone: str, now: float) -> str:
    """``Sat 28 Feb, 10:00``, with the year where it is another one."""
    place = ZoneInfo(zone)
    when, today = (datetime.fromtimestamp(moment, UTC).astimezone(place) for moment in (at, now))
    year = "" if when.year == today.year else f" {when.year}"
    return f"{when:%a} {when.day} {when:%b}{year}, {when:%H:%M}"


def day_in_words(at: float, zone: str, now: float) -> str:
    """``today, 17:30``, ``tomorrow, 09:00``, ``Friday, 10:00``; further away as ``day_and_time`` says it."""
    place = ZoneInfo(zone)
    when, today = (datetime.fromtimestamp(moment, UTC).astimezone(place) for moment in (at, now))
    ahead = (when.date() - today.date()).days
    day = {0: "today", 1: "tomorrow", -1: "yesterday"}.get(ahead, f"{when:%A}" if abs(ahead) < 7 else "")
    return f"{day}, {when:%H:%M}" if day else day_and_time(at, zone, now)


def greeting(now: float, zone: str) -> str:
    """``Good morning``, by the clock of the zone."""
    hour = datetime.fromtimestamp(now, UTC).astimezone(ZoneInfo(zone)).hour
    return "Good morning" if 5 <= hour < 12 else "Good afternoon" if 12 <= hour < 18 else "Good evening"


def whole_day(now: float, zone: str) -> str:
    """``Saturday 28 February``."""
    when = datetime.fromtimestamp(now, UTC).astimezone(ZoneInfo(zone))
    return f"{when:%A} {when.day} {when:%B}"


def format_duration(seconds: float) -> str:
    """``0.2 s``, ``14 s``, ``3 min 5 s``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
