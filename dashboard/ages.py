"""Times as people say them: how long ago, how soon, how long it took. The exact time is beside it, in the person's
zone. Pure.
"""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from orchestrator.languages.dates import write_clock, write_date
from orchestrator.languages.numbers import respell_numbers
from orchestrator.languages.speech import IN_ENGLISH, SpokenLanguage


def format_relative(at: float, now: float, speech: SpokenLanguage = IN_ENGLISH) -> str:
    """``just now``, ``3 min ago``, ``in 2 h``."""
    seconds = abs(now - at)
    if seconds < 45:
        return speech.say("just now") if at <= now else speech.say("in less than a minute")
    if seconds >= 86_400:
        count = max(1, round(seconds / 86_400))
        if at <= now:
            return speech.say_many("%(count)s day ago", "%(count)s days ago", count)
        return speech.say_many("in %(count)s day", "in %(count)s days", count)
    if seconds >= 3_600:
        count = max(1, round(seconds / 3_600))
        return speech.say("%(count)s h ago", count=count) if at <= now else speech.say("in %(count)s h", count=count)
    count = max(1, round(seconds / 60))
    return speech.say("%(count)s min ago", count=count) if at <= now else speech.say("in %(count)s min", count=count)


def format_exact(at: float, zone: str, speech: SpokenLanguage = IN_ENGLISH) -> str:
    """``Sat 28 Feb 2026, 10:00:00 CET``."""
    when = datetime.fromtimestamp(at, UTC).astimezone(ZoneInfo(zone))
    day = write_date(when, "%a %d %b %Y", "yMMMEd", speech.language)
    return f"{day}, {when:%H:%M:%S %Z}"


def day_and_time(at: float, zone: str, now: float, speech: SpokenLanguage = IN_ENGLISH) -> str:
    """``Sat 28 Feb, 10:00``, with the year where it is another one."""
    place = ZoneInfo(zone)
    when, today = (datetime.fromtimestamp(moment, UTC).astimezone(place) for moment in (at, now))
    is_near = when.year == today.year
    day = write_date(
        when, "%a %-d %b" if is_near else "%a %-d %b %Y", "MMMEd" if is_near else "yMMMEd", speech.language
    )
    return f"{day}, {write_clock(when, speech.language)}"


def day_in_words(at: float, zone: str, now: float, speech: SpokenLanguage = IN_ENGLISH) -> str:
    """``today, 17:30``, ``tomorrow, 09:00``, ``Friday, 10:00``; further away as ``day_and_time`` says it."""
    place = ZoneInfo(zone)
    when, today = (datetime.fromtimestamp(moment, UTC).astimezone(place) for moment in (at, now))
    ahead = (when.date() - today.date()).days
    if abs(ahead) >= 7:
        return day_and_time(at, zone, now, speech)
    near = {0: speech.say("today"), 1: speech.say("tomorrow"), -1: speech.say("yesterday")}
    day = near.get(ahead) or write_date(when, "%A", "EEEE", speech.language)
    return f"{day}, {write_clock(when, speech.language)}"


def greeting(now: float, zone: str, speech: SpokenLanguage = IN_ENGLISH) -> str:
    """``Good morning``, by the clock of the zone."""
    hour = datetime.fromtimestamp(now, UTC).astimezone(ZoneInfo(zone)).hour
    if 5 <= hour < 12:
        return speech.say("Good morning")
    return speech.say("Good afternoon") if 12 <= hour < 18 else speech.say("Good evening")


def whole_day(now: float, zone: str, speech: SpokenLanguage = IN_ENGLISH) -> str:
    """``Saturday 28 February``."""
    when = datetime.fromtimestamp(now, UTC).astimezone(ZoneInfo(zone))
    return write_date(when, "%A %-d %B", "MMMMEEEEd", speech.language)


def format_duration(seconds: float, speech: SpokenLanguage = IN_ENGLISH) -> str:
    """``0.2 s``, ``14 s``, ``3 min 5 s``."""
    if seconds < 10:
        return respell_numbers(f"{seconds:.1f} s", speech.language)
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
