"""``orchestrator.capabilities.calendar``: what comes into the calendar, and what becomes of it when its time has
come.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.approvals.notifications import Notifications, as_json
from orchestrator.capabilities.calendar.deeds import CalendarDeeds
from orchestrator.capabilities.calendar.entries import MOST_ENTRIES, CalendarEntries
from orchestrator.capabilities.calendar.feeds import Feeds
from orchestrator.capabilities.calendar.notifications import MOST_TOLD, CalendarNotifications
from orchestrator.capabilities.calendar.rows import BY_AGENT, CalendarEntry, EntryStatus, RunResult
from orchestrator.capabilities.calendar.runs import MOST_FAILURES, CalendarRuns
from orchestrator.capabilities.calls import Calls
from orchestrator.capabilities.capability import Caller
from orchestrator.capabilities.table import REGISTRY
from orchestrator.core.errors import BadInput, Conflict, NotFound, OrchestratorError, TooMany, Unavailable
from orchestrator.core.models import CALENDAR, CubicleKey, TurnStatus
from orchestrator.turns.conversations import Conversations
from tests.support.core_fixture import KEY, OTHER, CoreFixture, core_fixture, heard, of_kind, watching

MONDAY = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)


@dataclass
class Crash(BaseException):
    """The process dies at this instant."""


@dataclass
class Fixture:
    """The calendar over real rooms, with a clock that tests set."""

    rooms: CoreFixture
    time: datetime
    fails: list[BaseException] = field(default_factory=list)
    """Raised one after the other instead of making a turn."""
    submitted: list[tuple[str, str]] = field(default_factory=list)
    shown: list[CubicleKey] = field(default_factory=list)

    def __post_init__(self) -> None:
        r = self.rooms
        self.notifications = Notifications(r.store, r.broker, now=self.now)
        announcer = CalendarNotifications(self.notifications, r.users)
        self.runs = CalendarRuns(
            store=r.store,
            broker=r.broker,
            announcer=announcer,
            submit=self._submit,
            hooks=r.hooks,
            now=self.now,
        )
        self.calendar = CalendarEntries(
            store=r.store,
            broker=r.broker,
            announcer=announcer,
            runs=self.runs,
            feeds=Feeds(r.store, install="i", base_url="http://h", now=self.now),
            hooks=r.hooks,
            now=self.now,
        )
        self.offers = CalendarDeeds(self.calendar, self.runs, announcer)
        self.offers.register_buttons(self.notifications)
        self.calls = Calls(store=r.store, agents=r.agents, now=self.now)
        self.calls.set_registry(REGISTRY, self.offers.deeds)
        r.hooks.calendar_changed.subscribe(self.shown.append)

    def now(self) -> float:
        """What the clock shows."""
        return self.time.timestamp()

    def add(self, start: str, **fields: Any) -> CalendarEntry:
        """An entry of a person's."""
        given = {"title": "Look", "prompt": "Look after things.", "start": start, **fields}
        return self.calendar.create_entry(KEY, given, by=self.rooms.operator)

    def at(self, when: str | datetime) -> None:
        """The clock shows this, and is looked at."""
        self.time = datetime.fromisoformat(when) if isinstance(when, str) else when
        self.runs.run_due()

    def walk(self, until: datetime, step: timedelta) -> None:
        """Time passes."""
        while self.time < until:
            self.at(min(self.time + step, until))

    def ran(self, entry: int) -> list[tuple[str, RunResult]]:
        """The times of an entry and what came of them, oldest first."""
        return [
            (datetime.fromtimestamp(run.due_at, UTC).isoformat(timespec="minutes")[:16], run.outcome)
            for run in reversed(self.calendar.list_runs(entry, 1000))
        ]

    def finish(self, status: TurnStatus = TurnStatus.DONE, reply: str = "done") -> None:
        """A crab ends every turn there is."""
        while (turn := self.rooms.turns.take_next(KEY, "boot", 0)) is not None:
            error = "It broke." if status is TurnStatus.FAILED else None
            self.rooms.turns.end_turn(KEY, turn.id, status, reply=reply, error=error)
        self.runs.run_due()

    def call(self, name: str, **fields: Any) -> Any:
        """What an agent asks for."""
        return self.call_as(Caller(KEY, None), name, **fields)

    def call_as(self, caller: Caller, name: str, **fields: Any) -> Any:
        """The same, by another one or in a turn."""
        return self.calls.run_command(caller, f"c{random.getrandbits(64):x}", name, fields)

    def _submit(self, entry: CalendarEntry, origin: str) -> int:
        if self.fails:
            raise self.fails.pop(0)
        self.submitted.append((entry.prompt, origin))
        return self.rooms.turns.submit(entry.cubicle, entry.prompt, source=CALENDAR, origin=origin).id


@contextmanager
def fixture(home: Path, time: datetime = MONDAY, zone: str = "Europe/Vienna") -> Iterator[Fixture]:
    """A fixture over ``home``, whose person lives in ``zone``; opened again it is as it was left."""
    with core_fixture(home) as found:
        found.users.update_user(found.operator.id, {"time_zone": zone})
        yield Fixture(found, time)


@pytest.fixture
def open_fixture(tmp_path: Path) -> Iterator[Fixture]:
    """A fixture in Vienna, on a Monday at 09:00 there."""
    with fixture(tmp_path) as found:
        yield found


# --- what comes in -----------------------------------------------------------------------------------------------


def test_a_start_without_an_offset_is_the_persons_own_clock(open_fixture: Fixture) -> None:
    """10:00 in Vienna is 09:00 UTC in winter; an offset is that moment."""
    assert open_fixture.add("2026-03-02T10:00").next_at == datetime(2026, 3, 2, 9, tzinfo=UTC).timestamp()
    assert open_fixture.add("2026-03-02T10:00:00Z").next_at == datetime(2026, 3, 2, 10, tzinfo=UTC).timestamp()
    assert open_fixture.add("2026-03-02T10:00", time_zone=None, missed="").time_zone == "Europe/Vienna"
    other = open_fixture.add("2026-03-02T10:00", time_zone="America/New_York")
    assert other.next_at == datetime(2026, 3, 2, 15, tzinfo=UTC).timestamp()
    assert open_fixture.calendar.describe_entry(other) == "once on Mon 2 Mar 2026 at 10:00 (America/New_York)"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"title": ""}, "title can't be empty"),
        ({"prompt": None}, "prompt can't be empty"),
        ({"start": "tomorrow"}, "start must be"),
        ({"start": "2026-03-01T10:00"}, "start: that time has passed"),
        ({"title": "x" * 201}, "title may have 200"),
        ({"prompt": "x" * 4001}, "prompt may have 4,000"),
        ({"repeat": "* * * * *"}, "every 5 minutes at most"),
        ({"repeat": "FREQ=SECONDLY"}, "FREQ must be one of"),
        ({"repeat": "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"}, "never come due"),
        ({"end": "2026-03-02T09:59"}, "end: it lies before the start"),
        ({"time_zone": "Vienna"}, "there is no such zone"),
        ({"missed": "later"}, "missed must be"),
        ({"color": "<b>"}, "color must be"),
        ({"owner": 2}, "owner: there is no such field"),
    ],
)
def test_what_is_wrong_is_named(open_fixture: Fixture, fields: dict[str, Any], said: str) -> None:
    """The field and the fix; nothing comes into the calendar."""
    given = {"title": "T", "prompt": "P", "start": "2026-03-02T10:00", **fields}
    with pytest.raises(BadInput, match=said):
        open_fixture.calendar.create_entry(KEY, given, by=open_fixture.rooms.operator)
    assert open_fixture.calendar.list_entries() == []


def test_an_end_within_a_day_is_a_length_and_a_later_one_ends_the_series(open_fixture: Fixture) -> None:
    """The first goes on for ever, the second until its day is over."""
    short = open_fixture.add("2026-03-02T10:00", end="2026-03-02T11:30", repeat="FREQ=DAILY")
    ended = open_fixture.add("2026-03-02T10:00", end="2026-03-04", repeat="FREQ=DAILY")
    assert len(open_fixture.calendar.list_upcoming(limit=1000)) == 60 + 3
    assert "DURATION:PT90M" in open_fixture.calendar.read_feed(
        open_fixture.calendar.feed_url(KEY).rpartition("/")[2][:-4]
    )
    open_fixture.walk(datetime(2026, 3, 6, tzinfo=UTC), timedelta(hours=6))
    open_fixture.finish()
    assert open_fixture.calendar.get_entry(ended.id).status is EntryStatus.ENDED
    assert open_fixture.calendar.get_entry(short.id).status is EntryStatus.ACTIVE


def test_a_calendar_holds_a_hundred_entries(open_fixture: Fixture) -> None:
    """Of two thousand proposals of an agent most are refused, and the hour's allowance ends the rest."""
    refused = 0
    for number in range(2_000):
        try:
            open_fixture.call("CALENDAR_CREATE", title=f"T{number}", prompt="P", start="2026-04-01T10:00")
        except TooMany:
            refused += 1
    assert len(open_fixture.calendar.list_entries()) == MOST_ENTRIES
    assert refused == 2_000 - MOST_ENTRIES
    open_fixture.calendar.remove_entry(open_fixture.calendar.list_entries()[0].id, by=open_fixture.rooms.operator)
    open_fixture.add("2026-04-01T10:00")


# --- what comes due ----------------------------------------------------------------------------------------------


def test_what_is_due_becomes_a_turn_once(open_fixture: Fixture) -> None:
    """Its prompt is asked by the calendar; looking again changes nothing; a thing of once has ended then."""
    entry = open_fixture.add("2026-03-02T10:00")
    open_fixture.at("2026-03-02T08:59:59+00:00")
    assert open_fixture.submitted == []
    for _ in range(3):
        open_fixture.at("2026-03-02T09:00:00+00:00")
    (run,) = open_fixture.calendar.list_runs(entry.id)
    turn = open_fixture.rooms.turns.get(run.turn or 0)
    assert (turn.prompt, turn.source, run.outcome) == ("Look after things.", CALENDAR, RunResult.RUNNING)
    assert open_fixture.calendar.get_entry(entry.id).status is EntryStatus.ENDED
    open_fixture.finish()
    assert open_fixture.ran(entry.id) == [("2026-03-02T09:00", RunResult.DONE)]


@pytest.mark.parametrize(
    ("zone", "entry", "span", "times"),
    [
        # 02:30 is leapt over on 29 March: it is run at the first moment after, 03:00 = 01:00 UTC.
        ("Europe/Vienna", ("2026-03-28T02:30", "FREQ=DAILY"), ("2026-03-27", "2026-03-31"),
         ["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"]),
        # 02:30 comes twice on 25 October: it is run the first time alone.
        ("Europe/Vienna", ("2026-10-24T02:30", "FREQ=DAILY"), ("2026-10-23", "2026-10-27"),
         ["2026-10-24T00:30", "2026-10-25T00:30", "2026-10-26T01:30"]),
        ("Europe/Vienna", ("2026-10-25T01:00", "0 * * * *"), ("2026-10-24T22:30", "2026-10-25T02:30"),
         ["2026-10-24T23:00", "2026-10-25T00:00", "2026-10-25T01:00", "2026-10-25T02:00"]),
        ("America/New_York", ("2026-03-07T02:30", "30 2 * * *"), ("2026-03-06", "2026-03-10"),
         ["2026-03-07T07:30", "2026-03-08T07:00", "2026-03-09T06:30"]),
        ("America/New_York", ("2026-10-31T01:30", "FREQ=DAILY"), ("2026-10-30", "2026-11-03"),
         ["2026-10-31T05:30", "2026-11-01T05:30", "2026-11-02T06:30"]),
    ],
)  # fmt: skip
def test_clock_changes(
    tmp_path: Path, zone: str, entry: tuple[str, str], span: tuple[str, str], times: list[str]
) -> None:
    """At both changes of the clock each day has its run, once, and an hourly thing goes through the hour twice."""
    begin, end = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in span)
    with fixture(tmp_path, begin, zone) as there:
        made = there.add(entry[0], repeat=entry[1])
        while there.time < end:
            there.at(there.time + timedelta(minutes=10))
            there.finish()
        assert there.ran(made.id) == [(time, RunResult.DONE) for time in times]


@pytest.mark.parametrize(("missed", "outcome"), [("run", RunResult.DONE), ("skip", RunResult.MISSED)])
def test_a_hundred_missed_times_are_one_run(tmp_path: Path, missed: str, outcome: RunResult) -> None:
    """The install stood still over a hundred times: one run for all of them, late, or none."""
    with fixture(tmp_path) as before:
        entry = before.add("2026-03-02T10:00", repeat="*/10 * * * *", missed=missed)
    with fixture(tmp_path, MONDAY + timedelta(minutes=1055)) as after:
        after.runs.run_due()
        after.finish()
        (run,) = after.calendar.list_runs(entry.id)
        assert (run.outcome, run.is_late, len(after.submitted)) == (outcome, True, int(missed == "run"))
        assert run.collapsed == 99
        after.walk(after.time + timedelta(minutes=10), timedelta(minutes=5))
        assert len(after.submitted) == 1 + int(missed == "run")


def test_what_was_missed_for_more_than_a_day_is_left_out_and_told(open_fixture: Fixture) -> None:
    """A person may have it run all the same."""
    entry = open_fixture.add("2026-03-02T10:00")
    open_fixture.at("2026-03-03T09:00:01+00:00")
    assert open_fixture.ran(entry.id) == [("2026-03-02T09:00", RunResult.MISSED)]
    (notice,) = open_fixture.notifications.list_recent(KEY)
    assert "was due on Mon 2 Mar 2026 at 10:00" in notice.text
    settled = open_fixture.notifications.press_button(
        notice.id, "calendar.run", by=open_fixture.rooms.operator, surface="test"
    )
    open_fixture.runs.run_due()
    assert (settled.outcome, len(open_fixture.submitted)) == ("“Look” runs now.", 1)


def test_a_run_that_is_under_way_is_not_overtaken(open_fixture: Fixture) -> None:
    """The time passes with a row that says why; the next one is run again."""
    entry = open_fixture.add("2026-03-02T10:00", repeat="0 * * * *")
    open_fixture.at("2026-03-02T09:00:00+00:00")
    open_fixture.at("2026-03-02T10:00:00+00:00")
    open_fixture.finish()
    open_fixture.at("2026-03-02T11:00:00+00:00")
    assert open_fixture.ran(entry.id) == [
        ("2026-03-02T09:00", RunResult.DONE),
        ("2026-03-02T10:00", RunResult.OVERLAP),
        ("2026-03-02T11:00", RunResult.RUNNING),
    ]


# --- clocks that are set -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("days", [0.01, 0.9, 1.1, 40])
def test_a_clock_that_is_put_back_runs_nothing_twice(open_fixture: Fixture, days: float) -> None:
    """Each time is run once, however often the clock shows it."""
    entry = open_fixture.add("2026-03-02T10:00", repeat="0 * * * *")
    once = open_fixture.add("2026-03-02T12:30")
    for _ in range(60):
        open_fixture.at(open_fixture.time + timedelta(hours=1))
        open_fixture.finish()
    until = open_fixture.time
    times = open_fixture.ran(entry.id)
    open_fixture.at(until - timedelta(days=days))
    while open_fixture.time < until:
        open_fixture.at(open_fixture.time + timedelta(minutes=30))
        open_fixture.finish()
    again = open_fixture.ran(entry.id)
    assert again[: len(times)] == times
    assert len({time for time, _ in again}) == len(again)
    assert all(time < "2026-03-02T09:00" for time, _ in again[len(times) :])
    assert len(open_fixture.ran(once.id)) == 1
    open_fixture.at(until + timedelta(hours=1))
    assert len(open_fixture.ran(entry.id)) == len(again) + 1


def test_a_clock_that_leapt_forward_and_back_loses_nothing(open_fixture: Fixture) -> None:
    """One late run for the leap; when the clock is right again, the days in between have their runs, and what is to
    happen once happens when its time comes."""
    daily = open_fixture.add("2026-03-02T10:00", repeat="FREQ=DAILY")
    once = open_fixture.add("2026-03-10T10:00")
    open_fixture.at(MONDAY + timedelta(days=40))
    open_fixture.finish()
    assert [outcome for _, outcome in open_fixture.ran(daily.id)] == [RunResult.DONE]
    assert open_fixture.ran(once.id) == [("2026-03-10T09:00", RunResult.MISSED)]
    open_fixture.at(MONDAY)
    while open_fixture.time < MONDAY + timedelta(days=45):
        open_fixture.at(open_fixture.time + timedelta(hours=12))
        open_fixture.finish()
    times = [time for time, _ in open_fixture.ran(daily.id)]
    assert len(times) == len(set(times)) == 45
    assert open_fixture.ran(once.id) == [("2026-03-10T09:00", RunResult.DONE)]


def test_any_walk_of_the_clock_runs_each_time_at_most_once(open_fixture: Fixture) -> None:
    """Forwards, backwards, by seconds and by weeks: no two turns for one time, and none ahead of the clock."""
    dice = random.Random(5)  # noqa: S311 - a test's own dice
    entries = [
        open_fixture.add("2026-03-02T10:00", repeat=repeat)
        for repeat in ("*/20 * * * *", "0 9 * * *", "FREQ=WEEKLY;BYDAY=MO,TH")
    ]
    latest = open_fixture.time
    for _ in range(300):
        step = timedelta(seconds=dice.choice([1, 60, 3600, 86_400, 864_000]) * dice.uniform(-1, 1.4))
        open_fixture.at(max(open_fixture.time + step, MONDAY - timedelta(days=60)))
        latest = max(latest, open_fixture.time)
        open_fixture.finish()
    origins = [origin for _, origin in open_fixture.submitted]
    assert len(origins) == len(set(origins)) > 50
    for entry in entries:
        assert all(run.due_at <= latest.timestamp() for run in open_fixture.calendar.list_runs(entry.id, 1000))


# --- deaths ------------------------------------------------------------------------------------------------------


def _dies_before_the_turn(fixture_: Fixture) -> None:
    fixture_.fails.append(Crash())


def _dies_before_the_mark(fixture_: Fixture) -> None:
    submit = fixture_._submit

    def dies(entry: CalendarEntry, origin: str) -> int:
        submit(entry, origin)
        raise Crash

    fixture_.runs._submit = dies


@pytest.mark.parametrize("dies", [_dies_before_the_turn, _dies_before_the_mark])
@pytest.mark.parametrize("hours", [0, 5])
def test_a_death_neither_drops_nor_doubles_a_run(tmp_path: Path, dies: Callable[[Fixture], None], hours: int) -> None:
    """Whether it comes before the turn is made or before its number is noted, there is one turn."""
    with fixture(tmp_path) as before:
        entry = before.add("2026-03-02T10:00", repeat="FREQ=DAILY")
        dies(before)
        with pytest.raises(Crash):
            before.at("2026-03-02T09:00:00+00:00")
        assert [outcome for _, outcome in before.ran(entry.id)] == [RunResult.CLAIMED]
    with fixture(tmp_path, datetime(2026, 3, 2, 9 + hours, tzinfo=UTC)) as after:
        after.runs.run_due()
        after.finish()
        assert after.ran(entry.id) == [("2026-03-02T09:00", RunResult.DONE)]
        assert len(after.rooms.turns.list_history(KEY)) == 1


def test_what_can_not_be_asked_now_is_asked_later(open_fixture: Fixture) -> None:
    """A full disk delays a run; after a day it makes no sense any more."""
    entry = open_fixture.add("2026-03-02T10:00", repeat="FREQ=DAILY")
    open_fixture.fails += [Unavailable("The disk is full.")] * 20
    open_fixture.at("2026-03-02T09:00:00+00:00")
    open_fixture.at("2026-03-02T09:30:00+00:00")
    assert [outcome for _, outcome in open_fixture.ran(entry.id)] == [RunResult.CLAIMED]
    open_fixture.fails.clear()
    open_fixture.at("2026-03-02T09:40:00+00:00")
    open_fixture.finish()
    open_fixture.fails += [Unavailable("The disk is full.")] * 20
    open_fixture.at("2026-03-03T09:00:00+00:00")
    open_fixture.at("2026-03-04T09:00:01+00:00")
    assert open_fixture.ran(entry.id)[1] == ("2026-03-03T09:00", RunResult.MISSED)


# --- in which conversation ---------------------------------------------------------------------------------------


def test_an_entry_belongs_to_the_conversation_of_its_turn(open_fixture: Fixture) -> None:
    """Whatever is changed about it from where; and so does what is said about it. A person's own belongs to none."""
    rooms, operator = open_fixture.rooms, open_fixture.rooms.operator
    conversations = Conversations(rooms.store, rooms.broker)
    boat, other = (conversations.create(KEY, name) for name in ("Boat", "Other"))
    turns = [rooms.turns.submit(KEY, "go", source="api", conversation=one.id).id for one in (boat, other)]
    fields = {"title": "Look", "prompt": "Look.", "start": "2026-03-02T10:00"}
    open_fixture.call_as(Caller(KEY, turns[0]), "CALENDAR_CREATE", **fields)
    (entry,) = open_fixture.calendar.list_entries()
    open_fixture.call_as(Caller(KEY, turns[1]), "CALENDAR_UPDATE", id=entry.id, title="Look again")
    open_fixture.calendar.change_entry(entry.id, {"prompt": "Look twice."}, by=operator)
    assert open_fixture.calendar.get_entry(entry.id).conversation == boat.id
    assert [one.conversation for one in open_fixture.notifications.list_recent(KEY)] == [boat.id, other.id]
    assert open_fixture.add("2026-03-02T10:00").conversation is None


def test_an_entry_that_comes_back_is_where_it_was(open_fixture: Fixture) -> None:
    """An agent deleted it, and its person undoes that."""
    rooms = open_fixture.rooms
    boat = Conversations(rooms.store, rooms.broker).create(KEY, "Boat")
    turn = rooms.turns.submit(KEY, "go", source="api", conversation=boat.id).id
    fields = {"title": "Look", "prompt": "Look.", "start": "2026-03-02T10:00"}
    open_fixture.call_as(Caller(KEY, turn), "CALENDAR_CREATE", **fields)
    (entry,) = open_fixture.calendar.list_entries()
    open_fixture.call_as(Caller(KEY, turn), "CALENDAR_DELETE", id=entry.id)
    notice = open_fixture.notifications.list_recent(KEY)[-1]
    open_fixture.notifications.press_button(notice.id, "calendar.undo", by=rooms.operator, surface="test")
    back = open_fixture.calendar.get_entry(entry.id)
    assert back.conversation == boat.id


def test_what_is_paused_is_told_in_a_conversation_that_is_there(open_fixture: Fixture) -> None:
    """Its own; where that was deleted, in none."""
    rooms = open_fixture.rooms
    conversations = Conversations(rooms.store, rooms.broker)
    conversations.get(KEY)
    boat = conversations.create(KEY, "Boat")
    turn = rooms.turns.submit(KEY, "go", source="api", conversation=boat.id)
    fields = {"title": "Look", "prompt": "Look.", "start": "2026-03-02T10:00", "repeat": "0 * * * *"}
    open_fixture.call_as(Caller(KEY, turn.id), "CALENDAR_CREATE", **fields)
    open_fixture.finish()
    for _ in range(MOST_FAILURES):
        open_fixture.at(open_fixture.time + timedelta(hours=1))
        open_fixture.finish(TurnStatus.FAILED)
    assert open_fixture.notifications.list_recent(KEY)[-1].conversation == boat.id
    (entry,) = open_fixture.calendar.list_entries()
    conversations.delete(KEY, boat.id)
    open_fixture.calendar.change_entry(entry.id, {"status": "active"}, by=rooms.operator)
    for _ in range(MOST_FAILURES):
        open_fixture.at(open_fixture.time + timedelta(hours=1))
        open_fixture.finish(TurnStatus.FAILED)
    assert open_fixture.notifications.list_recent(KEY)[-1].conversation is None
    first = conversations.get(KEY)
    assert open_fixture.calendar.conversation_of(open_fixture.calendar.get_entry(entry.id)) == first


# --- outcomes ----------------------------------------------------------------------------------------------------


def test_three_failing_runs_in_a_row_pause_an_entry(open_fixture: Fixture) -> None:
    """The person is told and may resume it; a run that works in between starts the count again."""
    entry = open_fixture.add("2026-03-02T10:00", repeat="0 * * * *")
    statuses = [TurnStatus.FAILED, TurnStatus.FAILED, TurnStatus.DONE, *[TurnStatus.FAILED] * MOST_FAILURES]
    for status in [*statuses, TurnStatus.FAILED]:
        open_fixture.at(open_fixture.time + timedelta(hours=1))
        open_fixture.finish(status)
    paused = open_fixture.calendar.get_entry(entry.id)
    assert (paused.status, paused.next_at, len(open_fixture.submitted)) == (EntryStatus.PAUSED, None, len(statuses))
    (notice,) = open_fixture.notifications.list_recent(KEY)
    assert "failed 3 times in a row" in notice.text
    settled = open_fixture.notifications.press_button(
        notice.id, "calendar.resume", by=open_fixture.rooms.operator, surface="test"
    )
    assert settled.outcome.startswith("“Look” is resumed. It next comes due on Mon 2 Mar 2026 at 17:00")
    resumed = open_fixture.calendar.get_entry(entry.id)
    assert (resumed.status, resumed.failures) == (EntryStatus.ACTIVE, 0)


def test_a_person_has_an_entry_run_now(open_fixture: Fixture) -> None:
    """Beside its times, paused or not, but not twice at once."""
    entry = open_fixture.add("2026-03-02T10:00", repeat="FREQ=DAILY")
    open_fixture.calendar.change_entry(entry.id, {"status": "paused"}, by=open_fixture.rooms.operator)
    turn = open_fixture.calendar.run_now(entry.id)
    with pytest.raises(Conflict, match="running already"):
        open_fixture.calendar.run_now(entry.id)
    assert open_fixture.rooms.turns.get(turn).source == CALENDAR
    open_fixture.finish()
    open_fixture.time += timedelta(seconds=1)
    open_fixture.fails.append(Unavailable("The disk is full."))
    with pytest.raises(Unavailable):
        open_fixture.calendar.run_now(entry.id)
    open_fixture.runs.run_due()
    assert [run.outcome for run in open_fixture.calendar.list_runs(entry.id)] == [RunResult.MISSED, RunResult.DONE]
    assert len(open_fixture.submitted) == 1


def test_what_was_paused_does_not_catch_up(open_fixture: Fixture) -> None:
    """From when it is resumed on, it comes due again."""
    entry = open_fixture.add("2026-03-02T10:00", repeat="0 * * * *")
    operator = open_fixture.rooms.operator
    open_fixture.calendar.change_entry(entry.id, {"status": "paused"}, by=operator)
    open_fixture.at("2026-03-02T12:30:00+00:00")
    open_fixture.calendar.change_entry(entry.id, {"status": "active"}, by=operator)
    open_fixture.at("2026-03-02T13:00:00+00:00")
    assert open_fixture.ran(entry.id) == [("2026-03-02T13:00", RunResult.RUNNING)]


def test_a_change_of_the_words_alone_keeps_the_times(open_fixture: Fixture) -> None:
    """Another title is no reason to start again, other times are; what has ended may be given new ones."""
    operator = open_fixture.rooms.operator
    entry = open_fixture.add("2026-03-02T10:00")
    open_fixture.at("2026-03-02T09:00:00+00:00")
    renamed = open_fixture.calendar.change_entry(entry.id, {"title": "New"}, by=operator)
    assert (renamed.title, renamed.status) == ("New", EntryStatus.ENDED)
    with pytest.raises(BadInput, match="has passed"):
        open_fixture.calendar.change_entry(entry.id, {"status": "active"}, by=operator)
    moved = open_fixture.calendar.change_entry(entry.id, {"start": "2026-03-02T11:00", "end": None}, by=operator)
    assert moved.status is EntryStatus.ACTIVE
    with pytest.raises(BadInput, match="status must be"):
        open_fixture.calendar.change_entry(entry.id, {"status": "ended"}, by=operator)


# --- what agents do ----------------------------------------------------------------------------------------------


def test_an_agent_keeps_its_own_calendar(open_fixture: Fixture) -> None:
    """It makes, changes, lists and deletes entries by sentences and by JSON."""
    made = open_fixture.call(
        "CALENDAR_CREATE", title="Stand-up", prompt="Remind me.", start="2026-03-03T09:00", repeat="0 9 * * 1-5"
    )
    assert made.text == (
        f"Entry {made.result['id']} “Stand-up” is in the calendar: every weekday at 09:00. "
        "It next comes due on Tue 3 Mar 2026 at 09:00 (Europe/Vienna)."
    )
    assert made.result["next_at"] == "2026-03-03T08:00:00Z"
    changed = open_fixture.call("CALENDAR_UPDATE", id=made.result["id"], repeat="-")
    assert "is changed: once on Tue 3 Mar 2026 at 09:00." in changed.text
    listed = open_fixture.call("CALENDAR_LIST")
    assert listed.text.startswith(f"{made.result['id']}: “Stand-up”, once on")
    within = open_fixture.call("CALENDAR_LIST", **{"from": "2026-03-03", "to": "2026-03-03"})
    assert within.text == f"Tue 3 Mar 2026 at 09:00: entry {made.result['id']} “Stand-up”"
    assert open_fixture.call("CALENDAR_LIST", to="2026-03-02").text == "Nothing comes due in that time."
    open_fixture.call("CALENDAR_DELETE", id=made.result["id"])
    assert open_fixture.call("CALENDAR_LIST").text == "The calendar is empty."


def test_a_series_leaves_out_what_it_is_told_to(open_fixture: Fixture) -> None:
    """Days and single times, by a person or the agent; neither is run, both are said, and they go with the repeat."""
    entry = open_fixture.add("2026-03-02T10:00", repeat="FREQ=DAILY", without=["2026-03-03T10:00", "2026-03-04"])
    assert entry.without == "2026-03-03T10:00:00,2026-03-04"
    assert open_fixture.calendar.describe_entry(entry) == "every day at 10:00, with 2 exceptions"
    open_fixture.walk(datetime(2026, 3, 5, 12, tzinfo=UTC), timedelta(hours=1))
    open_fixture.finish()
    assert [when for when, _ in open_fixture.ran(entry.id)] == ["2026-03-02T09:00", "2026-03-05T09:00"]
    assert "EXDATE;TZID=Europe/Vienna:20260304T100000" in open_fixture.calendar.read_feed(
        open_fixture.calendar.feed_url(KEY).rpartition("/")[2].removesuffix(".ics")
    )
    told = open_fixture.call("CALENDAR_UPDATE", id=entry.id, repeat="FREQ=DAILY;EXDATE=20260306,20260307T100000")
    assert "It next comes due on Sun 8 Mar 2026 at 10:00" in told.text
    notice = open_fixture.notifications.list_recent(KEY)[-1]
    open_fixture.notifications.press_button(notice.id, "calendar.undo", by=open_fixture.rooms.operator, surface="test")
    assert open_fixture.calendar.get_entry(entry.id).without == entry.without
    assert open_fixture.call("CALENDAR_UPDATE", id=entry.id, repeat="0 10 * * *").result["without"] == entry.without
    assert open_fixture.call("CALENDAR_UPDATE", id=entry.id, repeat="FREQ=DAILY;EXDATE=").result["without"] == ""
    with pytest.raises(BadInput, match="without"):
        open_fixture.call("CALENDAR_UPDATE", id=entry.id, repeat="FREQ=DAILY;EXDATE=2026-13-13")
    open_fixture.calendar.change_entry(entry.id, {"without": ["2026-03-20"]}, by=None)
    once = open_fixture.calendar.change_entry(entry.id, {"repeat": None, "start": "2026-03-20T10:00"}, by=None)
    assert (once.without, once.next_at) == ("", datetime(2026, 3, 20, 9, tzinfo=UTC).timestamp())


@pytest.mark.parametrize("name", ["CALENDAR_UPDATE", "CALENDAR_DELETE"])
def test_an_agent_touches_no_other_cubicles_entries(open_fixture: Fixture, name: str) -> None:
    """Of another person's entry it learns not even that it is there."""
    entry = open_fixture.add("2026-03-02T10:00")
    fields = {"title": "Mine"} if name == "CALENDAR_UPDATE" else {}
    for number in (entry.id, entry.id + 1):
        with pytest.raises(NotFound, match=f"no entry {number} in this calendar"):
            open_fixture.call_as(Caller(OTHER, None), name, id=number, **fields)
    assert open_fixture.calendar.get_entry(entry.id) == entry


def test_what_an_agent_puts_into_the_calendar_is_announced(open_fixture: Fixture) -> None:
    """With a button that cancels it, in words in which the agent's own are quoted."""
    turn = open_fixture.rooms.under_way()
    made = open_fixture.call_as(
        Caller(KEY, turn.id), "CALENDAR_CREATE", title="A\u202eB", prompt="do\nit", start="2026-03-03T09:00"
    )
    (notice,) = open_fixture.notifications.list_recent(KEY)
    assert notice.turn == turn.id
    assert notice.text == (
        "crab put “A\\u202eB” into the calendar: once on Tue 3 Mar 2026 at 09:00.\nIts prompt: “do\\nit”"
    )
    settled = open_fixture.notifications.press_button(
        notice.id, "calendar.cancel", by=open_fixture.rooms.operator, surface="test"
    )
    assert settled.outcome == "“A\\u202eB” is cancelled."
    with pytest.raises(NotFound):
        open_fixture.calendar.get_entry(made.result["id"])


def test_what_has_run_can_not_be_cancelled(open_fixture: Fixture) -> None:
    """Its button goes when its last time has come, everybody is told, and a press that is late hears the truth."""
    operator = open_fixture.rooms.operator
    made = open_fixture.call("CALENDAR_CREATE", title="Tea", prompt="go", start="2026-03-03T09:00").result["id"]
    daily = open_fixture.call(
        "CALENDAR_CREATE", title="Daily", prompt="go", start="2026-03-03T09:00", repeat="FREQ=DAILY"
    )
    once, series = open_fixture.notifications.list_recent(KEY)
    with watching(open_fixture.rooms.broker) as news:
        open_fixture.at("2026-03-03T08:00:01+00:00")
        told = {body["id"]: body["outcome"] for body in of_kind(heard(news), "notice")}
    assert told == {once.id: "“Tea” already ran."}
    assert as_json(open_fixture.notifications.get(once.id))["offers"] == []
    with pytest.raises(Conflict, match="“Tea” already ran"):
        open_fixture.notifications.press_button(once.id, "calendar.cancel", by=operator, surface="test")
    assert open_fixture.calendar.get_entry(made).status is EntryStatus.ENDED
    assert [offer.do for offer in open_fixture.notifications.get(series.id).offers] == ["calendar.cancel"]
    assert open_fixture.notifications.press_button(
        series.id, "calendar.cancel", by=operator, surface="test"
    ).outcome.endswith("is cancelled.")
    with pytest.raises(NotFound):
        open_fixture.calendar.get_entry(daily.result["id"])


def test_a_press_between_the_time_and_its_notice_cancels_nothing(open_fixture: Fixture) -> None:
    """The entry has ended, its notice does not say so yet: the press does."""
    made = open_fixture.call("CALENDAR_CREATE", title="Tea", prompt="go", start="2026-03-03T09:00").result["id"]
    open_fixture.at("2026-03-03T08:00:01+00:00")
    (notice,) = open_fixture.notifications.list_recent(KEY)
    with open_fixture.rooms.store.writing() as db:
        db.execute("UPDATE notices SET settled_at = NULL, outcome = ''")
    pressed = open_fixture.notifications.press_button(
        notice.id, "calendar.cancel", by=open_fixture.rooms.operator, surface="test"
    )
    assert pressed.outcome == "“Tea” already ran."
    assert open_fixture.calendar.get_entry(made).status is EntryStatus.ENDED


def test_what_was_missed_and_run_by_hand_elsewhere_is_offered_no_more(open_fixture: Fixture) -> None:
    """Only its missed time is: the older button says that it was missed."""
    made = open_fixture.call("CALENDAR_CREATE", title="Tea", prompt="go", start="2026-03-02T10:00").result["id"]
    open_fixture.at("2026-03-03T09:00:01+00:00")
    old, missed = open_fixture.notifications.list_recent(KEY)
    assert (old.outcome, missed.outcome) == ("“Tea” was missed.", "")
    open_fixture.calendar.run_now(made)
    assert open_fixture.notifications.get(missed.id).outcome == "“Tea” was run."


def test_what_an_agent_changed_can_be_undone(open_fixture: Fixture) -> None:
    """A change and a deletion both; a person's own changes are announced to nobody."""
    operator = open_fixture.rooms.operator
    entry = open_fixture.add("2026-03-03T10:00", repeat="FREQ=DAILY", color="red", missed="skip")
    open_fixture.calendar.change_entry(entry.id, {"title": "Mine"}, by=operator)
    assert open_fixture.notifications.list_recent(KEY) == []
    before = open_fixture.calendar.get_entry(entry.id)
    open_fixture.call("CALENDAR_UPDATE", id=entry.id, prompt="Something else", repeat="-", color="-")
    notice = open_fixture.notifications.list_recent(KEY)[-1]
    assert "It was every day at 10:00; now it is once on Tue 3 Mar 2026 at 10:00." in notice.text
    open_fixture.notifications.press_button(notice.id, "calendar.undo", by=operator, surface="test")
    after = open_fixture.calendar.get_entry(entry.id)
    assert (after.prompt, after.repeat, after.color) == (before.prompt, before.repeat, before.color)
    open_fixture.call("CALENDAR_DELETE", id=entry.id)
    notice = open_fixture.notifications.list_recent(KEY)[-1]
    open_fixture.notifications.press_button(notice.id, "calendar.undo", by=operator, surface="test")
    back = open_fixture.calendar.get_entry(entry.id)
    assert (back.title, back.missed, back.next_at) == ("Mine", "skip", before.next_at)


def test_older_notices_are_settled_by_what_comes_after(open_fixture: Fixture) -> None:
    """No button stays that would undo something else than it says."""
    made = open_fixture.call("CALENDAR_CREATE", title="T", prompt="P", start="2026-03-03T09:00")
    open_fixture.call("CALENDAR_UPDATE", id=made.result["id"], title="U")
    first, second = open_fixture.notifications.list_recent(KEY)
    assert (first.outcome, second.outcome) == ("It was changed since.", "")
    open_fixture.calendar.remove_entry(made.result["id"], by=open_fixture.rooms.operator)
    assert open_fixture.notifications.list_recent(KEY)[1].outcome == "It was deleted."
    with pytest.raises(OrchestratorError, match="It was deleted"):
        open_fixture.notifications.press_button(
            second.id, "calendar.undo", by=open_fixture.rooms.operator, surface="test"
        )


def test_an_agent_schedules_the_next_one_itself(open_fixture: Fixture) -> None:
    """In a run of the calendar it may make the next entry, which runs in its turn."""
    open_fixture.add("2026-03-02T10:00", title="First")
    open_fixture.at("2026-03-02T09:00:00+00:00")
    turn = open_fixture.rooms.turns.take_next(KEY, "boot", 0)
    assert turn is not None
    result = open_fixture.calls.run_batch(Caller(KEY, turn.id), 1, ["CALENDAR_CREATE:Next|Go on|2026-03-02T11:00|"])
    assert result[0]["ok"]
    open_fixture.rooms.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="")
    open_fixture.at("2026-03-02T10:00:00+00:00")
    assert [prompt for prompt, _ in open_fixture.submitted] == ["Look after things.", "Go on"]


def test_a_run_says_whose_words_they_are(open_fixture: Fixture) -> None:
    """What the agent wrote itself does not come back as if the person had said it."""
    entry = open_fixture.add("2026-03-02T10:00", repeat="FREQ=DAILY")
    open_fixture.at("2026-03-02T12:00:00+00:00")
    turn = open_fixture.rooms.turns.take_next(KEY, "boot", 0)
    assert turn is not None
    assert "You wrote its words yourself" not in open_fixture.offers.turn_note(turn)
    with open_fixture.rooms.store.writing() as db:
        db.execute("UPDATE agenda_entries SET by = ? WHERE id = ?", (BY_AGENT, entry.id))
    assert "You wrote its words yourself: the person has not said them." in open_fixture.offers.turn_note(turn)


def test_a_run_knows_what_it_is(open_fixture: Fixture) -> None:
    """The agent is told which entry, when it was due, whether it is late, and that nobody waits."""
    entry = open_fixture.add("2026-03-02T10:00", repeat="FREQ=DAILY")
    open_fixture.at("2026-03-02T12:00:00+00:00")
    turn = open_fixture.rooms.turns.take_next(KEY, "boot", 0)
    assert turn is not None
    note = open_fixture.offers.turn_note(turn)
    assert note.startswith(
        f"This turn comes from the calendar: entry {entry.id} “Look”, every day at 10:00. "
        "It was due on Mon 2 Mar 2026 at 10:00 (Europe/Vienna) and runs 3 hours late. "
        "It next comes due on Tue 3 Mar 2026 at 10:00"
    )
    assert "leave it empty" in note
    open_fixture.calendar.remove_entry(entry.id, by=open_fixture.rooms.operator)
    assert "its entry was deleted since" in open_fixture.offers.turn_note(turn)
    open_fixture.rooms.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply="")
    assert open_fixture.offers.turn_note(open_fixture.rooms.under_way()) == ""


def test_an_agent_does_not_flood_its_person(open_fixture: Fixture) -> None:
    """Each change is told, so there are only so many within an hour; then nothing is changed. People go on."""
    entry = open_fixture.call("CALENDAR_CREATE", title="a", prompt="b", start="2026-03-03T10:00").result["id"]
    for n in range(MOST_TOLD - 1):
        open_fixture.time += timedelta(seconds=30)
        open_fixture.call("CALENDAR_UPDATE", id=entry, title=f"a{n}")
    for name, fields in (
        ("CALENDAR_UPDATE", {"id": entry, "title": "c"}),
        ("CALENDAR_DELETE", {"id": entry}),
        ("CALENDAR_CREATE", {"title": "a", "prompt": "b", "start": "2026-03-03T10:00"}),
    ):
        with pytest.raises(TooMany, match="told 100 times"):
            open_fixture.call(name, **fields)
    assert open_fixture.calendar.get_entry(entry).title == f"a{MOST_TOLD - 2}"
    assert open_fixture.add("2026-03-03T11:00").title == "Look"
    open_fixture.time += timedelta(hours=1)
    open_fixture.call("CALENDAR_DELETE", id=entry)
