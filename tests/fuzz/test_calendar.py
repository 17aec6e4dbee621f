"""Calendars: whatever is written as a repeat, a time or a title."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.capabilities.calendar.recurrence.day_layout import day_begins
from orchestrator.capabilities.calendar.recurrence.describe import describe_plan
from orchestrator.capabilities.calendar.recurrence.expand import read_repeat
from orchestrator.capabilities.calendar.recurrence.ics import MAX_OCTETS, IcsEntry, write_feed
from orchestrator.capabilities.calendar.recurrence.input import make_plan
from orchestrator.capabilities.calendar.recurrence.occurrences import (
    check_plan,
    iter_occurrences,
    list_between,
    next_after,
)
from orchestrator.capabilities.calendar.recurrence.rrule import Freq, read_rule
from orchestrator.core.errors import BadInput
from tests.fuzzing import bounded

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)
ZONES = [
    "UTC",
    "Europe/Vienna",
    "America/St_Johns",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Asia/Kathmandu",
    "Africa/Casablanca",
    "Antarctica/Troll",
]
MOST_S = 5.0

_NUMBERS = st.lists(st.integers(-400, 400), min_size=1, max_size=4).map(lambda found: ",".join(map(str, found)))
_DAYS = st.lists(
    st.sampled_from(["MO", "TU", "FR", "SU", "1MO", "-1FR", "5WE", "53SU", "0MO", "-54TU", "XX"]),
    min_size=1,
    max_size=3,
).map(",".join)
_WORDS = st.sampled_from(
    [
        "20260301",
        "20261301",
        "20260301T090000Z",
        "99991231T235959Z",
        "00010101",
        "1e9",
        "٣",
        "-",
        "+5",
        "9" * 30,
        "MO",
        "\0",
    ]
)
_PART = st.builds(
    lambda name, value: f"{name}={value}",
    st.sampled_from(["INTERVAL", "COUNT", "UNTIL", "BYMONTH", "BYWEEKNO", "BYYEARDAY", "BYMONTHDAY", "BYHOUR",
    "BYMINUTE", "BYSETPOS", "BYDAY", "WKST", "BYSECOND", "X"]),
    _NUMBERS | _DAYS | _WORDS | st.integers(1, 60).map(str),
)  # fmt: skip
_RULES = st.builds(
    lambda freq, parts: ";".join([f"FREQ={freq}", *parts]),
    st.sampled_from([*Freq, "SECONDLY", ""]),
    st.lists(_PART, max_size=4),
)
_FIELDS = st.lists(
    st.sampled_from(["*", "0", "1-5", "*/2", "*/7", "59", "31", "2", "L", "5L", "1#5", "mon-fri", "feb", "7", "0-7",
    "99", "*/0", "1,2,3", "30-10", "?", "W"]),
    min_size=4, max_size=6,
).map(" ".join)  # fmt: skip
_REPEATS = _RULES | _FIELDS | st.text(max_size=40)
_STARTS = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1)).map(lambda at: at.replace(microsecond=0))  # noqa: DTZ001  # wall clocks
_MOMENTS = (
    _STARTS | _STARTS.map(lambda at: at.replace(tzinfo=UTC)) | _STARTS.map(datetime.date) | st.dates() | st.datetimes()
)


@bounded(250)
@given(_REPEATS, _MOMENTS, st.sampled_from(ZONES) | st.text(max_size=12), st.none() | _MOMENTS)
def test_any_plan_is_refused_or_gives_its_times_soon(
    repeat: str, start: date | datetime, zone: str, until: date | datetime | None
) -> None:
    """Whatever is asked for becomes a plan whose times ascend, can be said and found within seconds, or is refused in
    one printable sentence."""
    began, refusal, plan = time.thread_time(), "", None
    try:
        plan = make_plan(start, zone, repeat=repeat, until=until)
        check_plan(plan, now=NOW)
    except BadInput as refused:
        refusal = refused.message
    assert time.thread_time() - began < MOST_S
    if plan is None or refusal:
        assert refusal.isprintable()
        return
    times = list(islice(iter_occurrences(plan, NOW), 5))
    assert times == sorted(set(times))
    assert all(at > NOW and at.tzinfo is not None for at in times)
    assert next_after(plan, NOW) == (times[0] if times else None)
    assert (
        list_between(plan, NOW, NOW + timedelta(days=3), limit=20)
        == [at for at in list_between(plan, NOW, NOW + timedelta(days=3)) if at][:20]
    )
    assert describe_plan(plan).isprintable()
    assert time.thread_time() - began < MOST_S


@bounded(150)
@given(_REPEATS, _MOMENTS, st.sampled_from(ZONES), st.text(max_size=90), st.text(max_size=90))
def test_any_entry_is_one_event_of_the_feed(
    repeat: str, start: date | datetime, zone: str, title: str, text: str
) -> None:
    """Whatever an entry says, its feed has no line that is too long, none that somebody else wrote, and as many events
    begun as ended."""
    try:
        plan = make_plan(start, zone, repeat=repeat)
        check_plan(plan, now=NOW)
    except BadInput:
        return
    made = write_feed(title, [IcsEntry("7.x@hermitshell", title, text, plan, NOW, color=title)], now=NOW)
    lines = made.split("\r\n")
    assert lines[-1] == ""
    assert all(len(line.encode()) <= MAX_OCTETS for line in lines)
    assert not any(char in line for line in lines for char in "\r\n\0\x1b\u2028")
    whole = [line for line in lines if not line.startswith(" ")]
    assert whole.count("BEGIN:VEVENT") == whole.count("END:VEVENT")
    assert (whole.count("BEGIN:VCALENDAR"), whole.count("END:VCALENDAR")) == (1, 1)
    known = {"BEGIN", "END", "VERSION", "PRODID", "CALSCALE", "METHOD", "X-WR-CALNAME", "UID", "DTSTAMP", "DTSTART",
    "DTEND", "DURATION", "SUMMARY",
             "DESCRIPTION", "RRULE", "EXDATE", "COLOR", "LAST-MODIFIED", "SEQUENCE", "TRANSP", "STATUS", "RDATE",
             "RECURRENCE-ID", "CATEGORIES", "REFRESH-INTERVAL", "X-PUBLISHED-TTL"}  # fmt: skip
    assert {line.partition(":")[0].partition(";")[0] for line in whole[:-1]} <= known


@bounded(300)
@given(_REPEATS)
def test_a_repeat_says_what_it_read(repeat: str) -> None:
    """A repeat that was read and written again is the same repeat."""
    try:
        found = read_repeat(repeat)
    except BadInput:
        return
    assert read_repeat(str(found)) == found
    if str(found).startswith("FREQ"):
        assert read_rule(str(found)) == found


@bounded(60)
@given(st.sampled_from(ZONES), st.dates(date(1980, 1, 1), date(2080, 1, 1)), st.integers(1, 40))
def test_days_follow_one_another(zone: str, first: date, count: int) -> None:
    """Every day of every zone begins after the one before it, also where a day is left out."""
    begins = day_begins(zone, first, count)
    assert begins == sorted(begins)
