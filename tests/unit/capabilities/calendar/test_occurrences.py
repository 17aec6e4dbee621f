"""When things come due, around real changes of clocks, and for plans of every sort."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from itertools import islice, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.capabilities.calendar.recurrence.input import MAX_EXCEPTIONS, make_plan, parse_moment
from orchestrator.capabilities.calendar.recurrence.missed import Due, Missed, find_due
from orchestrator.capabilities.calendar.recurrence.occurrences import (
    Plan,
    check_plan,
    iter_occurrences,
    list_between,
    next_after,
)
from orchestrator.capabilities.calendar.recurrence.zones import moment_of, second_coming, wall_at, zone_named
from orchestrator.core.errors import BadInput


def wall(text: str) -> datetime:
    """A time of some clock on a wall."""
    return datetime.fromisoformat(text)


def at(text: str) -> datetime:
    """A moment in UTC."""
    return wall(text).replace(tzinfo=UTC)


def shown(plan: Plan, after: str, count: int) -> list[str]:
    """The next moments as the plan's own clocks show them, with their offsets."""
    zone = zone_named(plan.zone)
    return [m.astimezone(zone).isoformat(timespec="minutes") for m in islice(iter_occurrences(plan, at(after)), count)]


CLOCK_CHANGES = [
    # zone, start, repeat, after (UTC), what the clocks there show
    # Vienna, 29 March 2026: 02:00 to 03:00 is leapt over
    ("Europe/Vienna", "2026-03-01T02:30", "FREQ=DAILY", "2026-03-27T12:00",
     ["2026-03-28T02:30+01:00", "2026-03-29T03:00+02:00", "2026-03-30T02:30+02:00"]),
    ("Europe/Vienna", "2026-03-01T02:30", "30 2 * * *", "2026-03-27T12:00",
     ["2026-03-28T02:30+01:00", "2026-03-29T03:00+02:00", "2026-03-30T02:30+02:00"]),
    ("Europe/Vienna", "2026-03-01T02:00", "FREQ=DAILY", "2026-03-28T12:00",
     ["2026-03-29T03:00+02:00", "2026-03-30T02:00+02:00"]),
    ("Europe/Vienna", "2026-03-01T00:15", "FREQ=DAILY;BYHOUR=1,2,3;BYMINUTE=0,15,30,45", "2026-03-29T00:31",
     ["2026-03-29T01:45+01:00", "2026-03-29T03:00+02:00", "2026-03-29T03:15+02:00"]),
    ("Europe/Vienna", "2026-03-01T00:00", "*/15 * * * *", "2026-03-29T00:31",
     ["2026-03-29T01:45+01:00", "2026-03-29T03:00+02:00", "2026-03-29T03:15+02:00"]),
    # Vienna, 25 October 2026: 02:00 to 03:00 comes twice
    ("Europe/Vienna", "2026-03-01T02:30", "FREQ=DAILY", "2026-10-24T12:00",
     ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"]),
    ("Europe/Vienna", "2026-03-01T02:30", "30 2 * * *", "2026-10-24T12:00",
     ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"]),
    ("Europe/Vienna", "2026-03-01T02:30", "30 2 * * *", "2026-10-25T00:45", ["2026-10-26T02:30+01:00"]),
    ("Europe/Vienna", "2026-03-01T00:00", "0 * * * *", "2026-10-24T23:30",
     ["2026-10-25T02:00+02:00", "2026-10-25T02:00+01:00", "2026-10-25T03:00+01:00"]),
    ("Europe/Vienna", "2026-03-01T00:00", "FREQ=MINUTELY;INTERVAL=30", "2026-10-25T00:00",
     ["2026-10-25T02:30+02:00", "2026-10-25T02:00+01:00", "2026-10-25T02:30+01:00", "2026-10-25T03:00+01:00"]),
    ("Europe/Vienna", "2026-03-01T00:00", "FREQ=HOURLY;INTERVAL=2", "2026-10-24T23:30",
     ["2026-10-25T02:00+02:00", "2026-10-25T04:00+01:00"]),
    # New York, 8 March and 1 November 2026
    ("America/New_York", "2026-01-05T02:30", "FREQ=DAILY", "2026-03-07T12:00",
     ["2026-03-08T03:00-04:00", "2026-03-09T02:30-04:00"]),
    ("America/New_York", "2026-01-05T01:30", "FREQ=DAILY", "2026-10-31T12:00",
     ["2026-11-01T01:30-04:00", "2026-11-02T01:30-05:00"]),
    ("America/New_York", "2026-01-05T09:00", "FREQ=WEEKLY;BYDAY=MO", "2026-03-02T15:00",
     ["2026-03-09T09:00-04:00", "2026-03-16T09:00-04:00"]),
    # Lord Howe changes by half an hour: 4 October and 5 April 2026
    ("Australia/Lord_Howe", "2026-01-01T02:15", "FREQ=DAILY", "2026-10-03T12:00",
     ["2026-10-04T02:30+11:00", "2026-10-05T02:15+11:00"]),
    ("Australia/Lord_Howe", "2026-01-01T01:45", "FREQ=DAILY", "2026-04-04T12:00",
     ["2026-04-05T01:45+11:00", "2026-04-06T01:45+10:30"]),
    ("Australia/Lord_Howe", "2026-01-01T00:00", "*/15 * * * *", "2026-04-04T14:25",
     ["2026-04-05T01:30+11:00", "2026-04-05T01:45+11:00", "2026-04-05T01:30+10:30", "2026-04-05T01:45+10:30",
      "2026-04-05T02:00+10:30"]),
    # Apia had no 30 December 2011
    ("Pacific/Apia", "2011-12-01T09:00", "FREQ=DAILY", "2011-12-29T12:00",
     ["2011-12-29T09:00-10:00", "2011-12-31T00:00+14:00", "2011-12-31T09:00+14:00", "2012-01-01T09:00+14:00"]),
    ("Pacific/Apia", "2011-12-01T00:00", "0 * * * *", "2011-12-30T08:30",
     ["2011-12-29T23:00-10:00", "2011-12-31T00:00+14:00", "2011-12-31T01:00+14:00"]),
    # Kolkata never changes, and is half an hour off
    ("Asia/Kolkata", "2026-01-01T09:00", "0 9 * * 1-5", "2026-03-27T12:00",
     ["2026-03-30T09:00+05:30", "2026-03-31T09:00+05:30"]),
    ("UTC", "2026-01-01T02:30", "FREQ=DAILY", "2026-03-28T12:00", ["2026-03-29T02:30+00:00", "2026-03-30T02:30+00:00"]),
    # once, in an hour that there isn't, and in one that comes twice
    ("Europe/Vienna", "2026-03-29T02:30", "", "2026-03-01T00:00", ["2026-03-29T03:00+02:00"]),
    ("Europe/Vienna", "2026-10-25T02:30", "", "2026-03-01T00:00", ["2026-10-25T02:30+02:00"]),
    ("Europe/Vienna", "2026-10-25T02:30", "", "2026-10-25T00:30", []),
]  # fmt: skip


@pytest.mark.parametrize(("zone", "start", "repeat", "after", "expected"), CLOCK_CHANGES)
def test_changes_of_the_clock(zone: str, start: str, repeat: str, after: str, expected: list[str]) -> None:
    """What is leapt over comes due right after the leap, and what comes twice comes due once, but for each hour's."""
    assert shown(make_plan(wall(start), zone, repeat=repeat), after, len(expected) or 1) == expected


REPEATS = [
    ("2026-01-31T09:00", "FREQ=MONTHLY", ["2026-01-31", "2026-03-31", "2026-05-31"]),
    ("2026-01-31T09:00", "FREQ=MONTHLY;BYMONTHDAY=-1", ["2026-01-31", "2026-02-28", "2026-03-31"]),
    ("2028-02-29T09:00", "FREQ=YEARLY", ["2028-02-29", "2032-02-29", "2036-02-29"]),
    ("2096-02-29T09:00", "FREQ=YEARLY", ["2096-02-29", "2104-02-29"]),
    ("2026-01-01T09:00", "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", ["2026-01-30", "2026-02-27", "2026-03-31"]),
    ("2026-01-01T09:00", "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", ["2026-02-13", "2026-03-13", "2026-11-13"]),
    ("2026-01-01T09:00", "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO", ["2026-01-12", "2026-01-26"]),
    ("2026-01-04T09:00", "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO;WKST=SU", ["2026-01-04", "2026-01-05", "2026-01-18"]),
    ("2026-01-04T09:00", "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO", ["2026-01-04", "2026-01-12", "2026-01-18"]),
    ("2026-01-01T09:00", "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", ["2026-05-11", "2027-05-17"]),
    ("2026-01-01T09:00", "FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3,10", ["2026-03-29", "2026-10-25", "2027-03-28"]),
    ("2026-01-01T09:00", "FREQ=YEARLY;BYYEARDAY=-1,1", ["2026-01-01", "2026-12-31", "2027-01-01"]),
    ("2026-01-01T09:00", "FREQ=DAILY;COUNT=3", ["2026-01-01", "2026-01-02", "2026-01-03"]),
    ("2026-01-01T09:00", "FREQ=DAILY;UNTIL=20260102", ["2026-01-01", "2026-01-02"]),
    ("2026-01-01T09:00", "FREQ=DAILY;UNTIL=20260102T080000Z", ["2026-01-01", "2026-01-02"]),
    ("2026-01-01T09:00", "FREQ=DAILY;UNTIL=20260102T075959Z", ["2026-01-01"]),
    ("2026-01-01T09:00", "FREQ=DAILY;UNTIL=20260102T090000", ["2026-01-01", "2026-01-02"]),
    ("2026-01-01T09:00", "FREQ=DAILY;UNTIL=20251231", []),
    ("2026-01-01T09:00", "0 9 1 * 5", ["2026-01-01", "2026-01-02", "2026-01-09"]),
    ("2026-01-01T09:00", "0 9 * * 0", ["2026-01-04", "2026-01-11"]),
    ("2026-01-01T09:00", "0 9 * * 7", ["2026-01-04", "2026-01-11"]),
    ("2026-01-01T09:00", "0 9 29 2 *", ["2028-02-29", "2032-02-29"]),
    ("2026-01-01T09:00", "0 9 L * *", ["2026-01-31", "2026-02-28"]),
    ("2026-01-01T09:00", "0 9 * * mon-wed", ["2026-01-05", "2026-01-06", "2026-01-07"]),
    ("2026-01-01T09:00:30", "FREQ=DAILY", ["2026-01-01", "2026-01-02"]),
    ("2199-12-30T09:00", "FREQ=DAILY", ["2199-12-30", "2199-12-31"]),
    ("2199-12-30T09:00", "0 9 * * *", ["2199-12-30", "2199-12-31"]),
]


@pytest.mark.parametrize(("start", "repeat", "expected"), REPEATS)
def test_rules_and_cron_lines(start: str, repeat: str, expected: list[str]) -> None:
    """Rules as RFC 5545 means them, cron lines as Debian's cron does; nothing comes after an end."""
    plan = make_plan(wall(start), "Europe/Vienna", repeat=repeat)
    got = [text[:10] for text in shown(plan, "1970-01-01T00:00", len(expected) + 1)]
    assert got[: len(expected)] == expected
    if "UNTIL" in repeat or "COUNT" in repeat or start.startswith("2199"):
        assert len(got) == len(expected)


def test_a_rule_is_joined_far_from_its_start() -> None:
    """Each seven minutes for a hundred years is no long way to go, and keeps in step."""
    plan = make_plan(wall("2026-01-01T00:03"), "UTC", repeat="FREQ=MINUTELY;INTERVAL=7")
    far = at("2126-01-01T00:00")
    found = next_after(plan, far)
    assert found is not None
    assert timedelta() < found - far <= timedelta(minutes=7)
    assert (found - at("2026-01-01T00:03")) % timedelta(minutes=7) == timedelta()


def test_what_is_left_out() -> None:
    """Moments, times of the plan's clock, and whole days; an end holds beside that of the rule."""
    without = [at("2026-01-02T08:00"), wall("2026-01-03T09:00"), date(2026, 1, 4)]
    plan = make_plan(
        wall("2026-01-01T09:00"), "Europe/Vienna", repeat="FREQ=DAILY", until=date(2026, 1, 6), without=without
    )
    assert [text[:10] for text in shown(plan, "2025-01-01T00:00", 9)] == ["2026-01-01", "2026-01-05", "2026-01-06"]


def test_a_start_may_be_a_moment_or_a_day() -> None:
    """A moment repeats by the person's clock; a day begins at a stated time."""
    assert make_plan(at("2026-03-01T08:00"), "Europe/Vienna").start == wall("2026-03-01T09:00")
    assert make_plan(date(2026, 3, 1), "Europe/Vienna").start == wall("2026-03-01T09:00")
    assert make_plan(date(2026, 3, 1), "UTC", day_begins=time(7, 30)).start == wall("2026-03-01T07:30")
    assert parse_moment("end", wall("2026-07-01T09:00"), "Europe/Vienna") == at("2026-07-01T07:00")


def test_a_bounded_look() -> None:
    """From a moment on and before another, and never more than asked for."""
    plan = make_plan(wall("2026-01-01T00:00"), "UTC", repeat="FREQ=HOURLY")
    assert list_between(plan, at("2026-01-01T01:00"), at("2026-01-01T03:00")) == [
        at("2026-01-01T01:00"),
        at("2026-01-01T02:00"),
    ]
    assert len(list_between(plan, at("2026-01-01T00:00"), at("2199-01-01T00:00"), limit=5)) == 5
    assert len(list_between(plan, at("2026-01-01T00:00"), at("2199-01-01T00:00"), limit=10**9)) == 10_000
    far = datetime.max.replace(tzinfo=UTC)
    assert next_after(plan, far) is None
    assert next_after(plan, datetime.min.replace(tzinfo=UTC)) == at("2026-01-01T00:00")


NOW = at("2026-02-01T12:00")

CUT = [
    ("2026-01-01T09:00", "", "start: that time has passed"),
    ("2026-01-01T09:00", "FREQ=DAILY;UNTIL=20260131", "repeat: its last time has passed"),
    ("2026-01-01T09:00", "FREQ=DAILY;COUNT=3", "repeat: its last time has passed"),
    ("2026-01-01T09:00", "FREQ=YEARLY;BYDAY=5MO;BYMONTH=2;BYMONTHDAY=1", "never comes due"),
    ("2027-01-01T09:00", "FREQ=YEARLY;INTERVAL=2;BYMONTH=2;BYMONTHDAY=29", "never comes due"),
    ("2026-01-01T09:00", "FREQ=DAILY;INTERVAL=7;BYDAY=MO", "never comes due"),
    ("2026-01-01T09:00", "FREQ=HOURLY;INTERVAL=168;BYDAY=MO", "never comes due"),
    ("2026-01-01T09:00", "FREQ=HOURLY;INTERVAL=24;BYHOUR=3", "never comes due"),
    ("2026-01-01T09:00", "FREQ=MINUTELY;INTERVAL=1440;BYHOUR=3", "never comes due"),
    ("2026-01-01T09:00", "FREQ=MINUTELY;INTERVAL=60;BYMINUTE=3", "never comes due"),
    ("2026-01-01T09:00", "FREQ=MONTHLY;BYDAY=MO;BYMONTHDAY=1,9;BYSETPOS=2", "never comes due"),
    ("2026-01-01T09:00", "FREQ=YEARLY;BYDAY=53MO;BYMONTHDAY=1;BYYEARDAY=2", "never comes due"),
    ("2026-01-01T09:00", "FREQ=YEARLY;BYYEARDAY=366;BYMONTH=1", "never comes due"),
    ("2026-01-01T09:00", "* * * * *", "every 5 minutes at most, not every minute"),
    ("2026-01-01T09:00", "0,2 9 * * *", "not every 2 minutes"),
    ("2026-01-01T09:00", "FREQ=MINUTELY;INTERVAL=4", "not every 4 minutes"),
    ("2026-01-01T09:00", "FREQ=MONTHLY;BYMONTHDAY=1,-1;BYHOUR=0,23;BYMINUTE=0,59", "not every minute"),
]


@pytest.mark.parametrize(("start", "repeat", "words"), CUT)
def test_what_never_comes_or_comes_too_often(start: str, repeat: str, words: str) -> None:
    """It is told apart, soon, and in words that help."""
    with pytest.raises(BadInput, match=words):
        check_plan(make_plan(wall(start), "Europe/Vienna", repeat=repeat), now=NOW)


def test_what_is_in_order_gives_its_first_time() -> None:
    """A change of the clock that moves two times together is no fault of the plan."""
    assert check_plan(make_plan(wall("2026-03-01T09:00"), "Europe/Vienna"), now=NOW) == at("2026-03-01T08:00")
    close = make_plan(wall("2026-01-01T02:55"), "Europe/Vienna", repeat="55 2 * * *", until=date(2027, 1, 1))
    assert check_plan(close, now=NOW) == at("2026-02-02T01:55")
    often = make_plan(wall("2026-01-01T09:00"), "UTC", repeat="* * * * *")
    assert check_plan(often, now=NOW, min_gap=timedelta(minutes=1)) == at("2026-02-01T12:01")
    nothing_left = make_plan(wall("2026-01-01T09:00"), "UTC", repeat="FREQ=YEARLY;COUNT=2", without=[date(2027, 1, 1)])
    with pytest.raises(BadInput, match="exceptions"):
        check_plan(nothing_left, now=NOW)


@pytest.mark.parametrize(
    "name", ["", "Europe", "Europe/Wien", "../etc/passwd", "/etc/localtime", "right/UTC", "posix/UTC", "localtime",
             "UTC\0", "Europe/Vienna/", "x" * 300, "Ünter/Wegs", "CEST+1"],
)  # fmt: skip
def test_zones_that_are_none(name: str) -> None:
    """Whatever the name, nothing but the database of zones is looked into."""
    with pytest.raises(BadInput, match="time_zone"):
        make_plan(wall("2026-01-01T09:00"), name)


@pytest.mark.parametrize("start", [date(9999, 1, 1), wall("2200-01-01T00:00"), at("1969-12-31T23:00"), date(1, 1, 1)])
def test_years_beyond_the_calendar(start: date) -> None:
    """A start, an end and exceptions lie within it."""
    with pytest.raises(BadInput, match="year"):
        make_plan(start, "Pacific/Kiritimati")
    with pytest.raises(BadInput, match="year"):
        make_plan(NOW, "UTC", until=start)
    with pytest.raises(BadInput, match="year"):
        make_plan(NOW, "UTC", without=[start])


def test_exceptions_have_an_end() -> None:
    """There may be many, not any number."""
    with pytest.raises(BadInput, match="without"):
        make_plan(NOW, "UTC", without=[NOW + timedelta(days=n) for n in range(MAX_EXCEPTIONS + 1)])


# --- missed --------------------------------------------------------------------------------------------------------

DAILY = make_plan(wall("2026-01-01T09:00"), "UTC", repeat="FREQ=DAILY")
MISSED = [
    ("2026-01-10T09:00", "2026-01-11T08:59", Missed.RUN, None),
    ("2026-01-10T09:00", "2026-01-11T09:00", Missed.RUN, (True, False, 0)),
    ("2026-01-10T09:00", "2026-01-11T09:01", Missed.SKIP, (True, False, 0)),
    ("2026-01-10T09:00", "2026-01-11T09:30", Missed.RUN, (True, True, 0)),
    ("2026-01-10T09:00", "2026-01-11T09:30", Missed.SKIP, (False, True, 0)),
    ("2026-01-01T09:00", "2026-01-11T09:30", Missed.RUN, (True, True, 0)),
    ("2026-01-10T09:00", "2026-01-10T07:00", Missed.RUN, None),
]


@pytest.mark.parametrize(("settled", "now", "missed", "expected"), MISSED)
def test_what_was_missed(settled: str, now: str, missed: Missed, expected: tuple[bool, bool, int] | None) -> None:
    """On time it runs, late by policy, and never twice: not even when the clock goes back."""
    found = find_due(DAILY, settled=at(settled), now=at(now), missed=missed)
    assert (found and (found.runs, found.is_late, found.collapsed)) == expected
    if found:
        assert find_due(DAILY, settled=found.settle, now=at(now), missed=missed) is None


def test_a_week_of_missed_runs_is_one() -> None:
    """Ten thousand missed runs collapse into one, and what is older than a day does not run at all."""
    often = make_plan(wall("2026-01-01T00:00"), "UTC", repeat="*/5 * * * *")
    assert find_due(often, settled=at("2026-01-01T00:00"), now=at("2026-02-01T12:02")) == Due(
        at("2026-02-01T12:00"), runs=True, is_late=True, collapsed=287, settle=at("2026-02-01T12:00")
    )
    once = make_plan(wall("2026-01-01T09:00"), "UTC")
    assert find_due(once, settled=at("2025-12-01T00:00"), now=at("2026-01-02T08:59")) is not None
    assert find_due(once, settled=at("2025-12-01T00:00"), now=at("2026-01-02T09:01")) == Due(
        at("2026-01-01T09:00"), runs=False, is_late=True, collapsed=0, settle=at("2026-01-02T09:01")
    )


# --- for any plan --------------------------------------------------------------------------------------------------

ZONES = ["Europe/Vienna", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kolkata", "UTC",
         "America/St_Johns", "Africa/Casablanca", "Antarctica/Troll", "Pacific/Chatham"]  # fmt: skip
TEXTS = ["", "FREQ=DAILY", "FREQ=HOURLY", "FREQ=HOURLY;INTERVAL=5", "FREQ=MINUTELY;INTERVAL=15", "30 2 * * *",
         "0 * * * *", "*/20 1-3 * * *", "FREQ=WEEKLY;BYDAY=SU;BYHOUR=1,2,3;BYMINUTE=0,30",
         "FREQ=MONTHLY;BYDAY=-1SU;BYHOUR=2", "0 2 1 * 0", "FREQ=DAILY;COUNT=40",
         "FREQ=MINUTELY;INTERVAL=37;BYHOUR=0,1,2,3"]  # fmt: skip
_walls = st.integers(0, 15_000_000).map(lambda minutes: wall("2011-01-01T00:00") + timedelta(minutes=minutes))
_plans = st.builds(
    lambda start, zone, text: make_plan(start, zone, repeat=text), _walls, *map(st.sampled_from, (ZONES, TEXTS))
)


@settings(max_examples=300)
@given(_plans, st.timedeltas(-timedelta(days=40), timedelta(days=2000)))
def test_time_goes_one_way(plan: Plan, ahead: timedelta) -> None:
    """The next is later than asked, all are in order, each one's wall time exists, and asking again gives the same."""
    zone = zone_named(plan.zone)
    after = moment_of(plan.start, zone) + ahead
    found = list(islice(iter_occurrences(plan, after), 12))
    assert all(earlier < later for earlier, later in pairwise([after, *found]))
    for earlier, later in pairwise([after, *found]):
        assert next_after(plan, earlier) == later
        assert list_between(plan, later, later + timedelta(seconds=1)) == [later]
        assert later >= moment_of(plan.start, zone)


@settings(max_examples=300)
@given(_walls, st.sampled_from(ZONES))
def test_walls_and_moments(there: datetime, name: str) -> None:
    """A time that exists is shown at its moment; one that doesn't is the first moment of a new offset."""
    zone = zone_named(name)
    found = moment_of(there, zone)
    back = wall_at(found, zone)
    assert back >= there
    if back > there:
        assert wall_at(found - timedelta(seconds=1), zone) < there
        assert second_coming(there, zone) is None
    again = second_coming(there, zone)
    assert again is None or (again > found and wall_at(again, zone) == there)
