"""Repeat rules and cron lines: what is read, what is refused, and that both mean what their libraries say."""

from __future__ import annotations

from datetime import UTC, date, datetime
from itertools import islice, takewhile

import pytest
from dateutil.rrule import rrulestr
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.capabilities.calendar.recurrence.cron import Cron, as_rule, read_cron
from orchestrator.capabilities.calendar.recurrence.expand import read_repeat, wall_times
from orchestrator.capabilities.calendar.recurrence.rrule import Freq, Rule, read_rule
from orchestrator.core.errors import BadInput

READS = [
    ("FREQ=DAILY", Rule(Freq.DAILY)),
    ("RRULE:freq=weekly; byday=we,mo ;BYHOUR=9;BYMINUTE=0;BYSECOND=0;",
     Rule(Freq.WEEKLY, days=((0, 0), (0, 2)), hours=(9,), minutes=(0,))),
    ("FREQ=MONTHLY;INTERVAL=3;BYDAY=-1FR,+2TU;COUNT=4", Rule(Freq.MONTHLY, 3, 4, days=((-1, 4), (2, 1)))),
    ("FREQ=DAILY;UNTIL=20261231", Rule(Freq.DAILY, until=date(2026, 12, 31))),
    ("FREQ=DAILY;UNTIL=20261231T230000Z", Rule(Freq.DAILY, until=datetime(2026, 12, 31, 23, tzinfo=UTC))),
    ("FREQ=YEARLY;BYWEEKNO=20;WKST=SU", Rule(Freq.YEARLY, weeks=(20,), week_start=6)),
    ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1",
     Rule(Freq.MONTHLY, days=tuple((0, day) for day in range(5)), positions=(-1,))),
]  # fmt: skip

REFUSED = [
    ("", "five fields"), ("every day", "five fields"), ("* * * *", "five fields"), ("0 0 9 * * *", "five fields"),
    ("@daily", "five fields"), ("0 9 * * " + "1," * 200 + "1", "five fields"), ("０ 9 * * *", "five fields"),
    ("61 9 * * *", "minute is wrong"), ("0 24 * * *", "hour is wrong"), ("0 9 0 * *", "day-of-month is wrong"),
    ("0 9 * 13 *", "month is wrong"), ("0 9 * * 8", "day-of-week is wrong"), ("0 9 * * fre", "day-of-week is wrong"),
    ("*/0 9 * * *", "minute is wrong"), ("5-1 9 * * *", "minute is wrong"), ("0 9 30 2 *", "day-of-month is wrong"),
    ("0 9 31 4,6,9,11 *", "day-of-month is wrong"), ("a b c d e", "is wrong"), ("1,, 9 * * *", "minute is wrong"),
    ("BYDAY=MO", "FREQ must be one of"), ("FREQ=SECONDLY", "FREQ must be one of"), ("FREQ=", "has no value"),
    ("FREQ=DAILY;FREQ=DAILY", "'FREQ' is there twice"), ("FREQ=DAILY;INTERVAL", "'INTERVAL' has no value"),
    ("FREQ=DAILY;BYEASTER=1", "there is no part 'BYEASTER'"), ("FREQ=DAILY;X\u202e=1", r"there is no part 'X\\u202e'"),
    ("DTSTART:20260101T090000\nRRULE:FREQ=DAILY", "FREQ must be one of"),
    ("FREQ=DAILY;BYSECOND=30", "on the minute"), ("FREQ=DAILY;INTERVAL=0", "INTERVAL must be 1 to 3660"),
    ("FREQ=DAILY;INTERVAL=99999999999", "INTERVAL must be"), ("FREQ=YEARLY;INTERVAL=51", "INTERVAL must be 1 to 50"),
    ("FREQ=DAILY;INTERVAL=١", "INTERVAL must be"), ("FREQ=DAILY;COUNT=0", "COUNT must be 1 to 1000"),
    ("FREQ=DAILY;COUNT=1001", "COUNT must be"), ("FREQ=DAILY;COUNT=2;UNTIL=20260101", "COUNT or UNTIL, not both"),
    ("FREQ=DAILY;UNTIL=tomorrow", "UNTIL must be"), ("FREQ=DAILY;UNTIL=20260230", "UNTIL must be"),
    ("FREQ=DAILY;UNTIL=99991231T235959Z", "UNTIL must be"), ("FREQ=DAILY;UNTIL=20261231T2300", "UNTIL must be"),
    ("FREQ=DAILY;BYHOUR=24", "BYHOUR must be 0 to 23"), ("FREQ=DAILY;BYHOUR=-1", "BYHOUR must be 0 to 23"),
    ("FREQ=DAILY;BYHOUR=9,", "BYHOUR must be"), ("FREQ=MONTHLY;BYMONTHDAY=0", "must be 1 to 31 or -31 to -1"),
    ("FREQ=MONTHLY;BYMONTHDAY=32", "BYMONTHDAY must be"), ("FREQ=WEEKLY;BYMONTHDAY=1", "not for FREQ=WEEKLY"),
    ("FREQ=HOURLY;BYMONTHDAY=1", "not for FREQ=HOURLY"), ("FREQ=MONTHLY;BYWEEKNO=1", "is for FREQ=YEARLY"),
    ("FREQ=DAILY;BYYEARDAY=1", "is for FREQ=YEARLY"), ("FREQ=MINUTELY;BYSETPOS=1;BYHOUR=1", "not for FREQ=MINUTELY"),
    ("FREQ=MONTHLY;BYSETPOS=1", "needs something to choose from"), ("FREQ=MONTHLY;BYSETPOS=367", "BYSETPOS must be"),
    ("FREQ=MONTHLY;BYDAY=MO,-1FR;BYSETPOS=-7", "larger than the number"),
    ("FREQ=WEEKLY;BYDAY=MO;BYHOUR=9,10;BYSETPOS=3", "larger than the number"),
    ("FREQ=WEEKLY;BYDAY=1MO", "BYDAY must be"), ("FREQ=MONTHLY;BYDAY=6MO", "BYDAY must be"),
    ("FREQ=MONTHLY;BYDAY=0MO", "BYDAY must be"), ("FREQ=DAILY;BYDAY=MON", "BYDAY must be"),
    ("FREQ=DAILY;WKST=1", "WKST must be"), ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "no such month has that day"),
    ("FREQ=DAILY;BYMONTH=4,6;BYMONTHDAY=31,-31", "no such month has that day"),
    ("FREQ=YEARLY;BYWEEKNO=1;BYDAY=1MO", "does not go with BYWEEKNO"),
    ("FREQ=YEARLY;BYMONTH=2;BYDAY=53MO", "more than five"), ("FREQ=DAILY;" + "BYHOUR=9," * 100, "300 characters"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "rule"), READS)
def test_rules_are_read(text: str, rule: Rule) -> None:
    """In capitals or not, with or without the property's name, and written again they read the same."""
    assert read_repeat(text) == rule
    assert read_rule(str(rule)) == rule


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_what_is_no_repeat(text: str, words: str) -> None:
    """The sentence names the part and what it may be."""
    with pytest.raises(BadInput, match=f"^repeat: .*{words}") as refused:
        read_repeat(text)
    assert refused.value.message.isprintable()


def test_cron_lines_as_rules() -> None:
    """What one rule can say is said by a rule."""
    weekdays = tuple((0, day) for day in range(5))
    assert as_rule(read_cron("0 9 * * 1-5")) == Rule(Freq.WEEKLY, days=weekdays, hours=(9,), minutes=(0,))
    assert as_rule(read_cron("30 8,20 1 */6 *")) == Rule(
        Freq.MONTHLY, months=(1, 7), month_days=(1,), hours=(8, 20), minutes=(30,)
    )
    assert as_rule(read_cron("0 * * * *")) == Rule(Freq.HOURLY, minutes=(0,))
    assert as_rule(read_cron("0 9 L * *")) == Rule(Freq.MONTHLY, month_days=(-1,), hours=(9,), minutes=(0,))
    for line in ("0 9 1 * 5", "0 9 * * 5L", "0 9 * * 1#2", "0 9 LW * *"):
        assert as_rule(read_cron(line)) is None
    assert as_rule(read_cron("0 9 1-31 * 5")) == Rule(Freq.DAILY, hours=(9,), minutes=(0,))


# --- for any rule and line -----------------------------------------------------------------------------------------


def _numbers(least: int, most: int, *, negative: bool = False) -> st.SearchStrategy[str]:
    one = st.integers(least, most) | (st.integers(-most, -1) if negative else st.nothing())
    return st.lists(one, min_size=1, max_size=4).map(lambda found: ",".join(map(str, found)))


_days = st.sampled_from(["MO", "TU", "FR", "SU", "1MO", "-1FR", "5WE", "-5SA", "20TU"])
_PARTS = {
    "INTERVAL": st.integers(1, 12).map(str),
    "COUNT": st.integers(1, 30).map(str),
    "BYMONTH": _numbers(1, 12),
    "BYMONTHDAY": _numbers(1, 31, negative=True),
    "BYYEARDAY": _numbers(1, 366, negative=True),
    "BYWEEKNO": _numbers(1, 53, negative=True),
    "BYDAY": st.lists(_days, min_size=1, max_size=4).map(",".join),
    "BYHOUR": _numbers(0, 23),
    "BYMINUTE": _numbers(0, 59),
    "BYSETPOS": _numbers(1, 6, negative=True),
    "WKST": st.sampled_from(["MO", "SU"]),
}  # fmt: skip
_rules = st.builds(
    lambda freq, parts: ";".join([f"FREQ={freq}", *(f"{name}={value}" for name, value in parts.items())]),
    st.sampled_from(list(Freq)), st.fixed_dictionaries({}, optional=_PARTS),
)  # fmt: skip
_items = st.sampled_from(
    ["*", "0", "1", "5", "1-5", "*/2", "*/5", "2,4", "1-5/2", "0-20", "30", "12", "L", "mon", "feb", "5L", "2#3"]
)
_lines = st.lists(_items, min_size=5, max_size=5).map(" ".join)
_starts = st.datetimes(datetime(2000, 1, 1), datetime(2060, 1, 1)).map(lambda at: at.replace(microsecond=0))  # noqa: DTZ001  # wall clocks
_SOME = 8
_FAR = 60
"""Years that are compared."""


@settings(max_examples=300)
@given(_rules, _starts)
def test_rules_mean_what_the_library_says(text: str, start: datetime) -> None:
    """Our way there (another century, a start nearby) changes nothing, from wherever one looks."""
    try:
        rule = read_rule(text)
    except BadInput:
        return
    assert read_rule(str(rule)) == rule
    ours = list(islice(wall_times(rule, start, start), _SOME))
    assert ours == sorted(set(ours))
    for wanted in ours:
        assert next(wall_times(rule, start, wanted)) == wanted
    # A place within the first week counts the whole week here, and what is left of it there.
    is_comparable = not (rule.positions and rule.freq is Freq.WEEKLY)
    if ours and is_comparable:
        library = rrulestr(str(rule), dtstart=start)
        end = start.year + _FAR
        theirs = list(islice(takewhile(lambda at: at.year < end, library), _SOME))
        assert [at for at in ours if at.year < end] == theirs


@settings(max_examples=200)
@given(_lines, _starts)
def test_a_line_and_its_rule_mean_the_same(line: str, start: datetime) -> None:
    """Where a cron line can be said by a rule, the rule gives the same times."""
    try:
        cron = read_cron(line)
    except BadInput:
        return
    start = start.replace(second=0)
    rule = as_rule(cron)
    times = list(islice(wall_times(cron, start, start), _SOME))
    assert times == sorted(set(times))
    if rule is not None:
        assert list(islice(wall_times(rule, start, start), _SOME)) == times


_wild = st.one_of(
    st.text(max_size=40),
    st.text("0123456789*/,-LW# ", max_size=30),
    st.text("FREQ=DAILYUNTBSHM;,0123456789-+ ", max_size=40),
    _rules.map(lambda text: text.replace("=", "==", 1)),
)


@settings(max_examples=400)
@given(_wild)
def test_anything_else_is_refused(text: str) -> None:
    """Whatever comes in becomes a repeat or a plain refusal."""
    said = ""
    try:
        assert isinstance(read_repeat(text), Rule | Cron)
    except BadInput as refused:
        said = refused.message
    assert said == "" or said.startswith("repeat: ")
    assert said.isprintable()
