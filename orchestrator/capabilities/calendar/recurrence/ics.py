"""Entries as iCalendar text (RFC 5545), for a feed that calendar apps read.

What happens once is in UTC, which every app shows right. What repeats keeps its wall clock by the zone's IANA name,
which the common apps know without being sent the zone's rules. What no single rule says, such as a cron line of days
*or* weekdays, is listed time by time for a while. Nothing that somebody wrote can add a line or a property.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

from orchestrator.capabilities.calendar.recurrence.cron import Cron, as_rule
from orchestrator.capabilities.calendar.recurrence.expand import wall_times
from orchestrator.capabilities.calendar.recurrence.occurrences import Plan, list_between, next_after
from orchestrator.capabilities.calendar.recurrence.rrule import Rule
from orchestrator.capabilities.calendar.recurrence.zones import moment_of, wall_at, zone_named

LISTED_DAYS = 92
MOST_LISTED = 200
MAX_OCTETS = 75
"""The longest line, as the RFC has it; longer ones go on in the next."""
SHOWN_LENGTH = timedelta(minutes=15)
"""How long an entry is shown that has no end of its own."""

_TICK = timedelta(microseconds=1)
_COLOR_NAME = re.compile(r"[a-z]{3,20}")
_UID = re.compile(r"[^A-Za-z0-9@._-]")


@dataclass(frozen=True, slots=True)
class IcsEntry:
    """One entry of the calendar."""

    uid: str
    """The same for ever, and in the whole world, such as ``7.2f9c@hermitshell``."""
    title: str
    text: str
    plan: Plan
    changed_at: datetime
    length: timedelta = SHOWN_LENGTH
    color: str = ""


def write_feed(name: str, entries: Iterable[IcsEntry], *, now: datetime) -> str:
    """The whole calendar as text, with the line ends that the RFC wants."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//HermitShell//Calendar//EN", "CALSCALE:GREGORIAN"]
    lines += ["METHOD:PUBLISH", f"X-WR-CALNAME:{_escaped(name)}"]
    for entry in entries:
        lines += _events(entry, now)
    lines.append("END:VCALENDAR")
    return "".join(f"{folded}\r\n" for line in lines for folded in _folded(line))


# --- one entry -----------------------------------------------------------------------------------------------------


def _events(entry: IcsEntry, now: datetime) -> Iterator[str]:
    plan = entry.plan
    if plan.repeat is None:
        yield from _event(entry, entry.uid, [f"DTSTART:{_utc(moment_of(plan.start, zone_named(plan.zone)))}"])
        return
    rule = as_rule(plan.repeat) if isinstance(plan.repeat, Cron) else plan.repeat
    if rule is not None:
        when = _repeating(plan, rule)
        yield from _event(entry, entry.uid, when) if when else ()
        return
    for moment in list_between(plan, now, now + timedelta(days=LISTED_DAYS), limit=MOST_LISTED):
        yield from _event(entry, f"{entry.uid}-{_utc(moment)}", [f"DTSTART:{_utc(moment)}"])


def _event(entry: IcsEntry, uid: str, when: list[str]) -> Iterator[str]:
    yield "BEGIN:VEVENT"
    yield f"UID:{_UID.sub('-', uid)}"
    yield f"DTSTAMP:{_utc(entry.changed_at)}"
    yield from when
    yield f"DURATION:PT{max(0, round(entry.length.total_seconds() / 60))}M"
    yield f"SUMMARY:{_escaped(entry.title)}"
    if entry.text:
        yield f"DESCRIPTION:{_escaped(entry.text)}"
    if _COLOR_NAME.fullmatch(entry.color):
        yield f"COLOR:{entry.color}"
    yield "TRANSP:TRANSPARENT"
    yield "END:VEVENT"


def _repeating(plan: Plan, rule: Rule) -> list[str]:
    """Start, rule and exceptions; nothing when it never comes due."""
    # For calendar apps the start is always a time of its own, so it is the first time that there is.
    first = next(wall_times(plan.repeat or rule, plan.start, plan.start), None)
    if first is None or next_after(replace(plan, without=()), moment_of(first, zone_named(plan.zone)) - _TICK) is None:
        return []
    lines = [f"DTSTART{_wall(first, plan.zone)}", f"RRULE:{_bounded(plan, rule)}"]
    return lines + [f"EXDATE{_wall(wall, plan.zone)}" for wall in _exceptions(plan)]


def _bounded(plan: Plan, rule: Rule) -> Rule:
    """The rule with one end, in UTC as the RFC wants it beside a start with a zone; a count has no end beside it."""
    zone = zone_named(plan.zone)
    ends = [end for end in (_moment(rule.until, plan), plan.until) if end is not None]
    if not ends:
        return rule
    if rule.count is None:
        return replace(rule, until=min(ends).astimezone(UTC))
    counted = sum(moment_of(wall, zone) <= min(ends) for wall in wall_times(rule, plan.start, plan.start))
    return replace(rule, count=max(1, counted))


def _moment(until: date | datetime | None, plan: Plan) -> datetime | None:
    if until is None or (isinstance(until, datetime) and until.tzinfo is not None):
        return until
    last = until if isinstance(until, datetime) else datetime(until.year, until.month, until.day, 23, 59, 59)  # noqa: DTZ001  # a wall clock
    return moment_of(last, zone_named(plan.zone))


def _exceptions(plan: Plan) -> Iterator[datetime]:
    """The wall times that are left out; a day stands for each of its times."""
    zone = zone_named(plan.zone)
    for left_out in plan.without:
        if isinstance(left_out, datetime):
            yield wall_at(left_out, zone)
        elif plan.repeat is not None:
            begin = datetime(left_out.year, left_out.month, left_out.day)  # noqa: DTZ001  # a wall clock
            for wall in wall_times(plan.repeat, plan.start, begin):
                if wall.date() != left_out:
                    break
                yield wall


# --- text ----------------------------------------------------------------------------------------------------------


def _utc(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def _wall(wall: datetime, zone: str) -> str:
    return f":{wall:%Y%m%dT%H%M%S}Z" if zone == "UTC" else f";TZID={zone}:{wall:%Y%m%dT%H%M%S}"


def _escaped(text: str) -> str:
    plain = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode()
    kept = "".join(char for char in plain if char in "\n\t" or unicodedata.category(char) != "Cc")
    escaped = kept.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,")
    return re.sub(r"[\n\u2028\u2029]", r"\\n", escaped)


def _folded(line: str) -> Iterator[str]:
    """The line in pieces that are short enough, never cut within a character; all but the first begin with a space."""
    piece: list[str] = []
    size = 0
    for char in line:
        octets = len(char.encode())
        if size + octets > MAX_OCTETS:
            yield "".join(piece)
            piece, size = [" "], 1
        piece.append(char)
        size += octets
    yield "".join(piece)
