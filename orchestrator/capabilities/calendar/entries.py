"""The agenda: who may put what into a cubicle's calendar, change it and take it out, and what is in it.

An entry's row is the truth; whoever shows it (a calendar app, a snapshot for the agent, a page) is told that it changed
and reads it again. When it comes due is ``runs``' business.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any

from orchestrator.approvals.notification_rows import Notice
from orchestrator.capabilities.calendar import describe as saying
from orchestrator.capabilities.calendar import rows, run_rows
from orchestrator.capabilities.calendar.day_view import CalendarScope, Outlook, list_paused, view_days
from orchestrator.capabilities.calendar.feeds import Feeds
from orchestrator.capabilities.calendar.input import (
    EntryInput,
    parse_bound,
    plan_of,
    read_change,
    read_new,
    read_when,
    time_of,
)
from orchestrator.capabilities.calendar.notifications import CalendarNotifications
from orchestrator.capabilities.calendar.recurrence.occurrences import check_plan, list_between
from orchestrator.capabilities.calendar.rows import BY_AGENT, CalendarEntry, EntryStatus, Run, RunResult
from orchestrator.capabilities.calendar.runs import CalendarRuns
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, NotFound, OrchestratorError, TooMany
from orchestrator.core.events import Broker
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import Conversation, CubicleKey, Event, User
from orchestrator.turns import conversation_rows

MOST_ENTRIES = 100
"""What one cubicle's calendar holds; entries that have ended don't count."""
HORIZON = timedelta(days=60)
"""How far ahead is looked unless somebody says otherwise."""
MOST_AHEAD = 1_000

_OVERTAKEN = {"created": "It is back.", "changed": "It was changed since.", "removed": "It was deleted."}
"""What becomes of older notices about an entry."""


class CalendarEntries:
    """The calendars of all cubicles."""

    def __init__(
        self,
        *,
        store: Store,
        broker: Broker,
        announcer: CalendarNotifications,
        runs: CalendarRuns,
        feeds: Feeds,
        hooks: Hooks,
        now: Callable[[], float],
    ) -> None:
        self._store = store
        self._broker = broker
        self._announcer = announcer
        self._runs = runs
        self._feeds = feeds
        self._hooks = hooks
        self._now = now

    # --- looking -----------------------------------------------------------------------------------------------------

    def list_entries(self, agent: str | None = None, user: int | None = None) -> list[CalendarEntry]:
        """The entries of an agent, of a person, of one cubicle or all; what comes due first is first."""
        with self._store.reading() as db:
            return rows.list_entries(db, agent, user)

    def list_active_of_closed(self) -> list[CalendarEntry]:
        """The entries that would come due for people who may not use the agent."""
        with self._store.reading() as db:
            return rows.list_active_of_closed(db)

    def get_entry(self, entry: int) -> CalendarEntry:
        """The entry with this id; raises NotFound."""
        with self._store.reading() as db:
            return _found(db, entry)

    def list_upcoming(
        self,
        *,
        agent: str | None = None,
        user: int | None = None,
        begin: datetime | None = None,
        end: datetime | None = None,
        limit: int = 50,
    ) -> list[tuple[CalendarEntry, datetime]]:
        """What comes due, in order: in the next 60 days, or in the time that is given; never what has passed."""
        now = time_of(self._now())
        begin = max(begin or now, now)
        end = end or begin + HORIZON
        limit = min(limit, MOST_AHEAD)
        active = [entry for entry in self.list_entries(agent, user) if entry.status is EntryStatus.ACTIVE]
        found = heapq.merge(*(self._list_times(entry, begin, end, limit) for entry in active), key=lambda pair: pair[1])
        return list(islice(found, limit))

    def list_between(self, key: CubicleKey, begin: str, end: str) -> list[tuple[CalendarEntry, datetime]]:
        """What comes due in one cubicle between two dates or times as somebody wrote them (empty: open); by the
        person's clock. Raises BadInput."""
        zone = self._announcer.zone_of(key)
        first = parse_bound("from", read_when("from", begin), zone) if begin else None
        last = parse_bound("to", read_when("to", end), zone, is_last=True) if end else None
        return self.list_upcoming(agent=key.agent, user=key.user, begin=first, end=last, limit=MOST_AHEAD)

    def view_days(self, scope: CalendarScope, zone: str, first: date, count: int, *, most_a_day: int) -> Outlook:
        """Some days of many calendars by the clock of ``zone``; past runs among them."""
        return view_days(self._store, scope, zone, first, count, most_a_day=most_a_day)

    def list_paused(self, scope: CalendarScope) -> list[CalendarEntry]:
        """What comes due only when somebody resumes it."""
        return list_paused(self._store, scope)

    def list_runs(self, entry: int, limit: int = 50) -> list[Run]:
        """What came of an entry, the newest first."""
        return self._runs.list_runs(entry, limit)

    def conversation_of(self, entry: CalendarEntry) -> Conversation | None:
        """Where its next run goes; None while its person has no conversation yet."""
        with self._store.reading() as db:
            found = conversation_rows.find_conversation(db, entry.cubicle, entry.conversation)
            return found or conversation_rows.get_first(db, entry.cubicle)

    def entry_of(self, turn: int) -> CalendarEntry | None:
        """The entry that began this turn; None when it is gone, or none did."""
        found = self._runs.of_turn(turn)
        return None if found is None else found[1]

    def run_of(self, turn: int) -> tuple[Run, CalendarEntry] | None:
        """The run that became this turn, with its entry; None when there is none (any more)."""
        return self._runs.of_turn(turn)

    def describe_entry(self, entry: CalendarEntry) -> str:
        """``every weekday at 09:00``."""
        return saying.describe_rhythm(EntryInput.from_entry(entry), self._announcer.zone_of(entry.cubicle))

    def length_of(self, entry: CalendarEntry) -> timedelta | None:
        """How long each of its times takes; None when nobody said."""
        return EntryInput.from_entry(entry).length

    def feed_url(self, key: CubicleKey) -> str:
        """Where calendar apps read this calendar: who knows it needs no login."""
        return self._feeds.feed_url(key)

    def new_feed(self, key: CubicleKey) -> str:
        """Another such place; the one before is gone."""
        return self._feeds.renew_url(key)

    def read_feed(self, secret: str) -> str:
        """The calendar with this secret as iCalendar text. Raises NotFound or TooMany."""
        return self._feeds.read_feed(secret)

    # --- changing ----------------------------------------------------------------------------------------------------

    def create_entry(
        self, key: CubicleKey, fields: Mapping[str, Any], *, by: User | None, turn: int | None = None
    ) -> CalendarEntry:
        """A new entry from ``title, prompt, start, end, time_zone, repeat, color, missed``, and ``status``: ``active``
        unless it says ``paused``; by the agent where there is no person. Raises BadInput or TooMany."""
        given, status = _apart(fields)
        request = read_new(given, self._announcer.zone_of(key))
        with self._store.writing() as db:
            entry = self.create_in(db, key, request, by=by, turn=turn)
            if status is EntryStatus.PAUSED:
                entry = self._rewrite_entry(db, entry, request, status=status, by=by, turn=turn)
        return entry

    def change_entry(
        self, entry: int, fields: Mapping[str, Any], *, by: User | None, turn: int | None = None
    ) -> CalendarEntry:
        """Other words for an entry; ``status`` may be ``active`` or ``paused``. Raises NotFound, BadInput, TooMany."""
        given, status = _apart(fields)
        with self._store.writing() as db:
            before = _found(db, entry)
            request = read_change(EntryInput.from_entry(before), given)
            return self.change_in(db, before, request, status=status, by=by, turn=turn)

    def remove_entry(self, entry: int, *, by: User | None, turn: int | None = None) -> None:
        """The entry is gone, with its runs. Raises NotFound."""
        with self._store.writing() as db:
            self.remove_in(db, _found(db, entry), by=by, turn=turn)

    def run_now(self, entry: int) -> int:
        """The entry's turn, beside its times. Raises NotFound, Conflict while it runs already, TooMany, Unavailable."""
        with self._store.writing() as db:
            found = _found(db, entry)
            run = self._runs.claim_by_hand(db, found)
        try:
            turn = self._runs.send_run(run, found)
            self._announcer.run_by_hand(found)
            return turn
        except OrchestratorError:
            with self._store.writing() as db:
                run_rows.end_run(db, run.id, RunResult.MISSED, self._now())
            raise

    # --- within somebody's transaction -------------------------------------------------------------------------------

    def create_in(
        self,
        db: sqlite3.Connection,
        key: CubicleKey,
        request: EntryInput,
        *,
        by: User | None,
        turn: int | None,
        number: int = 0,
        conversation: int | None = None,
    ) -> CalendarEntry:
        """As ``create_entry``. With a ``number``, a deleted entry comes back. Its runs go to the conversation that is
        given, else to that of the turn."""
        now = self._now()
        first = check_plan(plan_of(*request.when), now=time_of(now))
        self._check_room(db, key)
        blank = CalendarEntry(
            id=number,
            cubicle=key,
            **{name: getattr(request, name) for name in EntryInput.__dataclass_fields__},
            status=EntryStatus.ACTIVE,
            by=BY_AGENT if by is None else by.name,
            turn=turn,
            created_at=now,
            changed_at=now,
            settled_at=now,
            next_at=first.timestamp(),
            failures=0,
            conversation=rows.get_conversation(db, turn) if conversation is None else conversation,
        )
        entry = replace(blank, id=rows.insert_entry(db, blank))
        self._write_audit(db, entry, "created", by, turn)
        self._notify_after_commit(entry, "created", self._announcer.on_created(entry, turn) if by is None else None)
        return entry

    def change_in(
        self,
        db: sqlite3.Connection,
        before: CalendarEntry,
        request: EntryInput,
        *,
        by: User | None,
        turn: int | None,
        status: EntryStatus | None = None,
    ) -> CalendarEntry:
        """As ``change_entry``."""
        entry = self._rewrite_entry(db, before, request, by=by, turn=turn, status=status)
        if entry != before:
            self._notify_after_commit(
                entry, "changed", self._announcer.on_changed(before, entry, turn) if by is None else None
            )
        return entry

    def remove_in(self, db: sqlite3.Connection, before: CalendarEntry, *, by: User | None, turn: int | None) -> None:
        """As ``remove_entry``."""
        rows.delete_entry(db, before.id)
        self._write_audit(db, before, "removed", by, turn)
        is_news = by is None and before.status is not EntryStatus.ENDED
        self._notify_after_commit(before, "removed", self._announcer.on_removed(before, turn) if is_news else None)

    def run_in(self, db: sqlite3.Connection, entry: CalendarEntry) -> None:
        """The entry runs beside its times, as soon as the calendar is looked after. Raises Conflict while it runs."""
        self._runs.claim_by_hand(db, entry)
        self._store.after_commit(partial(self._hooks.calendar_changed.fire, entry.cubicle))

    # --- rules -------------------------------------------------------------------------------------------------------

    def _rewrite_entry(
        self,
        db: sqlite3.Connection,
        before: CalendarEntry,
        request: EntryInput,
        *,
        by: User | None,
        turn: int | None,
        status: EntryStatus | None,
    ) -> CalendarEntry:
        entry = self._reschedule_entry(db, before, request, status)
        if entry == before:
            return before
        entry = replace(entry, changed_at=self._now())
        rows.update_entry(db, entry)
        self._write_audit(db, entry, "changed", by, turn)
        return entry

    def _reschedule_entry(
        self, db: sqlite3.Connection, before: CalendarEntry, request: EntryInput, status: EntryStatus | None
    ) -> CalendarEntry:
        """The entry with these words, and when it is due next by them."""
        wanted = request.apply_to(before)
        is_moved = request.when != EntryInput.from_entry(before).when
        becomes = status or (EntryStatus.ACTIVE if is_moved and before.status is EntryStatus.ENDED else before.status)
        if not is_moved and becomes is before.status:
            return wanted
        now = self._now()
        if becomes is EntryStatus.PAUSED and not is_moved:
            return replace(wanted, status=becomes, next_at=None)
        first = check_plan(plan_of(*request.when), now=time_of(now))
        if before.status is EntryStatus.ENDED:
            self._check_room(db, before.cubicle)
        is_due = becomes is EntryStatus.ACTIVE
        return replace(
            wanted, status=becomes, settled_at=now, next_at=first.timestamp() if is_due else None, failures=0
        )

    def _check_room(self, db: sqlite3.Connection, key: CubicleKey) -> None:
        if rows.count_open(db, key) >= MOST_ENTRIES:
            raise TooMany(f"This calendar holds {MOST_ENTRIES} entries already (a fixed limit). Delete some first.")

    def _list_times(
        self, entry: CalendarEntry, begin: datetime, end: datetime, limit: int
    ) -> Iterator[tuple[CalendarEntry, datetime]]:
        for moment in list_between(plan_of(*EntryInput.from_entry(entry).when), begin, end, limit=limit):
            if moment.timestamp() > entry.settled_at:
                yield entry, moment

    def _notify_after_commit(self, entry: CalendarEntry, what: str, notice: Notice | None) -> None:
        """Once the change is committed, everybody hears of it, and older notices offer nothing any more."""

        def tell() -> None:
            self._hooks.calendar_changed.fire(entry.cubicle)
            self._broker.publish(Event("calendar", entry.cubicle, {"entry": entry.id, "change": what, "turn": None}))
            self._announcer.settle_offers(entry.id, _OVERTAKEN[what], but=notice)

        self._store.after_commit(tell)

    def _write_audit(
        self, db: sqlite3.Connection, entry: CalendarEntry, what: str, by: User | None, turn: int | None
    ) -> None:
        key, who = entry.cubicle, "the agent" if by is None else by.name
        text = f"{saying.quote_title(entry)} was {what} by {who}: {self.describe_entry(entry)}."
        detail = {"entry": entry.id}
        audit_rows.insert_record(
            db, f"calendar.{what}", text, now=self._now(), agent=key.agent, user=key.user, turn=turn, detail=detail
        )


def _apart(fields: Mapping[str, Any]) -> tuple[dict[str, Any], EntryStatus | None]:
    """An entry's words, and the status beside them. Raises BadInput."""
    given = dict(fields)
    status = given.pop("status", None)
    if status not in (None, EntryStatus.ACTIVE, EntryStatus.PAUSED):
        raise BadInput('status must be "active" or "paused".')
    return given, None if status is None else EntryStatus(status)


def _found(db: sqlite3.Connection, entry: int) -> CalendarEntry:
    found = rows.get_entry(db, entry)
    if found is None:
        raise NotFound(f"There is no entry {entry} in the calendar.")
    return found
