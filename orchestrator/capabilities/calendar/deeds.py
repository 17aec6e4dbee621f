"""What agents may do with their cubicle's calendar, and what people may do about that with the buttons of a notice.

An agent names entries by their numbers; one of another cubicle is one that isn't there.
"""

from __future__ import annotations

import sqlite3
from dataclasses import fields
from datetime import datetime
from typing import Any

from orchestrator.approvals.notification_rows import Notice
from orchestrator.approvals.notifications import Notifications
from orchestrator.capabilities.calendar import describe as saying
from orchestrator.capabilities.calendar import rows
from orchestrator.capabilities.calendar.capability import (
    CREATE,
    DELETE,
    LIST,
    UPDATE,
    CalendarCreate,
    CalendarDelete,
    CalendarList,
    CalendarUpdate,
)
from orchestrator.capabilities.calendar.entries import CalendarEntries
from orchestrator.capabilities.calendar.input import EntryInput, amend_input, input_from_action, parse_bound, time_of
from orchestrator.capabilities.calendar.notifications import CANCEL, RESUME, RUN, UNDO, CalendarNotifications
from orchestrator.capabilities.calendar.rows import BY_AGENT, CalendarEntry, EntryStatus
from orchestrator.capabilities.calendar.runs import CalendarRuns
from orchestrator.capabilities.capability import Caller, Deeds, Outcome
from orchestrator.core.errors import Conflict, NotFound
from orchestrator.core.models import CubicleKey, Turn, User

MOST_SHOWN = 200
ENDED_LISTED = 5
_GONE = "It is no longer in the calendar."


class CalendarDeeds:
    """What carries out the actions of the calendar, and the buttons of its notices."""

    def __init__(self, calendar: CalendarEntries, runs: CalendarRuns, announcer: CalendarNotifications) -> None:
        self._calendar = calendar
        self._runs = runs
        self._announcer = announcer

    @property
    def deeds(self) -> Deeds:
        """What carries out what agents ask for."""
        return {
            CREATE.name: self._create_entry,
            UPDATE.name: self._update_entry,
            DELETE.name: self._delete_entry,
            LIST.name: self._list_entries,
        }

    def register_buttons(self, notifications: Notifications) -> None:
        """From now on the buttons work."""
        for do, deed in (
            (CANCEL, self._on_cancel),
            (UNDO, self._on_undo),
            (RESUME, self._on_resume),
            (RUN, self._on_run),
        ):
            notifications.on_button(do, deed)

    def turn_note(self, turn: Turn) -> str:
        """What the agent should know of a turn that the calendar made; empty for all others."""
        if not turn.may_be_silent:
            return ""
        found = self._runs.of_turn(turn.id)
        ending = (
            "Nobody waits for an answer: `message` goes to the person's chat; leave it empty when there is nothing "
            "that they need to know."
        )
        if found is None:
            return f"This turn comes from the calendar; its entry was deleted since. {ending}"
        run, entry = found
        zone = self._announcer.zone_of(entry.cubicle)
        said = f"This turn comes from the calendar: entry {entry.id} {saying.quote_title(entry)}, "
        said += f"{saying.describe_rhythm(EntryInput.from_entry(entry), zone)}. "
        if entry.by == BY_AGENT:
            said += "You wrote its words yourself: the person has not said them. "
        if run.by_hand:
            said += "A person had it run now. "
        else:
            said += f"It was due on {saying.format_moment(time_of(run.due_at), zone)} ({zone})"
            late = time_of(run.claimed_at) - time_of(run.due_at)
            said += f" and runs {saying.format_lateness(late)} late" if run.is_late else ""
            said += f", also for {run.collapsed} earlier times that were missed. " if run.collapsed else ". "
        return f"{said}{saying.due_next(entry, zone)} {ending}"

    # --- for agents --------------------------------------------------------------------------------------------------

    def _create_entry(self, db: sqlite3.Connection, caller: Caller, action: CalendarCreate) -> Outcome:
        request = input_from_action(action, self._announcer.zone_of(caller.key))
        return self._build_outcome(
            self._calendar.create_in(db, caller.key, request, by=None, turn=caller.turn), "is in the calendar"
        )

    def _update_entry(self, db: sqlite3.Connection, caller: Caller, action: CalendarUpdate) -> Outcome:
        before = _own(db, caller.key, action.id)
        request = amend_input(EntryInput.from_entry(before), action)
        return self._build_outcome(
            self._calendar.change_in(db, before, request, by=None, turn=caller.turn), "is changed"
        )

    def _delete_entry(self, db: sqlite3.Connection, caller: Caller, action: CalendarDelete) -> Outcome:
        before = _own(db, caller.key, action.id)
        self._calendar.remove_in(db, before, by=None, turn=caller.turn)
        return Outcome(f"Entry {before.id} {saying.quote_title(before)} is deleted.", {"id": before.id})

    def _list_entries(self, db: sqlite3.Connection, caller: Caller, action: CalendarList) -> Outcome:
        key, zone = caller.key, self._announcer.zone_of(caller.key)
        entries = _worth_listing(rows.list_entries(db, key.agent, key.user))
        begin, end = parse_bound("from", action.from_, zone), parse_bound("to", action.to, zone, is_last=True)
        result: dict[str, Any] = {"entries": [_listed(e, self._calendar.describe_entry(e)) for e in entries]}
        if begin is None and end is None:
            lines = [saying.entry_line(entry, zone) for entry in entries] or ["The calendar is empty."]
            return Outcome("\n".join(lines), result)
        found = self._calendar.list_upcoming(agent=key.agent, user=key.user, begin=begin, end=end, limit=MOST_SHOWN)
        named = {entry.id for entry, _ in found}
        result = {
            "entries": [entry for entry in result["entries"] if entry["id"] in named],
            "times": [{"id": entry.id, "at": _iso(when)} for entry, when in found],
        }
        lines = [f"{saying.format_moment(when, zone)}: entry {e.id} {saying.quote_title(e)}" for e, when in found]
        return Outcome("\n".join(lines or ["Nothing comes due in that time."]), result)

    def _build_outcome(self, entry: CalendarEntry, what: str) -> Outcome:
        zone = self._announcer.zone_of(entry.cubicle)
        words = saying.describe_rhythm(EntryInput.from_entry(entry), zone)
        text = f"Entry {entry.id} {saying.quote_title(entry)} {what}: {words}. {saying.due_next(entry, zone)}"
        return Outcome(text, _brief(entry, words))

    # --- for people --------------------------------------------------------------------------------------------------

    def _on_cancel(self, db: sqlite3.Connection, notice: Notice, user: User) -> str:
        entry = rows.get_entry(db, int(notice.subject))
        if entry is None:
            return _GONE
        if entry.status is EntryStatus.ENDED:
            return f"{saying.quote_title(entry)} already ran."
        self._calendar.remove_in(db, entry, by=user, turn=None)
        return f"{saying.quote_title(entry)} is cancelled."

    def _on_undo(self, db: sqlite3.Connection, notice: Notice, user: User) -> str:
        before = notice.detail["before"]
        request = EntryInput(**{field.name: before[field.name] for field in fields(EntryInput) if field.name in before})
        entry = rows.get_entry(db, int(notice.subject))
        if entry is None:
            back = self._calendar.create_in(
                db,
                notice.cubicle,
                request,
                by=user,
                turn=None,
                number=int(notice.subject),
                conversation=before.get("conversation"),
            )
        else:
            back = self._calendar.change_in(db, entry, request, by=user, turn=None)
        return f"{saying.quote_title(back)} is as it was before."

    def _on_resume(self, db: sqlite3.Connection, notice: Notice, user: User) -> str:
        entry = rows.get_entry(db, int(notice.subject))
        if entry is None:
            return _GONE
        back = self._calendar.change_in(
            db, entry, EntryInput.from_entry(entry), by=user, turn=None, status=EntryStatus.ACTIVE
        )
        zone = self._announcer.zone_of(back.cubicle)
        return f"{saying.quote_title(back)} is resumed. {saying.due_next(back, zone)}"

    def _on_run(self, db: sqlite3.Connection, notice: Notice, _user: User) -> str:
        entry = rows.get_entry(db, int(notice.subject))
        if entry is None:
            raise Conflict(_GONE)
        self._calendar.run_in(db, entry)
        return f"{saying.quote_title(entry)} runs now."


def _own(db: sqlite3.Connection, key: CubicleKey, number: int) -> CalendarEntry:
    found = rows.get_entry(db, number)
    if found is None or found.cubicle != key:
        raise NotFound(f"There is no entry {number} in this calendar. CALENDAR_LIST shows what there is.")
    return found


def _worth_listing(entries: list[CalendarEntry]) -> list[CalendarEntry]:
    """What is still to come, and the last few that have ended."""
    ended = sorted((e for e in entries if e.status is EntryStatus.ENDED), key=lambda entry: -entry.settled_at)
    return [entry for entry in entries if entry.status is not EntryStatus.ENDED] + ended[:ENDED_LISTED]


def _listed(entry: CalendarEntry, words: str) -> dict[str, Any]:
    """An entry in a list, without its prompt: lists are asked for often, and what they say is kept for a while."""
    return {
        "id": entry.id,
        "title": entry.title,
        "start": entry.start,
        "repeat": entry.repeat,
        "status": str(entry.status),
        "words": words,
        "next_at": None if entry.next_at is None else _iso(time_of(entry.next_at)),
    }


def _brief(entry: CalendarEntry, words: str) -> dict[str, Any]:
    more = {"prompt": entry.prompt, "end": entry.end, "time_zone": entry.time_zone, "color": entry.color}
    more["without"] = entry.without
    return {**_listed(entry, words), **more}


def _iso(when: datetime) -> str:
    return when.isoformat(timespec="seconds").replace("+00:00", "Z")
