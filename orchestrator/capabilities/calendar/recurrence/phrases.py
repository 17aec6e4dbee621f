"""When something is due, as people say it: ``tomorrow 9am``, ``in 20 minutes``, ``every weekday at 8``.

Owns which phrases there are. A phrase is understood as a whole or not at all, so nothing that somebody said is dropped;
what it means is a start by a clock on the wall and a repeat rule, as they would be written by hand. Hours are those of
a day of 24 unless they say am or pm. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from orchestrator.capabilities.calendar.recurrence.describe import DAYS, MONTHS
from orchestrator.capabilities.calendar.recurrence.input import DAY_BEGINS, make_plan
from orchestrator.capabilities.calendar.recurrence.occurrences import next_after
from orchestrator.capabilities.calendar.recurrence.rrule import WEEKDAYS
from orchestrator.capabilities.calendar.recurrence.zones import wall_at, zone_named
from orchestrator.core.errors import BadInput
from orchestrator.core.text import in_quotes

EXAMPLES = (
    "tomorrow 9am", "friday 17:00", "3 march at noon", "in 20 minutes", "every weekday at 8", "every friday 17:00",
    "every month on the 1st at 9",
)  # fmt: skip

_CLOCK = r"(?:\d{1,2}(?:[:.]\d{2})?(?: ?[ap]m)?|noon)"
_PLAIN_CLOCK = r"(?:\d{1,2}[:.]\d{2}(?: ?[ap]m)?|\d{1,2} ?[ap]m|noon)"
"""One that is nothing else, without an ``at`` before it."""
_DAY_NAME = "(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:days?)?"
_MONTH_NAME = "(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*"
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": -1}
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "half an": 0.5}
_UNITS = {"minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
_SAME = {
    "hourly": "every hour", "daily": "every day", "weekly": "every week", "monthly": "every month",
    "yearly": "every year", "weekdays": "every weekday", "workdays": "every weekday", "weekends": "every weekend",
}  # fmt: skip
_AT = re.compile(rf"\bat ({_CLOCK}(?: and (?:at )?{_CLOCK})*)(?= |$)")
_BARE = re.compile(rf"(?:^|(?<= ))({_PLAIN_CLOCK}(?: and (?:at )?{_PLAIN_CLOCK})*)(?= |$)")
_AFTER_DAY = re.compile(r"(?:(?<=day )|(?<=tomorrow ))(\d{1,2})$")
_EVERY = re.compile(r"every (?:(other|second|\d{1,3}) )?([a-z]+?)s?(?: on (?:the )?(.+))?")
_OF_EVERY = re.compile(r"(?:on )?(?:the )?(.+) of every (month|year)")
_IN_DATE = re.compile(rf"(\d{{1,2}})(?:st|nd|rd|th|\.)?(?: of)? ({_MONTH_NAME})(?: (\d{{4}}))?")
_DATE_IN = re.compile(rf"({_MONTH_NAME}) (\d{{1,2}})(?:st|nd|rd|th)?(?: (\d{{4}}))?")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOST_DAYS = 366 * 8
"""So far ahead a day is looked for: a 29 February may be eight years away."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """What a phrase means."""

    start: str
    """ISO: a wall time of the person's zone, or a moment with a ``Z``."""
    repeat: str
    """An RRULE; empty for once."""


def read_phrase(text: str, now: datetime, zone: str) -> Phrase:
    """What somebody means who says this at that moment and lives by that zone's clock; raises BadInput with examples
    of what is understood."""
    try:
        said = " ".join(text.casefold().replace(",", " ").replace("each ", "every ").split())
        if (moment := _in_a_while(said, now)) is not None:
            return Phrase(f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z", "")
        words, times = _times_apart(said)
        wall = wall_at(now, zone_named(zone))
        found = _repeated(words, times, now, zone) if _is_repeated(words) else _once(words, times, wall)
    except _NotUnderstoodError as error:
        examples = ", ".join(f"“{example}”" for example in EXAMPLES)
        raise BadInput(f"{in_quotes(text, 60)} is no time that is understood here. Write {examples}.") from error
    if not found.repeat and datetime.fromisoformat(found.start) <= wall:
        raise BadInput(f"{in_quotes(text, 60)} is over already: it would have been {found.start.replace('T', ' ')}.")
    return found


class _NotUnderstoodError(Exception):
    """The phrase, or a part of it, is none of ours."""


# --- times of the day ----------------------------------------------------------------------------------------------


def _times_apart(said: str) -> tuple[str, list[time]]:
    """The phrase without its times, and these."""
    for pattern in (_AT, _BARE, _AFTER_DAY):
        if found := pattern.search(said):
            rest = f"{said[: found.start()]} {said[found.end() :]}"
            clocks = re.split(r" and (?:at )?", found[1])
            return " ".join(rest.split()), [_clock(clock) for clock in clocks]
    return said, []


def _clock(said: str) -> time:
    if said == "noon":
        return time(12)
    hour, minute, half = re.fullmatch(r"(\d+)(?:[:.](\d+))? ?([ap]m)?", said).groups(default="")  # type: ignore[union-attr]
    if half and not 1 <= int(hour) <= 12:
        raise _NotUnderstoodError
    hours = int(hour) % 12 + 12 * (half == "pm") if half else int(hour)
    if hours > 23 or int(minute or 0) > 59:
        raise _NotUnderstoodError
    return time(hours, int(minute or 0))


# --- once ----------------------------------------------------------------------------------------------------------


def _in_a_while(said: str, now: datetime) -> datetime | None:
    """``in 20 minutes``, ``in an hour and 30 minutes``; days and weeks of it are of 24 hours each."""
    if not said.startswith("in "):
        return None
    seconds = 0.0
    for part in re.split(r" and (?=\d|an? )", said.removeprefix("in ")):
        found = re.fullmatch(r"(\d{1,4}|half an|an?|one|two|three) (minute|min|hour|day|week)s?", part)
        if found is None:
            raise _NotUnderstoodError
        count = _NUMBERS.get(found[1]) or float(found[1])
        seconds += count * _UNITS["minute" if found[2] == "min" else found[2]]
    if not seconds:
        raise _NotUnderstoodError
    return now.replace(microsecond=0) + timedelta(seconds=seconds)


def _once(words: str, times: Sequence[time], wall: datetime) -> Phrase:
    if len(times) > 1 or not (words or times):
        raise _NotUnderstoodError
    at = times[0] if times else DAY_BEGINS
    fits = _day(words.removeprefix("on ").removeprefix("the "), wall.date())
    for ahead in range(_MOST_DAYS):
        day = wall.date() + timedelta(days=ahead)
        if fits(day) and (datetime.combine(day, at) > wall or words in ("today", day.isoformat())):
            return Phrase(datetime.combine(day, at).isoformat(timespec="minutes"), "")
    raise _NotUnderstoodError


def _day(words: str, today: date) -> Callable[[date], bool]:
    """Which days are meant; the first of them that is still to come is."""
    exact = {"today": 0, "tomorrow": 1, "day after tomorrow": 2}
    if words in exact:
        wanted = today + timedelta(days=exact[words])
        return lambda day: day == wanted
    if not words:
        return lambda _: True
    if _ISO.fullmatch(words):
        return lambda day: day.isoformat() == words
    if found := re.fullmatch(rf"(this |next )?({_DAY_NAME})", words):
        weekday, is_later = _weekday(found[2]), found[1] == "next "
        return lambda day: day.weekday() == weekday and not (is_later and day == today)
    if found := re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)", words):
        number = int(found[1])
        return lambda day: day.day == number
    month, number, year = _date(words)
    return lambda day: (day.month, day.day) == (month, number) and year in ("", str(day.year))


def _date(words: str) -> tuple[int, int, str]:
    """Month, day and year; raises where there is no such date in any year."""
    if found := _IN_DATE.fullmatch(words):
        number, name, year = found.groups(default="")
    elif found := _DATE_IN.fullmatch(words):
        name, number, year = found.groups(default="")
    else:
        raise _NotUnderstoodError
    months = [n for n, month in enumerate(MONTHS, 1) if month.casefold().startswith(name.removesuffix("t"))]
    if len(months) != 1 or not 1 <= int(number) <= (29 if months[0] == 2 else 31 - (months[0] in (4, 6, 9, 11))):
        raise _NotUnderstoodError
    return months[0], int(number), year


def _weekday(name: str) -> int:
    return next(n for n, day in enumerate(DAYS) if day.casefold().startswith(name[:3]))


# --- again and again -----------------------------------------------------------------------------------------------


def _is_repeated(words: str) -> bool:
    first = words.removeprefix("on ").partition(" ")[0]
    return "every " in f"{words} " or first in _SAME or bool(re.fullmatch(_DAY_NAME, first) and first.endswith("days"))


def _repeated(words: str, times: Sequence[time], now: datetime, zone: str) -> Phrase:
    rule, interval = _rule(words)
    wall = wall_at(now, zone_named(zone))
    if rule.startswith(("FREQ=HOURLY", "FREQ=MINUTELY")):
        if times:
            raise _NotUnderstoodError
        return _through_the_day(rule, interval, wall)
    ordered = sorted(times) or [DAY_BEGINS]
    if len(ordered) > 1:
        if len({at.minute for at in ordered}) > 1:
            raise _NotUnderstoodError
        rule += f";BYHOUR={','.join(str(at.hour) for at in ordered)};BYMINUTE={ordered[0].minute}"
    # The first is the next that fits, however long it is between two.
    plan = make_plan(datetime.combine(wall.date(), ordered[0]), zone, repeat=rule)
    first = next_after(plan, now)
    if first is None:
        raise _NotUnderstoodError
    freq, _, rest = rule.partition(";")
    whole = ";".join(part for part in (freq, f"INTERVAL={interval}" if interval > 1 else "", rest) if part)
    return Phrase(wall_at(first, zone_named(zone)).isoformat(timespec="minutes"), whole)


def _through_the_day(rule: str, interval: int, wall: datetime) -> Phrase:
    """From the next round time on, such as the full hour or the quarter."""
    minutes = interval * (60 if rule == "FREQ=HOURLY" else 1)
    midnight = datetime.combine(wall.date(), time(0))
    step = minutes if 1440 % minutes == 0 else 1
    rounds = (wall - midnight) // timedelta(minutes=step) + 1
    first = midnight + timedelta(minutes=rounds * step)
    return Phrase(first.isoformat(timespec="minutes"), f"{rule};INTERVAL={interval}" if interval > 1 else rule)


def _rule(words: str) -> tuple[str, int]:
    """The rule without its interval, and that."""
    first, _, rest = words.removeprefix("on ").partition(" ")
    if first in _SAME:
        words = f"{_SAME[first]} {rest}".strip()
    elif not words.startswith("every ") and re.fullmatch(_DAY_NAME, first):
        words = f"every {words.removeprefix('on ')}"
    if found := _OF_EVERY.fullmatch(words):
        words = f"every {found[2]} on {found[1]}"
    if (date_rule := _every_date(words)) is not None:
        return date_rule, 1
    found = re.fullmatch(rf"every (?:(other|second|\d{{1,3}}) )?({_DAY_NAME}(?: (?:and )?{_DAY_NAME})*)", words)
    if found:
        return f"FREQ=WEEKLY;BYDAY={_weekdays(found[2])}", _interval(found[1])
    found = _EVERY.fullmatch(words)
    if found is None:
        raise _NotUnderstoodError
    return _of_unit(found[2], found[3] or "", found[1]), _interval(found[1])


def _of_unit(unit: str, on: str, often: str | None) -> str:
    plain = {"minute": "FREQ=MINUTELY", "hour": "FREQ=HOURLY", "day": "FREQ=DAILY"}
    groups = {"weekday": WEEKDAYS[:5], "workday": WEEKDAYS[:5], "weekend": WEEKDAYS[5:]}
    if unit in plain and not on:
        return plain[unit]
    if unit in groups and not on and not often:
        return f"FREQ=WEEKLY;BYDAY={','.join(groups[unit])}"
    if unit == "week":
        return f"FREQ=WEEKLY;BYDAY={_weekdays(on)}" if on else "FREQ=WEEKLY"
    if unit == "month":
        return f"FREQ=MONTHLY;{_in_month(on)}" if on else "FREQ=MONTHLY"
    if unit == "year":
        month, number, year = _date(on) if on else (0, 0, "")
        if not year:
            return f"FREQ=YEARLY;BYMONTH={month};BYMONTHDAY={number}" if on else "FREQ=YEARLY"
    raise _NotUnderstoodError


def _every_date(words: str) -> str | None:
    """``every 24 december``"""
    try:
        return _of_unit("year", words.removeprefix("every ").removeprefix("year on "), None)
    except _NotUnderstoodError:
        return None


def _interval(often: str | None) -> int:
    count = 1 if often is None else 2 if often in ("other", "second") else int(often)
    if not count:
        raise _NotUnderstoodError
    return count


def _weekdays(words: str) -> str:
    names = re.sub(r"\band\b", " ", words).split()
    if not all(re.fullmatch(_DAY_NAME, name) for name in names):
        raise _NotUnderstoodError
    return ",".join(WEEKDAYS[day] for day in sorted({_weekday(name) for name in names}))


def _in_month(words: str) -> str:
    """Days by their numbers, the last one, or a weekday by its place."""
    parts = [part.removeprefix("the ") for part in words.split(" and ")]
    if all(re.fullmatch(r"\d{1,2}(?:st|nd|rd|th|\.)?|last day", part) for part in parts):
        numbers = [-1 if part == "last day" else int(re.sub(r"\D", "", part)) for part in parts]
        if any(number == 0 or number > 31 for number in numbers):
            raise _NotUnderstoodError
        return f"BYMONTHDAY={','.join(map(str, sorted(set(numbers), key=lambda n: (n < 0, n))))}"
    places = [re.fullmatch(rf"(first|second|third|fourth|last|[1-4](?:st|nd|rd|th)) ({_DAY_NAME})", p) for p in parts]
    if not all(places):
        raise _NotUnderstoodError
    return "BYDAY=" + ",".join(
        f"{_ORDINALS.get(place[1]) or place[1][0]}{WEEKDAYS[_weekday(place[2])]}" for place in places if place
    )
