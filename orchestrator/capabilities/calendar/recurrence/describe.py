"""A plan in words for people: ``every weekday at 09:00``, ``on the 1st of each month at 18:30``.

Says plainly what is common; what no short sentence can say is given as it was written, never wrongly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime

from orchestrator.capabilities.calendar.recurrence.cron import Cron, as_rule
from orchestrator.capabilities.calendar.recurrence.occurrences import Plan
from orchestrator.capabilities.calendar.recurrence.rrule import Freq, Rule
from orchestrator.capabilities.calendar.recurrence.zones import wall_at, zone_named

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_UNITS = {
    Freq.YEARLY: "year", Freq.MONTHLY: "month", Freq.WEEKLY: "week", Freq.DAILY: "day",
    Freq.HOURLY: "hour", Freq.MINUTELY: "minute",
}  # fmt: skip
_MOST_TIMES = 6
_WORKDAYS, _WEEKEND, _WEEK = [0, 1, 2, 3, 4], [5, 6], [0, 1, 2, 3, 4, 5, 6]


def describe_plan(plan: Plan) -> str:
    """When it comes due, without a capital and a full stop."""
    if plan.repeat is None:
        return f"once on {_day(plan.start)} at {_clock(plan.start)}"
    rule = as_rule(plan.repeat) if isinstance(plan.repeat, Cron) else plan.repeat
    said = _said(rule, plan.start) if rule else None
    if said is None:
        said = f"by the {'cron line' if isinstance(plan.repeat, Cron) else 'rule'} {plan.repeat}"
    return said + _limits(plan, rule)


# --- how often -----------------------------------------------------------------------------------------------------


def _said(rule: Rule, start: datetime) -> str | None:
    if rule.weeks or rule.year_days:
        return None
    if rule.freq in (Freq.HOURLY, Freq.MINUTELY):
        return _through_the_day(rule, start)
    days = _days(rule, start)
    times = _times(rule, start)
    return f"{days} at {times}" if days and times else None


def _through_the_day(rule: Rule, start: datetime) -> str | None:
    if rule.freq is Freq.MINUTELY:
        if rule.minutes or rule.hours:
            return None
        often = _every(rule)
    else:
        minutes = rule.minutes or (start.minute,)
        step = 60 // len(minutes)
        if rule.hours:
            return None
        if len(minutes) > 1 and rule.interval == 1 and minutes == tuple(range(0, 60, step)):
            often = "every minute" if step == 1 else f"every {step} minutes"
        elif minutes == (0,):
            often = _every(rule)
        else:
            often = f"{_every(rule)} at {_listed(f':{minute:02}' for minute in minutes)}"
    on = f" on {_weekdays(rule)}" if rule.days else ""
    return f"{often}{on}{_in_months(rule)}"


def _days(rule: Rule, start: datetime) -> str | None:
    if rule.positions:
        return _placed(rule)
    if rule.freq is Freq.YEARLY:
        return _yearly(rule, start)
    if rule.freq is Freq.MONTHLY:
        return _monthly(rule, start)
    if rule.month_days:
        return None
    days = [day for _, day in rule.days] or ([start.weekday()] if rule.freq is Freq.WEEKLY else _WEEK)
    if rule.interval > 1:
        on = f" on {_named_days(days)}" if days != _WEEK or rule.freq is Freq.WEEKLY else ""
        return f"{_every(rule)}{on}{_in_months(rule)}"
    if days == _WEEK:
        return f"every day{_in_months(rule)}"
    plain = {tuple(_WORKDAYS): "every weekday", tuple(_WEEKEND): "every Saturday and Sunday"}
    return plain.get(tuple(days), f"every {_named_days(days)}") + _in_months(rule)


def _monthly(rule: Rule, start: datetime) -> str | None:
    if rule.days and rule.month_days:
        return None
    if rule.days:
        on = _nth_weekdays(rule.days)
        if on is None:
            return None
    else:
        on = f"the {_listed(_ordinal(day) for day in rule.month_days or (start.day,))}"
        on += " day" if all(day < 0 for day in rule.month_days or (start.day,)) else ""
    of = _of_months(rule) if rule.months else f"each {_nth_unit(rule)}month"
    return f"on {on} of {of}" if rule.interval == 1 or not rule.months else None


def _yearly(rule: Rule, start: datetime) -> str | None:
    if rule.days or (rule.months and not rule.month_days and len(rule.months) > 1):
        return None
    if rule.month_days and not rule.months:
        return None
    days = rule.month_days or (start.day,)
    if min(days) < 0:
        return None
    on = _listed(f"{day} {MONTHS[month - 1]}" for month in rule.months or (start.month,) for day in days)
    return f"{_every(rule)} on {on}"


def _placed(rule: Rule) -> str | None:
    """The one use of BYSETPOS that everybody knows: the first or last working day of a month."""
    is_working_day = rule.days == tuple((0, day) for day in _WORKDAYS)
    if rule.freq is not Freq.MONTHLY or not is_working_day or rule.month_days or rule.months or len(rule.positions) > 1:
        return None
    return f"on the {_ordinal(rule.positions[0])} weekday of each {_nth_unit(rule)}month"


# --- parts of sentences --------------------------------------------------------------------------------------------


def _every(rule: Rule) -> str:
    unit = _UNITS[rule.freq]
    return f"every {unit}" if rule.interval == 1 else f"every {rule.interval} {unit}s"


def _nth_unit(rule: Rule) -> str:
    return "" if rule.interval == 1 else f"{_ordinal(rule.interval)} "


def _times(rule: Rule, start: datetime) -> str | None:
    hours, minutes = rule.hours or (start.hour,), rule.minutes or (start.minute,)
    times = [f"{hour:02}:{minute:02}" for hour in hours for minute in minutes]
    return _listed(times) if len(times) <= _MOST_TIMES else None


def _weekdays(rule: Rule) -> str:
    return _named_days([day for _, day in rule.days])


def _named_days(days: Sequence[int]) -> str:
    return "weekdays" if list(days) == _WORKDAYS else _listed(DAYS[day] for day in days)


def _nth_weekdays(days: Sequence[tuple[int, int]]) -> str | None:
    if any(nth == 0 for nth, _ in days):
        return f"every {_listed(DAYS[day] for _, day in days)}" if all(nth == 0 for nth, _ in days) else None
    return f"the {_listed(f'{_ordinal(nth)} {DAYS[day]}' for nth, day in days)}"


def _in_months(rule: Rule) -> str:
    return f" in {_of_months(rule)}" if rule.months else ""


def _of_months(rule: Rule) -> str:
    return _listed(MONTHS[month - 1] for month in rule.months)


def _limits(plan: Plan, rule: Rule | None) -> str:
    said = ""
    if rule and rule.count:
        said += f", {rule.count} times" if rule.count > 1 else ", once"
    ends = [end for end in (rule.until if rule else None, plan.until) if end is not None]
    zone = zone_named(plan.zone)
    walls = [wall_at(end, zone) if isinstance(end, datetime) and end.tzinfo else end for end in ends]
    if walls:
        said += f", until {_day(min(walls, key=lambda end: (end.year, end.month, end.day)))}"
    if plan.without:
        said += f", with {len(plan.without)} exception{'s' * (len(plan.without) > 1)}"
    return said


def _day(day: date) -> str:
    return f"{DAYS[day.weekday()][:3]} {day.day} {MONTHS[day.month - 1][:3]} {day.year}"


def _clock(wall: datetime) -> str:
    return f"{wall:%H:%M}"


def _ordinal(number: int) -> str:
    if number < 0:
        return "last" if number == -1 else f"{_ordinal(-number)} to last"
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
