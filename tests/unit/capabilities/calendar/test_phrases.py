"""Phrases about time: what each means, and what is not understood."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.capabilities.calendar.recurrence.describe import describe_plan
from orchestrator.capabilities.calendar.recurrence.input import make_plan
from orchestrator.capabilities.calendar.recurrence.occurrences import next_after
from orchestrator.capabilities.calendar.recurrence.phrases import EXAMPLES, Phrase, read_phrase
from orchestrator.capabilities.calendar.recurrence.zones import zone_named
from orchestrator.core.errors import BadInput

VIENNA = "Europe/Vienna"
NOW = datetime(2026, 11, 24, 9, 5, 27, tzinfo=UTC)
"""A Tuesday; 10:05 in Vienna."""

ONCE = {
    "tomorrow 9am": "2026-11-25T09:00",
    "Tomorrow at 9 AM": "2026-11-25T09:00",
    "tomorrow 9": "2026-11-25T09:00",
    "tomorrow, 9:30": "2026-11-25T09:30",
    "9am tomorrow": "2026-11-25T09:00",
    "tomorrow": "2026-11-25T09:00",
    "at 9 tomorrow": "2026-11-25T09:00",
    "day after tomorrow at noon": "2026-11-26T12:00",
    "the day after tomorrow 12am": "2026-11-26T00:00",
    "today 17:00": "2026-11-24T17:00",
    "today at 12pm": "2026-11-24T12:00",
    "17:00": "2026-11-24T17:00",
    "at 8": "2026-11-25T08:00",
    "10.30": "2026-11-24T10:30",
    "friday": "2026-11-27T09:00",
    "thurs 17:00": "2026-11-26T17:00",
    "tues 17:00": "2026-11-24T17:00",
    "fri 17:00": "2026-11-27T17:00",
    "friday 17": "2026-11-27T17:00",
    "on friday at 5pm": "2026-11-27T17:00",
    "this friday at 5 pm": "2026-11-27T17:00",
    "at 5pm on friday": "2026-11-27T17:00",
    "next friday": "2026-11-27T09:00",
    "tuesday 17:00": "2026-11-24T17:00",
    "tuesday 9:00": "2026-12-01T09:00",
    "next tuesday 17:00": "2026-12-01T17:00",
    "on the 3rd at 8:15": "2026-12-03T08:15",
    "the 24th 9:00": "2026-12-24T09:00",
    "31st": "2026-12-31T09:00",
    "3 march at noon": "2027-03-03T12:00",
    "3rd of March 8:00": "2027-03-03T08:00",
    "March 3rd, 2028 at 18": "2028-03-03T18:00",
    "sept 1": "2027-09-01T09:00",
    "may 1": "2027-05-01T09:00",
    "29 feb": "2028-02-29T09:00",
    "2026-12-24 18:00": "2026-12-24T18:00",
    "in 20 minutes": "2026-11-24T09:25:27Z",
    "in 1 min": "2026-11-24T09:06:27Z",
    "in an hour": "2026-11-24T10:05:27Z",
    "in half an hour": "2026-11-24T09:35:27Z",
    "in an hour and 30 minutes": "2026-11-24T10:35:27Z",
    "in 2 days": "2026-11-26T09:05:27Z",
    "in a week": "2026-12-01T09:05:27Z",
}
AGAIN = {
    "every weekday at 8": ("2026-11-25T08:00", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "every weekday at 08:00"),
    "weekdays 8:00": ("2026-11-25T08:00", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "every weekday at 08:00"),
    "at 17:00 every workday": ("2026-11-24T17:00", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "every weekday at 17:00"),
    "every friday 17:00": ("2026-11-27T17:00", "FREQ=WEEKLY;BYDAY=FR", "every Friday at 17:00"),
    "every friday 17": ("2026-11-27T17:00", "FREQ=WEEKLY;BYDAY=FR", "every Friday at 17:00"),
    "every friday": ("2026-11-27T09:00", "FREQ=WEEKLY;BYDAY=FR", "every Friday at 09:00"),
    "fridays at 5pm": ("2026-11-27T17:00", "FREQ=WEEKLY;BYDAY=FR", "every Friday at 17:00"),
    "on mondays and thursdays at 7": (
        "2026-11-26T07:00", "FREQ=WEEKLY;BYDAY=MO,TH", "every Monday and Thursday at 07:00",
    ),
    "each mon, wed and fri 9am": (
        "2026-11-25T09:00", "FREQ=WEEKLY;BYDAY=MO,WE,FR", "every Monday, Wednesday and Friday at 09:00",
    ),
    "every weekend at 10": ("2026-11-28T10:00", "FREQ=WEEKLY;BYDAY=SA,SU", "every Saturday and Sunday at 10:00"),
    "every other friday at 9": (
        "2026-11-27T09:00", "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR", "every 2 weeks on Friday at 09:00",
    ),
    "every 2 weeks on monday": (
        "2026-11-30T09:00", "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO", "every 2 weeks on Monday at 09:00",
    ),
    "every week": ("2026-12-01T09:00", "FREQ=WEEKLY", "every Tuesday at 09:00"),
    "weekly on sunday at 20:15": ("2026-11-29T20:15", "FREQ=WEEKLY;BYDAY=SU", "every Sunday at 20:15"),
    "every day at 8 and 20": ("2026-11-24T20:00", "FREQ=DAILY;BYHOUR=8,20;BYMINUTE=0", "every day at 08:00 and 20:00"),
    "daily 6:30": ("2026-11-25T06:30", "FREQ=DAILY", "every day at 06:30"),
    "every 3 days at 8": ("2026-11-25T08:00", "FREQ=DAILY;INTERVAL=3", "every 3 days at 08:00"),
    "every hour": ("2026-11-24T11:00", "FREQ=HOURLY", "every hour"),
    "every 2 hours": ("2026-11-24T12:00", "FREQ=HOURLY;INTERVAL=2", "every 2 hours"),
    "every 15 minutes": ("2026-11-24T10:15", "FREQ=MINUTELY;INTERVAL=15", "every 15 minutes"),
    "every 7 minutes": ("2026-11-24T10:06", "FREQ=MINUTELY;INTERVAL=7", "every 7 minutes"),
    "every month on the 1st at 9": (
        "2026-12-01T09:00", "FREQ=MONTHLY;BYMONTHDAY=1", "on the 1st of each month at 09:00",
    ),
    "on the 1st of every month at 9": (
        "2026-12-01T09:00", "FREQ=MONTHLY;BYMONTHDAY=1", "on the 1st of each month at 09:00",
    ),
    "monthly on the 1st and the 15th": (
        "2026-12-01T09:00", "FREQ=MONTHLY;BYMONTHDAY=1,15", "on the 1st and 15th of each month at 09:00",
    ),
    "every month on the last day": (
        "2026-11-30T09:00", "FREQ=MONTHLY;BYMONTHDAY=-1", "on the last day of each month at 09:00",
    ),
    "every month on the first monday at 9": (
        "2026-12-07T09:00", "FREQ=MONTHLY;BYDAY=1MO", "on the 1st Monday of each month at 09:00",
    ),
    "the last friday of every month 16:00": (
        "2026-11-27T16:00", "FREQ=MONTHLY;BYDAY=-1FR", "on the last Friday of each month at 16:00",
    ),
    "every month": ("2026-12-24T09:00", "FREQ=MONTHLY", "on the 24th of each month at 09:00"),
    "every 3 months on the 1st": (
        "2026-12-01T09:00", "FREQ=MONTHLY;INTERVAL=3;BYMONTHDAY=1", "on the 1st of each 3rd month at 09:00",
    ),
    "every year on 24 December at 18": (
        "2026-12-24T18:00", "FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=24", "every year on 24 December at 18:00",
    ),
    "every december 24": (
        "2026-12-24T09:00", "FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=24", "every year on 24 December at 09:00",
    ),
    "yearly": ("2027-11-24T09:00", "FREQ=YEARLY", "every year on 24 November at 09:00"),
}  # fmt: skip
NOTHING = [
    "", "soon", "at", "in", "in a bit", "in 0 minutes", "every", "every blue moon", "every 0 days", "tomorrow 25:00",
    "tomorrow at 9:75", "tomorrow 13pm", "tomorrow 0am", "every hour at 9", "every day at 8 and 9:30",
    "friday 9 and 10am", "every friday if it rains", "tomorrow 9am please", "31 april", "30 feb", "40th", "m 3", "j 1",
    "3 march 2025", "every month on the 32nd", "every month on the 0", "every week on 3", "every weekday on friday",
    "8", "17", "every other weekday", "tomorrow 9am 10am", "every year on 24 december 2026", "0009-01-01",
    "in 5 minutes tomorrow",
]  # fmt: skip


@pytest.mark.parametrize(("said", "start"), ONCE.items())
def test_once(said: str, start: str) -> None:
    """The first such time that is still to come."""
    assert read_phrase(said, NOW, VIENNA) == Phrase(start, "")


@pytest.mark.parametrize(("said", "meant"), AGAIN.items())
def test_again_and_again(said: str, meant: tuple[str, str, str]) -> None:
    """A rule as it would be written by hand, which begins with a time of its own."""
    start, repeat, words = meant
    assert read_phrase(said, NOW, VIENNA) == Phrase(start, repeat)
    plan = make_plan(datetime.fromisoformat(start), VIENNA, repeat=repeat)
    assert describe_plan(plan) == words
    first = next_after(plan, NOW)
    assert first is not None
    assert first.astimezone(zone_named(VIENNA)).isoformat().startswith(start)


@pytest.mark.parametrize("said", NOTHING)
def test_what_is_not_understood_names_what_is(said: str) -> None:
    """Nothing is dropped or guessed; the sentence has examples."""
    with pytest.raises(BadInput) as error:
        read_phrase(said, NOW, VIENNA)
    assert all(example in error.value.message for example in EXAMPLES)


@pytest.mark.parametrize("said", ["today 10:05", "today", "2026-11-24 10:00"])
def test_what_is_over_is_refused(said: str) -> None:
    """With the time that it would have been."""
    with pytest.raises(BadInput, match=r"over already: it would have been 2026-11-24 (10:05|09:00|10:00)"):
        read_phrase(said, NOW, VIENNA)


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_are_understood(example: str) -> None:
    """In every zone."""
    for zone in ("UTC", VIENNA, "America/Los_Angeles", "Pacific/Auckland"):
        assert read_phrase(example, NOW, zone).start > "2026-11-24"


def test_the_clock_is_the_persons() -> None:
    """Late in the evening here it is tomorrow there."""
    late = datetime(2026, 11, 24, 23, 30, tzinfo=UTC)
    assert read_phrase("tomorrow 9am", late, "UTC").start == "2026-11-25T09:00"
    assert read_phrase("tomorrow 9am", late, VIENNA).start == "2026-11-26T09:00"


_WORDS = st.sampled_from(
    [
        *(
            "every",
            "in",
            "at",
            "on",
            "the",
            "a",
            "of",
            "and",
            "tomorrow",
            "today",
            "next",
            "friday",
            "weekday",
            "month",
        ),
        *("year", "day", "hours", "1st", "31st", "last", "first", "9am", "17:00", "8", "00:00", "99", "march", "2"),
        *("other", "minutes,", "noon", "2027", "2027-02-30", "half"),
    ]
)


@given(st.lists(_WORDS, max_size=8).map(" ".join) | st.text(max_size=30))
def test_whatever_is_said_is_a_time_or_refused(said: str) -> None:
    """Words in any order, and any text: what comes out can be planned and is to come."""
    try:
        found = read_phrase(said, NOW, VIENNA)
    except BadInput:
        return
    plan = make_plan(datetime.fromisoformat(found.start), VIENNA, repeat=found.repeat)
    assert next_after(plan, NOW) is not None
