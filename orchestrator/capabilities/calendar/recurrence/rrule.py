"""Repeat rules of RFC 5545 (``FREQ=WEEKLY;BYDAY=MO``): read strictly, into parts with bounds, and written again.

Owns which rules there are. What is not taken says so: seconds, parts that only make sense for other frequencies, and
numbers so large that nobody means them. Whether a rule ever comes due is not seen here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import date, datetime
from enum import StrEnum
from types import MappingProxyType

from orchestrator.core.errors import BadInput

MAX_CHARS = 300
MAX_COUNT = 1000
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")

_FORM = "a rule such as FREQ=WEEKLY;BYDAY=MO,WE;BYHOUR=9;BYMINUTE=0"
_DAY = re.compile(r"([+-]?[0-9]{1,2})?(MO|TU|WE|TH|FR|SA|SU)")
_UNTIL = re.compile(r"([0-9]{4})[0-9]{4}(T[0-9]{6}Z?)?")
_LONGEST_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Freq(StrEnum):
    """How often, roughly."""

    YEARLY = "YEARLY"
    MONTHLY = "MONTHLY"
    WEEKLY = "WEEKLY"
    DAILY = "DAILY"
    HOURLY = "HOURLY"
    MINUTELY = "MINUTELY"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule in parts; an empty part does not restrict, or is taken from the start, as RFC 5545 says."""

    freq: Freq
    interval: int = 1
    count: int | None = None
    until: date | datetime | None = None
    """The last moment (with a zone), wall time (without) or day (a date) on which it may come due."""
    months: tuple[int, ...] = ()
    weeks: tuple[int, ...] = ()
    year_days: tuple[int, ...] = ()
    month_days: tuple[int, ...] = ()
    days: tuple[tuple[int, int], ...] = ()
    """Which of them (0: each, -1: the last) and the weekday (0: Monday)."""
    hours: tuple[int, ...] = ()
    minutes: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()
    week_start: int = 0

    @property
    def is_hourly(self) -> bool:
        """It comes due each hour or more often, so that an hour which comes twice is no reason to pause."""
        return (self.freq is Freq.HOURLY and self.interval == 1) or (self.freq is Freq.MINUTELY and self.interval <= 60)

    def __str__(self) -> str:
        """The rule as RFC 5545 writes it."""
        return ";".join(f"{part}={text}" for part, text in _written(self))


@dataclass(frozen=True, slots=True)
class _Numbers:
    """A part that is a list of numbers: its field, its bounds, and the frequencies that it is for."""

    field: str
    most: int
    least: int
    frequencies: frozenset[Freq]
    may_be_negative: bool = False


_ALL = frozenset(Freq)
_FROM_DAYS = _ALL - {Freq.HOURLY, Freq.MINUTELY}
_LISTS: Mapping[str, _Numbers] = MappingProxyType(
    {
        "BYMONTH": _Numbers("months", 12, 1, _ALL),
        "BYWEEKNO": _Numbers("weeks", 53, 1, frozenset({Freq.YEARLY}), may_be_negative=True),
        "BYYEARDAY": _Numbers("year_days", 366, 1, frozenset({Freq.YEARLY}), may_be_negative=True),
        "BYMONTHDAY": _Numbers("month_days", 31, 1, _FROM_DAYS - {Freq.WEEKLY}, may_be_negative=True),
        "BYHOUR": _Numbers("hours", 23, 0, _ALL),
        "BYMINUTE": _Numbers("minutes", 59, 0, _ALL),
        "BYSETPOS": _Numbers("positions", 366, 1, _FROM_DAYS - {Freq.DAILY}, may_be_negative=True),
    }
)
_MOST_INTERVAL = {
    Freq.YEARLY: 50, Freq.MONTHLY: 600, Freq.WEEKLY: 520, Freq.DAILY: 3660, Freq.HOURLY: 168, Freq.MINUTELY: 1440,
}  # fmt: skip


def read_rule(text: str) -> Rule:
    """The rule; raises BadInput with the part that is wrong."""
    parts = _parts(text)
    try:
        freq = Freq(parts.pop("FREQ", ""))
    except ValueError as error:
        raise _bad(f"FREQ must be one of {', '.join(Freq)}; {_FORM}") from error
    if parts.pop("BYSECOND", "0") not in ("0", "00"):
        raise _bad("BYSECOND is not taken: things come due on the minute")
    values: dict[str, object] = {}
    for name, value in parts.items():
        if name in _LISTS:
            values[_LISTS[name].field] = _numbers(name, value, freq)
        elif name in _SINGLE:
            values[_SINGLE[name][0]] = _SINGLE[name][1](value, freq)
        else:
            raise _bad(f"there is no part {name[:20]!a}; {_FORM}")
    if "COUNT" in parts and "UNTIL" in parts:
        raise _bad("give COUNT or UNTIL, not both")
    return _checked(_rule(freq, values))


# --- reading -------------------------------------------------------------------------------------------------------


def _rule(freq: Freq, values: Mapping[str, object]) -> Rule:
    build: Callable[..., Rule] = Rule
    return build(freq, **values)


def _parts(text: str) -> dict[str, str]:
    plain = "".join(text.split()).upper().removeprefix("RRULE:").strip(";")
    if len(text) > MAX_CHARS or "=" not in plain:
        raise _bad(f"it must be {_FORM}, at most {MAX_CHARS} characters")
    parts: dict[str, str] = {}
    for part in plain.split(";"):
        name, equals, value = part.partition("=")
        if not equals or not value:
            raise _bad(f"{name[:20]!a} has no value; {_FORM}")
        if name in parts:
            raise _bad(f"{name[:20]!a} is there twice")
        parts[name] = value
    return parts


def _numbers(name: str, text: str, freq: Freq) -> tuple[int, ...]:
    spec = _LISTS[name]
    if freq not in spec.frequencies:
        fitting = " or ".join(f"FREQ={f}" for f in Freq if f in spec.frequencies)
        raise _bad(f"{name} is for {fitting}, not for FREQ={freq}")
    found = set()
    for item in text.split(","):
        number = _number(item)
        size = number if number is None or not spec.may_be_negative else abs(number)
        if number is None or size is None or not spec.least <= size <= spec.most:
            below = f" or -{spec.most} to -{spec.least}" if spec.may_be_negative else ""
            raise _bad(f"{name} must be {spec.least} to {spec.most}{below}, not {item[:20]!a}")
        found.add(number)
    return tuple(sorted(found))


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,6}", text) else None


def _interval(text: str, freq: Freq) -> int:
    number = _number(text)
    if number is None or not 1 <= number <= _MOST_INTERVAL[freq]:
        raise _bad(f"INTERVAL must be 1 to {_MOST_INTERVAL[freq]} for FREQ={freq}, not {text[:20]!a}")
    return number


def _count(text: str, _freq: Freq) -> int:
    number = _number(text)
    if number is None or not 1 <= number <= MAX_COUNT:
        raise _bad(f"COUNT must be 1 to {MAX_COUNT}, not {text[:20]!a}")
    return number


def _until(text: str, _freq: Freq) -> date | datetime:
    found = _UNTIL.fullmatch(text)
    try:
        if found and 1 < int(found[1]) < 9999:
            return datetime.fromisoformat(text) if found[2] else date.fromisoformat(text)
    except ValueError:
        pass
    raise _bad(f"UNTIL must be a day such as 20261231, or a time such as 20261231T230000Z, not {text[:20]!a}")


def _days(text: str, freq: Freq) -> tuple[tuple[int, int], ...]:
    found = set()
    for item in text.split(","):
        match = _DAY.fullmatch(item)
        nth = int(match[1] or 0) if match else 0
        most = {Freq.YEARLY: 53, Freq.MONTHLY: 5}.get(freq, 0)
        if not match or abs(nth) > most or (match[1] and nth == 0):
            raise _bad(
                f"BYDAY must be MO, TU, WE, TH, FR, SA or SU, not {item[:20]!a}; which one (1MO, -1FR) is for months"
            )
        found.add((nth, WEEKDAYS.index(match[2])))
    return tuple(sorted(found))


def _week_start(text: str, _freq: Freq) -> int:
    if text not in WEEKDAYS:
        raise _bad(f"WKST must be a day such as MO, not {text[:20]!a}")
    return WEEKDAYS.index(text)


_SINGLE: Mapping[str, tuple[str, Callable[[str, Freq], object]]] = MappingProxyType(
    {
        "INTERVAL": ("interval", _interval),
        "COUNT": ("count", _count),
        "UNTIL": ("until", _until),
        "BYDAY": ("days", _days),
        "WKST": ("week_start", _week_start),
    }
)


def _checked(rule: Rule) -> Rule:
    """What would never come due at all is refused at once."""
    if rule.months and rule.month_days:
        longest = max(_LONGEST_MONTHS[month - 1] for month in rule.months)
        if min(abs(day) for day in rule.month_days) > longest:
            raise _bad("no such month has that day, so it would never come due")
    if rule.months and any(abs(nth) > 5 for nth, _ in rule.days):
        raise _bad("no month has more than five of a weekday, so BYDAY would never fit")
    if rule.weeks and any(nth for nth, _ in rule.days):
        raise _bad("BYDAY with a number does not go with BYWEEKNO")
    if rule.positions and not any((rule.days, rule.month_days, rule.year_days, rule.weeks, rule.months, rule.hours)):
        raise _bad("BYSETPOS needs something to choose from, such as BYDAY=MO,TU,WE,TH,FR")
    if rule.positions and min(abs(place) for place in rule.positions) > _most_at_once(rule):
        raise _bad("BYSETPOS is larger than the number of times to choose from, so it would never come due")
    return rule


def _most_at_once(rule: Rule) -> int:
    """How many times one period of the rule can hold."""
    longest = {Freq.YEARLY: 366, Freq.MONTHLY: 31}.get(rule.freq, len(rule.days) or 1)
    if rule.days and rule.freq is Freq.MONTHLY:
        longest = min(longest, sum(1 if nth else 5 for nth, _ in rule.days))
    listed = rule.month_days if rule.freq is Freq.MONTHLY else rule.year_days
    longest = min(longest, len(listed) or longest)
    return longest * (len(rule.hours) or 1) * (len(rule.minutes) or 1)


def _bad(what: str) -> BadInput:
    return BadInput(f"repeat: {what}.")


# --- writing -------------------------------------------------------------------------------------------------------


def _written(rule: Rule) -> list[tuple[str, str]]:
    parts = [("FREQ", str(rule.freq))]
    if rule.interval != 1:
        parts.append(("INTERVAL", str(rule.interval)))
    if rule.count is not None:
        parts.append(("COUNT", str(rule.count)))
    if rule.until is not None:
        parts.append(("UNTIL", _written_until(rule.until)))
    lists = {field.name: getattr(rule, field.name) for field in fields(rule)}
    parts += [(name, ",".join(map(str, lists[spec.field]))) for name, spec in _LISTS.items() if lists[spec.field]]
    if rule.days:
        parts.append(("BYDAY", ",".join(f"{nth or ''}{WEEKDAYS[day]}" for nth, day in rule.days)))
    if rule.week_start:
        parts.append(("WKST", WEEKDAYS[rule.week_start]))
    return parts


def _written_until(until: date | datetime) -> str:
    if not isinstance(until, datetime):
        return f"{until.year:04}{until:%m%d}"
    return f"{until.year:04}{until:%m%dT%H%M%S}{'Z' if until.tzinfo else ''}"
