"""Many plans laid out over the days of one person's clock: what comes due on which day, the first few of each day, and
how many more there are. Pure, and bounded whatever the plans are.

What keeps to whole days (each weekday at nine) is a pattern of days, found without listing a single time; everything
else is walked, day by day, where a day with very many times is counted no further than ``MOST_COUNTED``. ``next_at`` is
always what the row says: nothing before it is shown, and it is shown even where the work has come to its end.
"""

from __future__ import annotations

from bisect import bisect_right
from calendar import monthrange
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from itertools import groupby, islice
from zoneinfo import ZoneInfo

from orchestrator.capabilities.calendar.recurrence.cron import Cron, as_rule
from orchestrator.capabilities.calendar.recurrence.occurrences import Plan, iter_occurrences
from orchestrator.capabilities.calendar.recurrence.rrule import Freq, Rule
from orchestrator.capabilities.calendar.recurrence.zones import moment_of, wall_at, zone_named

MOST_DAYS = 62
MOST_COUNTED = 24
"""Times of one plan on one day; what comes due more often does so many times and more."""
MOST_WORK = 30_000
"""Times that are walked for one look."""
_A_START = 20
"""What it takes to begin to walk a plan, in such times."""
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Series:
    """What comes due, under its number."""

    key: int
    next_at: datetime
    plan: Plan | None = None
    """How it goes on; None when it does not."""


@dataclass(frozen=True, slots=True)
class Times:
    """What one series has on one day."""

    key: int
    first: datetime
    count: int = 1
    is_more: bool = False
    """There are more of them than were counted."""


@dataclass(frozen=True, slots=True)
class DayLayout:
    """A day by the clock on the wall: the first few series of it, and how many others have a time on it."""

    day: date
    times: tuple[Times, ...]
    more: int


@dataclass(frozen=True, slots=True)
class Spread:
    """All days that were asked for."""

    days: tuple[DayLayout, ...]
    is_cut: bool
    """There was too much to go through; of some series only the next time is in it."""


def lay_out_days(
    series: Iterable[Series], zone: str, first: date, count: int, *, most_a_day: int, most_work: int = MOST_WORK
) -> Spread:
    """The series over ``count`` days from ``first`` on, by the clock of ``zone``."""
    sheet = _Sheet(zone, first, min(count, MOST_DAYS), most_work)
    for one in series:
        sheet.add(one)
    return Spread(tuple(sheet.day(n, most_a_day) for n in range(sheet.count)), sheet.is_cut)


def day_begins(zone: str, first: date, count: int) -> list[datetime]:
    """When each of these days begins by that clock, and last when the day after them does."""
    place = zone_named(zone)
    return [moment_of(datetime.combine(first + timedelta(days=n), time()), place) for n in range(count + 1)]


# --- what keeps to whole days --------------------------------------------------------------------------------------


_WHOLE_DAYS = (Freq.DAILY, Freq.WEEKLY, Freq.MONTHLY)


@dataclass(frozen=True, slots=True)
class _Pattern:
    """The same times on each of some days."""

    rule: Rule
    weekdays: frozenset[int]
    times: tuple[time, ...]

    def days(self, start: date, first: date, count: int) -> int:
        """The days as the bits of a number, the first the lowest."""
        rule = self.rule
        if rule.freq is Freq.MONTHLY:
            passed = (first.year - start.year) * 12 + first.month - start.month
            return _month_days(rule.interval, passed % rule.interval, rule.month_days or (start.day,), first, count)
        weeks = rule.freq is Freq.WEEKLY
        base = start - timedelta(days=(start.weekday() - rule.week_start) % 7) if weeks else start
        period = rule.interval * (7 if weeks else 1)
        return _days(
            period=period,
            length=7 if weeks else 1,
            phase=(first - base).days % period,
            weekdays=self.weekdays,
            weekday=first.weekday(),
            count=count,
        )


@lru_cache(maxsize=10_000)
def _days(*, period: int, length: int, phase: int, weekdays: frozenset[int], weekday: int, count: int) -> int:
    """The days that lie in the first ``length`` of each ``period`` and are one of the weekdays."""
    fits = (n for n in range(count) if (phase + n) % period < length and (weekday + n) % 7 in weekdays)
    return sum(1 << n for n in fits)


@lru_cache(maxsize=10_000)
def _month_days(interval: int, phase: int, wanted: tuple[int, ...], first: date, count: int) -> int:
    """These days of each month that is in step; negative ones are counted from its end."""
    mask = 0
    for n in range(count):
        day = first + timedelta(days=n)
        from_end = day.day - monthrange(day.year, day.month)[1] - 1
        passed = (day.year - first.year) * 12 + day.month - first.month
        if (phase + passed) % interval == 0 and (day.day in wanted or from_end in wanted):
            mask |= 1 << n
    return mask


@lru_cache(maxsize=10_000)
def _rule_of(line: Cron) -> Rule | None:
    return as_rule(line)


def _pattern(plan: Plan) -> _Pattern | None:
    rule = _rule_of(plan.repeat) if isinstance(plan.repeat, Cron) else plan.repeat
    if rule is None or rule.freq not in _WHOLE_DAYS or rule.count is not None or plan.without:
        return None
    restricting = rule.days if rule.freq is Freq.MONTHLY else rule.month_days
    if any((rule.months, restricting, rule.positions)) or (isinstance(plan.repeat, Cron) and plan.start.second):
        return None
    hours, minutes = rule.hours or (plan.start.hour,), rule.minutes or (plan.start.minute,)
    all_days = tuple(range(7)) if rule.freq is Freq.DAILY else (plan.start.weekday(),)
    weekdays = frozenset(day for _, day in rule.days) or frozenset(all_days)
    return _Pattern(rule, weekdays, tuple(sorted(time(h, m, plan.start.second) for h in hours for m in minutes)))


def _last_day(plan: Plan) -> date | None:
    """The day by the plan's clock after which nothing comes."""
    own = None if plan.repeat is None or isinstance(plan.repeat, Cron) else plan.repeat.until
    zone = zone_named(plan.zone)
    return min((_date_of(end, zone) for end in (own, plan.until) if end is not None), default=None)


def _date_of(end: date | datetime, zone: ZoneInfo) -> date:
    if not isinstance(end, datetime):
        return end
    return (end if end.tzinfo is None else wall_at(end, zone)).date()


# --- the days ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Steady:
    """A series that has the same times on some days."""

    times: tuple[time, ...]
    key: int
    mask: int


@dataclass
class _Sheet:
    """The days while they are filled."""

    zone: str
    first: date
    count: int
    work_left: int
    is_cut: bool = False
    begins: list[datetime] = field(init=False)
    single: list[list[Times]] = field(init=False)
    steady: list[_Steady] = field(default_factory=list)
    masks: Counter[int] = field(default_factory=Counter)
    odd: int = field(init=False)
    """The days that have not 24 hours."""
    is_sorted: bool = False

    def __post_init__(self) -> None:
        self.begins = day_begins(self.zone, self.first, self.count)
        self.single = [[] for _ in range(self.count)]
        lengths = [later - earlier for earlier, later in zip(self.begins, self.begins[1:], strict=False)]
        self.odd = sum(1 << n for n, length in enumerate(lengths) if length != timedelta(days=1))

    def add(self, one: Series) -> None:
        """Lay a series out."""
        if one.next_at >= self.begins[-1]:
            return
        if one.plan is None or one.plan.repeat is None:
            self._put(one.key, one.next_at, self.begins[0])
            return
        pattern = _pattern(one.plan) if one.plan.zone == self.zone else None
        if pattern is None:
            self._walk(one, one.plan, self.begins[0], self.begins[-1])
        else:
            self._lay(one, one.plan, pattern)

    def day(self, n: int, most: int) -> DayLayout:
        """One of the days; what comes first is first."""
        if not self.is_sorted:
            self.steady.sort(key=lambda one: (one.times[0], one.key))
            self.is_sorted = True
        bit, day, place = 1 << n, self.first + timedelta(days=n), zone_named(self.zone)
        earliest = islice((one for one in self.steady if one.mask & bit), most)
        found = [
            Times(one.key, moment_of(datetime.combine(day, one.times[0]), place), len(one.times)) for one in earliest
        ]
        found = sorted(found + self.single[n], key=lambda times: (times.first, times.key))[:most]
        everything = len(self.single[n]) + sum(times for mask, times in self.masks.items() if mask & bit)
        return DayLayout(day, tuple(found), everything - len(found))

    def _lay(self, one: Series, plan: Plan, pattern: _Pattern) -> None:
        """Whole days at once; by itself only what the beginning or the end cuts, or where a clock is changed."""
        mask = pattern.days(plan.start.date(), self.first, self.count)
        alone = self.odd if len(pattern.times) > 1 else 0
        last = _last_day(plan)
        if last is not None and (after := (last - self.first).days) < self.count:
            alone |= 1 << max(0, after)
            mask &= (1 << max(0, after + 1)) - 1
        if one.next_at >= self.begins[0]:
            opening = self._index(one.next_at)
            mask = mask >> opening << opening
            if not alone >> opening & 1:
                wall = wall_at(one.next_at, zone_named(self.zone)).time()
                left = sum(at >= wall for at in pattern.times)
                self.single[opening].append(Times(one.key, one.next_at, max(1, left)))
                mask &= ~(1 << opening)
        for n in _bits(mask & alone):
            self._walk(one, plan, self.begins[n], self.begins[n + 1])
        if mask & ~alone:
            self.steady.append(_Steady(pattern.times, one.key, mask & ~alone))
            self.masks[mask & ~alone] += 1

    def _walk(self, one: Series, plan: Plan, begin: datetime, end: datetime) -> None:
        """One time after the other, and on to the next day where there are very many."""
        since = max(begin, one.next_at)
        while since < end:
            if not self._works(_A_START):
                self._put(one.key, one.next_at, since)
                return
            moments = self._paid(iter_occurrences(plan, since - _TICK), end)
            since = end
            for n, group in groupby(moments, key=self._index):
                times = list(islice(group, MOST_COUNTED + 1))
                is_more = len(times) > MOST_COUNTED
                self.single[n].append(Times(one.key, times[0], min(len(times), MOST_COUNTED), is_more))
                if is_more:
                    since = self.begins[n + 1]
                    break

    def _paid(self, moments: Iterator[datetime], end: datetime) -> Iterator[datetime]:
        """The moments before the end, so long as there is work left."""
        for moment in moments:
            if moment >= end or not self._works(1):
                return
            yield moment

    def _put(self, key: int, at: datetime, since: datetime) -> None:
        """A time by itself, where it is one of these days."""
        if since <= at < self.begins[-1]:
            self.single[self._index(at)].append(Times(key, at))

    def _works(self, cost: int) -> bool:
        if self.work_left < cost:
            self.is_cut = True
            return False
        self.work_left -= cost
        return True

    def _index(self, moment: datetime) -> int:
        return bisect_right(self.begins, moment) - 1


def _bits(mask: int) -> Sequence[int]:
    return [n for n in range(mask.bit_length()) if mask >> n & 1]
