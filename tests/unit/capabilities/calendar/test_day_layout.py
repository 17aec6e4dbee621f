"""Many plans over some days: the same days as one by one, at both changes of a clock too; ends, exceptions, caps."""

from __future__ import annotations

import time as clock
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.capabilities.calendar.recurrence.day_layout import (
    MOST_COUNTED,
    MOST_DAYS,
    Series,
    Times,
    day_begins,
    lay_out_days,
)
from orchestrator.capabilities.calendar.recurrence.input import make_plan
from orchestrator.capabilities.calendar.recurrence.occurrences import Plan, list_between, next_after
from orchestrator.capabilities.calendar.recurrence.zones import wall_at, zone_named

VIENNA = "Europe/Vienna"
SPRING, AUTUMN = date(2026, 3, 23), date(2026, 10, 19)
"""Mondays of the weeks in which Vienna's clocks are changed, both on the Sunday."""


def at(text: str) -> datetime:
    """A moment in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def plan(start: str, repeat: str, zone: str = VIENNA, until: str = "") -> Plan:
    """A plan that somebody wrote."""
    return make_plan(
        datetime.fromisoformat(start), zone, repeat=repeat, until=datetime.fromisoformat(until) if until else None
    )


def one_by_one(given: Plan, next_at: datetime, zone: str, first: date, count: int) -> dict[date, tuple[datetime, int]]:
    """The first time of each day and how many there are, by listing them all."""
    begins = day_begins(zone, first, count)
    moments = [m for m in list_between(given, begins[0], begins[-1]) if m >= next_at]
    days = Counter(wall_at(m, zone_named(zone)).date() for m in moments)
    firsts = {wall_at(m, zone_named(zone)).date(): m for m in reversed(moments)}
    return {day: (firsts[day], count) for day, count in days.items()}


def laid_out(given: Plan, next_at: datetime, zone: str, first: date, count: int) -> dict[date, tuple[datetime, int]]:
    """The same by ``lay_out_days``."""
    found = lay_out_days([Series(7, next_at, given)], zone, first, count, most_a_day=3)
    assert not found.is_cut
    return {day.day: (t.first, t.count) for day in found.days for t in day.times if not t.is_more}


DAYS = [
    # zone of the viewer, start, repeat, first day, hours of UTC by day
    (VIENNA, "2026-03-01T09:00", "FREQ=DAILY", SPRING, [8] * 6 + [7]),
    (VIENNA, "2026-03-01T02:30", "FREQ=DAILY", SPRING, [1] * 6 + [1]),
    (VIENNA, "2026-03-01T09:00", "FREQ=DAILY", AUTUMN, [7] * 6 + [8]),
    (VIENNA, "2026-03-01T02:30", "FREQ=DAILY", AUTUMN, [0] * 6 + [0]),
    (VIENNA, "2026-03-01T09:00", "0 9 * * 1-5", SPRING, [8] * 5 + [None, None]),
    ("UTC", "2026-03-01T00:30", "FREQ=DAILY", SPRING, [23] * 6 + [22]),
    ("UTC", "2026-03-01T00:30", "FREQ=DAILY", AUTUMN, [22] * 6 + [23]),
]


@pytest.mark.parametrize(("zone", "start", "repeat", "first", "hours"), DAYS)
def test_the_weeks_in_which_clocks_are_changed(
    zone: str, start: str, repeat: str, first: date, hours: list[int | None]
) -> None:
    """A day is a day of the viewer's clock, and a time keeps to the clock of its plan."""
    given = plan(start, repeat)
    next_at = next_after(given, at("2026-03-10T00:00"))
    assert next_at is not None
    found = lay_out_days([Series(1, next_at, given)], zone, first, 7, most_a_day=5)
    shown = [[t.first.hour for t in day.times] for day in found.days]
    assert shown == [[] if hour is None else [hour] for hour in hours]


REPEATS = (
    "FREQ=DAILY", "FREQ=DAILY;INTERVAL=3", "FREQ=WEEKLY", "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,SU;WKST=SU",
    "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO", "FREQ=DAILY;BYDAY=TU,TH;BYHOUR=2,14;BYMINUTE=0,30",
    "FREQ=WEEKLY;BYHOUR=1,2,3",
    "FREQ=MONTHLY;BYMONTHDAY=-1,15,31", "FREQ=MONTHLY;INTERVAL=2",
    "0 9 1,31 * *", "FREQ=MONTHLY", "FREQ=MONTHLY;BYDAY=-1FR", "FREQ=YEARLY", "FREQ=HOURLY;INTERVAL=5",
    "FREQ=MINUTELY;INTERVAL=90",
    "FREQ=DAILY;COUNT=9", "FREQ=DAILY;UNTIL=20261026", "FREQ=DAILY;BYHOUR=2,20;UNTIL=20261025T003000Z",
    "FREQ=DAILY;BYMONTH=3,10",
    "30 2 * * *", "0 9,17 * * 1-5", "0 9 1 * 5", "15 */3 * * *", "FREQ=DAILY;UNTIL=20260329T090000",
)  # fmt: skip


@settings(max_examples=250)
@given(
    repeat=st.sampled_from(REPEATS),
    start=st.datetimes(datetime(2026, 1, 1), datetime(2026, 11, 30)),  # noqa: DTZ001 - walls
    zone=st.sampled_from((VIENNA, "America/New_York", "Australia/Lord_Howe")),
    viewer=st.sampled_from((VIENNA, "America/New_York", "Asia/Kolkata")),
    offset=st.integers(-20, 260),
    count=st.integers(1, 42),
    ends=st.one_of(st.none(), st.integers(0, 40)),
)
def test_the_same_days_as_one_by_one(
    *, repeat: str, start: datetime, zone: str, viewer: str, offset: int, count: int, ends: int | None
) -> None:
    """Patterns of days, walks and cuts at the next time give what listing every time gives."""
    until = None if ends is None else start + timedelta(days=ends, hours=5)
    given = make_plan(start.replace(second=0), zone, repeat=repeat, until=until)
    next_at = next_after(given, at("2026-03-12T11:00"))
    if next_at is None:
        return
    first = date(2026, 3, 5) + timedelta(days=offset)
    expected = one_by_one(given, next_at, viewer, first, count)
    assert laid_out(given, next_at, viewer, first, count) == expected


def test_exceptions_and_both_ends() -> None:
    """What is left out is not there; nothing is shown before the next time and after the end."""
    given = replace(plan("2026-03-01T09:00", "FREQ=DAILY", until="2026-03-28T08:00"), without=(date(2026, 3, 26),))
    found = laid_out(given, at("2026-03-25T08:00"), VIENNA, SPRING, 7)
    assert [day.day for day in found] == [25, 27]


def test_what_happens_once() -> None:
    """It is on its day alone, and on none when that is elsewhere."""
    moment = at("2026-03-28T23:30")
    found = lay_out_days([Series(1, moment)], VIENNA, SPRING, 7, most_a_day=5)
    assert [day.times for day in found.days] == [()] * 6 + [(Times(1, moment),)]
    assert all(not day.times for day in lay_out_days([Series(1, moment)], VIENNA, AUTUMN, 7, most_a_day=5).days)


def test_a_day_is_capped_and_says_how_many_more() -> None:
    """The first few by time, of what keeps to whole days and of all else together."""
    some = [Series(n, at(f"2026-03-23T0{n}:00"), plan(f"2026-03-23T0{n + 1}:00", "FREQ=DAILY")) for n in range(1, 8)]
    some.append(Series(9, at("2026-03-24T05:30"), plan("2026-03-24T05:30", "FREQ=DAILY;COUNT=2", "UTC")))
    found = lay_out_days(some, VIENNA, SPRING, 7, most_a_day=3)
    assert [(len(day.times), day.more) for day in found.days] == [(3, 4), (3, 5), (3, 5)] + [(3, 4)] * 4
    assert [t.key for t in found.days[1].times] == [1, 2, 3]
    assert [t.key for t in lay_out_days(some, VIENNA, SPRING, 7, most_a_day=6).days[1].times] == [1, 2, 3, 4, 5, 9]


def test_what_comes_very_often_is_counted_so_far() -> None:
    """Every five minutes is one line a day, and a short walk."""
    given = plan("2026-03-01T00:00", "*/5 * * * *")
    found = lay_out_days([Series(1, at("2026-03-25T12:00"), given)], VIENNA, SPRING, 42, most_a_day=3)
    assert not found.is_cut
    assert [len(day.times) for day in found.days] == [0, 0] + [1] * 40
    assert found.days[10].times[0] == Times(1, at("2026-04-01T22:00"), MOST_COUNTED, is_more=True)


def test_too_much_work_is_cut_and_said() -> None:
    """Where the work ends, the next times are still there."""
    given = plan("2026-03-01T00:00", "*/5 * * * *")
    some = [Series(n, at("2026-03-25T12:00"), given) for n in range(50)]
    found = lay_out_days(some, VIENNA, SPRING, 7, most_a_day=2, most_work=500)
    assert found.is_cut
    assert found.days[2].more == 48
    assert len(lay_out_days([], VIENNA, SPRING, 1000, most_a_day=1).days) == MOST_DAYS


def test_ten_thousand_plans() -> None:
    """A month of them is quick, also of those that have to be walked."""
    kinds = ("FREQ=DAILY", "0 9 * * 1-5", "FREQ=MONTHLY", "*/5 * * * *", "FREQ=HOURLY", "FREQ=WEEKLY;BYDAY=MO")
    plans = [plan(f"2026-03-01T{n:02}:{m:02}", kind) for n in range(24) for m in range(10) for kind in kinds]
    some = [Series(n, at("2026-03-23T05:00"), plans[n % len(plans)]) for n in range(10_000)]
    begun = clock.thread_time()
    found = lay_out_days(some, VIENNA, SPRING, 42, most_a_day=4)
    assert clock.thread_time() - begun < 5
    assert found.is_cut
    assert found.days[7].more > 3_000
