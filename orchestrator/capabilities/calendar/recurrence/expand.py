"""The times of a wall clock at which something repeats, in order, from anywhere on, and never for ever.

Expanding rules is dateutil's work. It looks for the next time up to the year 9999, however long that takes, so it is
never given far to go: it works in the last four centuries that it knows, which are like ours to the weekday, and starts
just before the time asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from itertools import islice, takewhile

from cronsim import CronSim
from dateutil import rrule

from orchestrator.capabilities.calendar.recurrence.cron import Cron, read_cron
from orchestrator.capabilities.calendar.recurrence.rrule import Freq, Rule, read_rule
from orchestrator.capabilities.calendar.recurrence.zones import LAST_YEAR

Repeat = Rule | Cron

_CYCLES = 7600
"""Years that lead into dateutil's last centuries: the calendar repeats every 400 years, weekdays included."""
_CONSTANTS = {
    Freq.YEARLY: rrule.YEARLY, Freq.MONTHLY: rrule.MONTHLY, Freq.WEEKLY: rrule.WEEKLY,
    Freq.DAILY: rrule.DAILY, Freq.HOURLY: rrule.HOURLY, Freq.MINUTELY: rrule.MINUTELY,
}  # fmt: skip
_STEPS = {
    Freq.WEEKLY: timedelta(weeks=1), Freq.DAILY: timedelta(days=1),
    Freq.HOURLY: timedelta(hours=1), Freq.MINUTELY: timedelta(minutes=1),
}  # fmt: skip


def read_repeat(text: str) -> Repeat:
    """A rule of RFC 5545 or a cron line; raises BadInput."""
    return read_rule(text) if "=" in text else read_cron(text)


def wall_times(repeat: Repeat, start: datetime, after: datetime) -> Iterator[datetime]:
    """The wall times from ``start`` on that are not before ``after``, up to the end of the calendar."""
    if max(start, after).year > LAST_YEAR:
        return iter(())
    found = _of_cron(repeat, max(start, after)) if isinstance(repeat, Cron) else _of_rule(repeat, start, after)
    return takewhile(lambda wall: wall.year <= LAST_YEAR, found)


def _of_cron(cron: Cron, first: datetime) -> Iterator[datetime]:
    # cronsim drops the microseconds of where it starts, and begins behind it.
    return (wall for wall in CronSim(cron.line, first - timedelta(seconds=1)) if wall >= first)


def _of_rule(rule: Rule, start: datetime, after: datetime) -> Iterator[datetime]:
    base = _base(rule, start, start if rule.count else max(start, after))
    found: Iterator[datetime] = (wall.replace(year=wall.year - _CYCLES) for wall in _expanded(rule, start, base))
    found = islice((wall for wall in found if wall >= start), rule.count)
    if rule.until is not None:
        found = takewhile(_ends(rule), found)
    return (wall for wall in found if wall >= after)


def _expanded(rule: Rule, start: datetime, base: datetime) -> Iterator[datetime]:
    """Dateutil's times from ``base`` on, both in its last centuries."""
    expand: Callable[..., Iterable[datetime]] = rrule.rrule
    begin = base.replace(year=base.year + _CYCLES)
    given = _restrictions(rule, start)
    try:
        yield from expand(_CONSTANTS[rule.freq], dtstart=begin, interval=rule.interval, wkst=rule.week_start, **given)
    except ValueError:  # dateutil sees that what steps by whole days never comes to another hour
        return


def _ends(rule: Rule) -> Callable[[datetime], bool]:
    """Whether a wall time is within the rule's end, so far as walls can tell; a moment is for the plan to hold."""
    until = rule.until
    if isinstance(until, datetime):
        return lambda wall: until.tzinfo is not None or wall <= until
    return lambda wall: until is None or wall.date() <= until


def _base(rule: Rule, start: datetime, wanted: datetime) -> datetime:
    """The beginning of a period of the rule, in step with its start, and at or shortly before ``wanted``.

    From the beginning of a period, since a place in it (BYSETPOS) counts the whole of it.
    """
    midnight = start.replace(hour=0, minute=0, second=0, microsecond=0)
    if rule.freq in (Freq.YEARLY, Freq.MONTHLY):
        size = 12 if rule.freq is Freq.YEARLY else 1
        first = start.year * 12 + (start.month - 1 if size == 1 else 0)
        passed = (wanted.year * 12 + wanted.month - 1 - first) // (size * rule.interval)
        year, month = divmod(first + passed * size * rule.interval, 12)
        return midnight.replace(year=year, month=month + 1, day=1)
    begin = {
        Freq.WEEKLY: midnight - timedelta(days=(start.weekday() - rule.week_start) % 7),
        Freq.DAILY: midnight,
        Freq.HOURLY: start.replace(minute=0, second=0, microsecond=0),
        Freq.MINUTELY: start.replace(second=0, microsecond=0),
    }[rule.freq]
    step = _STEPS[rule.freq] * rule.interval
    return begin + (wanted - begin) // step * step


def _restrictions(rule: Rule, start: datetime) -> dict[str, object]:
    """What dateutil is to be told, with all that RFC 5545 takes from the start written out."""
    given: dict[str, object] = {
        "bymonth": rule.months,
        "byweekno": rule.weeks,
        "byyearday": rule.year_days,
        "bymonthday": rule.month_days,
        "byweekday": tuple(rrule.weekday(day, nth or None) for nth, day in rule.days),
        "byhour": rule.hours,
        "byminute": rule.minutes,
        "bysetpos": rule.positions,
        "bysecond": (start.second,),
    }
    names_days = any((rule.weeks, rule.year_days, rule.month_days, rule.days))
    implied: dict[str, tuple[bool, tuple[int, ...]]] = {
        "bymonth": (rule.freq is Freq.YEARLY and not names_days, (start.month,)),
        "bymonthday": (rule.freq in (Freq.YEARLY, Freq.MONTHLY) and not names_days, (start.day,)),
        "byweekday": (rule.freq is Freq.WEEKLY and not names_days, (start.weekday(),)),
        "byhour": (rule.freq not in (Freq.HOURLY, Freq.MINUTELY), (start.hour,)),
        "byminute": (rule.freq is not Freq.MINUTELY, (start.minute,)),
    }
    for name, (applies, value) in implied.items():
        if applies and not given[name]:
            given[name] = value
    return {name: value for name, value in given.items() if value}
