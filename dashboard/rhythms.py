"""When an entry of the calendar comes due, in the language of the page: ``every weekday at 09:00``.

English has words of its own for more (``calendar.recurrence.describe``). Other languages say the common rhythms in
whole sentences, which a translator can put into order, and give the others as the rule that they are, never wrongly.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time

from dashboard.languages import speech
from dashboard.services import get_services
from orchestrator.capabilities.calendar.input import EntryInput, plan_of
from orchestrator.capabilities.calendar.recurrence.cron import Cron, as_rule
from orchestrator.capabilities.calendar.recurrence.occurrences import Plan
from orchestrator.capabilities.calendar.recurrence.rrule import Freq, Rule
from orchestrator.capabilities.calendar.rows import CalendarEntry
from orchestrator.languages.dates import write_clock, write_date
from orchestrator.languages.numbers import join_list
from orchestrator.languages.speech import SpokenLanguage

_WORKDAYS, _WEEKEND, _WEEK = [0, 1, 2, 3, 4], [5, 6], [0, 1, 2, 3, 4, 5, 6]
_MONDAY = date(2024, 1, 1)
_MOST_TIMES = 6


def describe_rhythm(entry: CalendarEntry) -> str:
    """How it comes due."""
    spoken = speech()
    if spoken.is_english:
        return get_services().calendar.describe_entry(entry)
    request = EntryInput.from_entry(entry)
    said = say_plan(plan_of(*request.when), spoken)
    owner = get_services().users.get(entry.cubicle.user)
    return said if request.time_zone == owner.time_zone else f"{said} ({request.time_zone})"


def say_plan(plan: Plan, spoken: SpokenLanguage) -> str:
    """The plan, in a language that has no words of its own for it."""
    if plan.repeat is None:
        day, clock = _day(plan.start, spoken), write_clock(plan.start, spoken.language)
        return spoken.say("once on %(day)s at %(time)s", day=day, time=clock)
    rule = as_rule(plan.repeat) if isinstance(plan.repeat, Cron) else plan.repeat
    said = _say_rule(rule, plan.start, spoken) if rule is not None and _is_common(rule) else None
    said = said or spoken.say("by the rule %(rule)s", rule=str(plan.repeat))
    return said + _say_limits(plan, rule, spoken)


def _is_common(rule: Rule) -> bool:
    has_odd_parts = rule.weeks or rule.year_days or rule.positions or (rule.months and rule.freq is not Freq.YEARLY)
    return not has_odd_parts and not any(nth for nth, _ in rule.days)


def _say_rule(rule: Rule, start: datetime, spoken: SpokenLanguage) -> str | None:
    if rule.freq in (Freq.HOURLY, Freq.MINUTELY):
        return _say_through_the_day(rule, spoken)
    hours, minutes = rule.hours or (start.hour,), rule.minutes or (start.minute,)
    clocks = [write_clock(datetime.combine(start, time(h, m)), spoken.language) for h in hours for m in minutes]
    if len(clocks) > _MOST_TIMES:
        return None
    times = join_list(clocks, spoken.language)
    if rule.freq is Freq.YEARLY:
        return _say_yearly(rule, start, times, spoken)
    if rule.freq is Freq.MONTHLY:
        days = rule.month_days or (start.day,)
        if rule.days or rule.interval > 1 or min(days) < 0:
            return None
        on = join_list([str(day) for day in days], spoken.language)
        return spoken.say("on day %(days)s of each month at %(times)s", days=on, times=times)
    return None if rule.month_days else _say_days(rule, start, times, spoken)


def _say_days(rule: Rule, start: datetime, times: str, spoken: SpokenLanguage) -> str:
    weekdays = [day for _, day in rule.days] or ([start.weekday()] if rule.freq is Freq.WEEKLY else _WEEK)
    days = _weekdays(weekdays, spoken)
    if rule.interval > 1 and rule.freq is Freq.WEEKLY:
        return spoken.say("every %(count)s weeks on %(days)s at %(times)s", count=rule.interval, days=days, times=times)
    if rule.interval > 1:
        return spoken.say("every %(count)s days at %(times)s", count=rule.interval, times=times)
    if weekdays == _WEEK:
        return spoken.say("every day at %(times)s", times=times)
    if weekdays == _WORKDAYS:
        return spoken.say("every weekday at %(times)s", times=times)
    if weekdays == _WEEKEND:
        return spoken.say("every Saturday and Sunday at %(times)s", times=times)
    return spoken.say("every %(days)s at %(times)s", days=days, times=times)


def _say_yearly(rule: Rule, start: datetime, times: str, spoken: SpokenLanguage) -> str | None:
    months, days = rule.months or (start.month,), rule.month_days or (start.day,)
    if rule.days or rule.interval > 1 or len(months) > 1 or len(days) > 1 or days[0] < 0:
        return None
    day = write_date(date(2024, months[0], days[0]), "%-d %B", "MMMMd", spoken.language)
    return spoken.say("every year on %(day)s at %(times)s", day=day, times=times)


def _say_through_the_day(rule: Rule, spoken: SpokenLanguage) -> str | None:
    if rule.hours or rule.days or rule.month_days or (rule.minutes and rule.minutes != (0,)):
        return None
    if rule.freq is Freq.HOURLY:
        return spoken.say_many("every hour", "every %(count)s hours", rule.interval)
    return None if rule.minutes else spoken.say_many("every minute", "every %(count)s minutes", rule.interval)


def _say_limits(plan: Plan, rule: Rule | None, spoken: SpokenLanguage) -> str:
    said = []
    if rule is not None and rule.count:
        said.append(spoken.say_many("%(count)s time", "%(count)s times", rule.count))
    ends = [end for end in (rule.until if rule is not None else None, plan.until) if end is not None]
    if ends:
        first = min(ends, key=lambda end: (end.year, end.month, end.day))
        said.append(spoken.say("until %(day)s", day=_day(first, spoken)))
    if plan.without:
        said.append(spoken.say_many("with %(count)s exception", "with %(count)s exceptions", len(plan.without)))
    return "".join(f", {one}" for one in said)


def _weekdays(days: Sequence[int], spoken: SpokenLanguage) -> str:
    names = [write_date(date.fromordinal(_MONDAY.toordinal() + day), "%A", "EEEE", spoken.language) for day in days]
    return join_list(names, spoken.language)


def _day(when: date, spoken: SpokenLanguage) -> str:
    return write_date(when, "%a %-d %b %Y", "yMMMEd", spoken.language)
