"""Plans in words for people, and as the text that calendar apps read."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import islice

import pytest
from dateutil.rrule import rrulestr
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.capabilities.calendar.recurrence.describe import describe_plan
from orchestrator.capabilities.calendar.recurrence.expand import wall_times
from orchestrator.capabilities.calendar.recurrence.ics import MAX_OCTETS, IcsEntry, write_feed
from orchestrator.capabilities.calendar.recurrence.input import make_plan

START = datetime.fromisoformat("2026-03-01T09:00")  # a Sunday
NOW = datetime(2026, 2, 1, tzinfo=UTC)

WORDS = [
    ("", "once on Sun 1 Mar 2026 at 09:00"),
    ("FREQ=DAILY", "every day at 09:00"),
    ("FREQ=DAILY;INTERVAL=3", "every 3 days at 09:00"),
    ("FREQ=DAILY;BYHOUR=8,20;BYMINUTE=30", "every day at 08:30 and 20:30"),
    ("FREQ=DAILY;BYMONTH=12;BYDAY=SA,SU", "every Saturday and Sunday in December at 09:00"),
    ("FREQ=WEEKLY", "every Sunday at 09:00"),
    ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "every weekday at 09:00"),
    ("0 9 * * 1-5", "every weekday at 09:00"),
    ("0 9 * * mon,thu", "every Monday and Thursday at 09:00"),
    ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE,FR", "every 2 weeks on Monday, Wednesday and Friday at 09:00"),
    ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TU,WE,TH,FR", "every 2 weeks on weekdays at 09:00"),
    ("FREQ=MONTHLY", "on the 1st of each month at 09:00"),
    ("30 18 1 * *", "on the 1st of each month at 18:30"),
    ("FREQ=MONTHLY;BYMONTHDAY=2,13,22", "on the 2nd, 13th and 22nd of each month at 09:00"),
    ("FREQ=MONTHLY;BYMONTHDAY=-1", "on the last day of each month at 09:00"),
    ("FREQ=MONTHLY;BYMONTHDAY=-2", "on the 2nd to last day of each month at 09:00"),
    ("FREQ=MONTHLY;BYDAY=-1FR", "on the last Friday of each month at 09:00"),
    ("FREQ=MONTHLY;INTERVAL=3;BYDAY=1MO", "on the 1st Monday of each 3rd month at 09:00"),
    ("FREQ=MONTHLY;BYDAY=MO", "on every Monday of each month at 09:00"),
    ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "on the last weekday of each month at 09:00"),
    ("0 9 1 1,7 *", "on the 1st of January and July at 09:00"),
    ("FREQ=YEARLY", "every year on 1 March at 09:00"),
    ("FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=24,31", "every year on 24 December and 31 December at 09:00"),
    ("FREQ=HOURLY", "every hour"),
    ("FREQ=HOURLY;INTERVAL=6", "every 6 hours"),
    ("15 * * * *", "every hour at :15"),
    ("*/15 * * * *", "every 15 minutes"),
    ("* * * * *", "every minute"),
    ("*/30 * * * 1-5", "every 30 minutes on weekdays"),
    ("FREQ=MINUTELY;INTERVAL=20", "every 20 minutes"),
    ("FREQ=DAILY;COUNT=5", "every day at 09:00, 5 times"),
    ("FREQ=DAILY;COUNT=1", "every day at 09:00, once"),
    ("FREQ=DAILY;UNTIL=20261231", "every day at 09:00, until Thu 31 Dec 2026"),
    ("FREQ=DAILY;UNTIL=20261231T233000Z", "every day at 09:00, until Fri 1 Jan 2027"),
    ("0 9 1 * 5", "by the cron line 0 9 1 * 5"),
    ("*/7 9-17 * * *", "by the cron line */7 9-17 * * *"),
    ("FREQ=YEARLY;BYWEEKNO=20", "by the rule FREQ=YEARLY;BYWEEKNO=20"),
    ("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", "by the rule FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR"),
    ("FREQ=MONTHLY;BYDAY=1MO,FR", "by the rule FREQ=MONTHLY;BYDAY=FR,1MO"),
]


@pytest.mark.parametrize(("repeat", "words"), WORDS)
def test_plans_in_words(repeat: str, words: str) -> None:
    """What is common is said as people say it, and the rest as it was written."""
    assert describe_plan(make_plan(START, "Europe/Vienna", repeat=repeat)) == words


def test_exceptions_and_ends_in_words() -> None:
    """They are said after the rest."""
    plan = make_plan(START, "UTC", repeat="0 9 * * *", until=date(2026, 5, 1), without=[date(2026, 4, 1)])
    assert describe_plan(plan) == "every day at 09:00, until Fri 1 May 2026, with 1 exception"


# --- calendar apps -------------------------------------------------------------------------------------------------


def entry(repeat: str = "", zone: str = "Europe/Vienna", **more: object) -> IcsEntry:
    """An entry that starts on 1 March 2026 at nine."""
    plan = replace(make_plan(START, zone, repeat=repeat), **more)  # type: ignore[arg-type]  # any of its fields
    return IcsEntry("7@hermitshell", "Tea; cake, and\nmore", "C:\\x\r\nEND:VEVENT", plan, NOW)


def lines(*entries: IcsEntry, name: str = "crab") -> list[str]:
    """The feed's lines, put together again."""
    text = write_feed(name, entries, now=NOW)
    assert text.endswith("END:VCALENDAR\r\n")
    assert all(len(line.encode()) <= MAX_OCTETS for line in text.split("\r\n"))
    assert "\n" not in text.replace("\r\n", "")
    return text.replace("\r\n ", "").split("\r\n")[:-1]


def test_one_event() -> None:
    """Once is in UTC; what somebody wrote stays within its property."""
    assert lines(replace(entry(), color="red", length=timedelta(hours=1))) == [
        "BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//HermitShell//Calendar//EN", "CALSCALE:GREGORIAN",
        "METHOD:PUBLISH", "X-WR-CALNAME:crab",
        "BEGIN:VEVENT", "UID:7@hermitshell", "DTSTAMP:20260201T000000Z", "DTSTART:20260301T080000Z", "DURATION:PT60M",
        "SUMMARY:Tea\\; cake\\, and\\nmore", "DESCRIPTION:C:\\\\x\\nEND:VEVENT", "COLOR:red", "TRANSP:TRANSPARENT",
        "END:VEVENT", "END:VCALENDAR",
    ]  # fmt: skip


REPEATING = [
    ("FREQ=WEEKLY;BYDAY=MO", "UTC", {}, ["DTSTART:20260302T090000Z", "RRULE:FREQ=WEEKLY;BYDAY=MO"]),
    ("FREQ=WEEKLY;BYDAY=MO", "Europe/Vienna", {},
     ["DTSTART;TZID=Europe/Vienna:20260302T090000", "RRULE:FREQ=WEEKLY;BYDAY=MO"]),
    ("0 9 * * 1-5", "Europe/Vienna", {}, ["DTSTART;TZID=Europe/Vienna:20260302T090000",
     "RRULE:FREQ=WEEKLY;BYHOUR=9;BYMINUTE=0;BYDAY=MO,TU,WE,TH,FR"]),
    ("FREQ=DAILY;UNTIL=20260401", "Europe/Vienna", {},
     ["DTSTART;TZID=Europe/Vienna:20260301T090000", "RRULE:FREQ=DAILY;UNTIL=20260401T215959Z"]),
    ("FREQ=DAILY", "Europe/Vienna", {"until": datetime(2026, 3, 9, 9, tzinfo=UTC)},
     ["DTSTART;TZID=Europe/Vienna:20260301T090000", "RRULE:FREQ=DAILY;UNTIL=20260309T090000Z"]),
    ("FREQ=DAILY;COUNT=9", "Europe/Vienna", {"until": datetime(2026, 3, 3, 9, tzinfo=UTC)},
     ["DTSTART;TZID=Europe/Vienna:20260301T090000", "RRULE:FREQ=DAILY;COUNT=3"]),
    ("FREQ=DAILY;BYHOUR=9,18", "Europe/Vienna",
     {"without": (datetime(2026, 4, 1, 7, tzinfo=UTC), date(2026, 4, 3), date(2026, 2, 1))},
     ["DTSTART;TZID=Europe/Vienna:20260301T090000", "RRULE:FREQ=DAILY;BYHOUR=9,18",
      "EXDATE;TZID=Europe/Vienna:20260401T090000", "EXDATE;TZID=Europe/Vienna:20260403T090000",
      "EXDATE;TZID=Europe/Vienna:20260403T180000"]),
]  # fmt: skip


@pytest.mark.parametrize(("repeat", "zone", "more", "expected"), REPEATING)
def test_what_repeats(repeat: str, zone: str, more: dict[str, object], expected: list[str]) -> None:
    """It keeps its wall clock by its zone's name, and has one end."""
    found = [line for line in lines(entry(repeat, zone, **more)) if line.startswith(("DTSTART", "RRULE", "EXDATE"))]
    assert found == expected


def test_what_no_rule_says_is_listed() -> None:
    """Each time is an event of its own, with a name of its own; what never comes due is none."""
    found = lines(entry("0 9 1 * 5"))
    uids = [line for line in found if line.startswith("UID")]
    assert uids[:2] == ["UID:7@hermitshell-20260301T080000Z", "UID:7@hermitshell-20260306T080000Z"]
    assert len(uids) == len(set(uids)) == found.count("BEGIN:VEVENT") > 10
    assert "BEGIN:VEVENT" not in lines(entry("FREQ=DAILY;INTERVAL=7;BYDAY=MO"))


def test_names_cannot_add_lines() -> None:
    """Nor can an id, and colors that the format has no name for are left out."""
    odd = replace(entry(), uid="a\r\nX:1", title="x\u2028y\x1b\ud800", color="#ff0000")
    found = lines(odd, name="a\r\nBEGIN:VEVENT")
    assert "X-WR-CALNAME:a\\nBEGIN:VEVENT" in found
    assert "UID:a--X-1" in found
    assert "SUMMARY:x\\ny?" in found
    assert not any(line.startswith("COLOR") for line in found)


@settings(max_examples=200)
@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_stays_in_its_place(title: str, text: str) -> None:
    """Whatever is written, the lines are those of one event, none too long."""
    found = lines(replace(entry(), title=title, text=text))
    assert [line.partition(":")[0] for line in found if ":" in line].count("BEGIN") == 2
    assert len(found) == (16 if text else 15)


@pytest.mark.parametrize("repeat", [words[0] for words in WORDS if words[0]])
def test_apps_see_the_same_times(repeat: str) -> None:
    """The start and rule that are written give the plan's own times."""
    plan = make_plan(START, "Europe/Vienna", repeat=repeat)
    found = dict(
        line.partition(":")[::2]
        for line in lines(IcsEntry("x", "x", "", plan, NOW))
        if line.startswith(("DTSTART", "RRULE"))
    )
    if "RRULE" not in found:
        return
    start = datetime.fromisoformat(found["DTSTART;TZID=Europe/Vienna"])
    rule = found["RRULE"].replace("Z", "")  # the library wants both ends with a zone, or none
    ours = list(islice(wall_times(plan.repeat, START, START), 20)) if plan.repeat else []
    assert list(islice(rrulestr(rule, dtstart=start), 20)) == ours
