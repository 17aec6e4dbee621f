"""Rows of the calendar: the entries, which of their times are dealt with for good, and the feeds. What came of an entry
when it was due is in ``agenda_runs``."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from orchestrator.agents.access_rows import NOT_CLOSED
from orchestrator.core.models import CubicleKey

BY_AGENT = "agent"
"""Who made an entry that no person made."""


class EntryStatus(StrEnum):
    """Whether an entry comes due."""

    ACTIVE = "active"
    PAUSED = "paused"
    ENDED = "ended"
    """Its last time has passed."""


class RunResult(StrEnum):
    """What came of a time that an entry was due. The first two are not final."""

    CLAIMED = "claimed"
    """It is to become a turn."""
    RUNNING = "running"
    """It has a turn, which has no outcome yet."""
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    MISSED = "missed"
    """It passed while nobody could run it."""
    OVERLAP = "overlap"
    """The run before it was still under way."""


@dataclass(frozen=True, slots=True)
class CalendarEntry:
    """One entry of a cubicle's calendar: when, and the prompt that it becomes."""

    id: int
    cubicle: CubicleKey
    title: str
    prompt: str
    start: str
    """ISO 8601 as it was given: a moment with its offset, a time of the zone's clock, or a day."""
    end: str
    """The same, or empty. Within a day of the start (and always of what happens once) it says how long each time takes;
    later, it ends the series."""
    time_zone: str
    repeat: str
    """A rule of RFC 5545, a cron line, or empty for once."""
    color: str
    missed: str
    """``run`` or ``skip``."""
    status: EntryStatus
    by: str
    """``agent``, or the name of the person who made it."""
    turn: int | None
    """The turn in which the agent made it."""
    created_at: float
    changed_at: float
    settled_at: float
    """All times up to this moment are dealt with."""
    next_at: float | None
    """When it is due next; None unless it is active."""
    failures: int
    """How many of its runs have failed in a row."""
    without: str = ""
    """Days, and times like the start, on which a series does not come due; commas between them."""
    conversation: int | None = None
    """Where its runs go; None for the person's first conversation."""


@dataclass(frozen=True, slots=True)
class Run:
    """One time that an entry was due, and what came of it."""

    id: int
    entry: int
    due_at: float
    collapsed: int
    """Other missed times that it stands for."""
    is_late: bool
    by_hand: bool
    """A person asked for it; it was not due."""
    origin: str
    """Of its turn, so that it becomes one turn however often that is tried."""
    turn: int | None
    outcome: RunResult
    claimed_at: float
    ended_at: float | None
    conversation: int | None = None
    """Where its turn is, as far as that was looked up; None where that is gone."""


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run whose turn has its outcome."""

    run: int
    entry: int
    outcome: RunResult


# --- entries ---------------------------------------------------------------------------------------------------------

_COLUMNS = ("agent", "user", *(field.name for field in fields(CalendarEntry) if field.name not in ("id", "cubicle")))
_NAMES = ", ".join(f'"{name}"' for name in _COLUMNS)


def insert_entry(db: sqlite3.Connection, entry: CalendarEntry) -> int:
    """Write an entry down; with the id 0 it gets the next one, which comes back."""
    marks = ", ".join("?" * (len(_COLUMNS) + 1))
    sql = f"INSERT INTO agenda_entries (id, {_NAMES}) VALUES ({marks})"  # noqa: S608 - names of columns
    return int(db.execute(sql, (entry.id or None, *_values(entry))).lastrowid or 0)


def update_entry(db: sqlite3.Connection, entry: CalendarEntry) -> None:
    """Write an entry again."""
    marks = ", ".join("?" * len(_COLUMNS))
    sql = f"UPDATE agenda_entries SET ({_NAMES}) = ({marks}) WHERE id = ?"  # noqa: S608 - names of columns
    db.execute(sql, (*_values(entry), entry.id))


def delete_entry(db: sqlite3.Connection, entry: int) -> None:
    """The entry goes, with its runs."""
    db.execute("DELETE FROM agenda_entries WHERE id = ?", (entry,))


def get_entry(db: sqlite3.Connection, entry: int) -> CalendarEntry | None:
    """The entry with this id."""
    row = db.execute("SELECT * FROM agenda_entries WHERE id = ?", (entry,)).fetchone()
    return None if row is None else _entry(row)


def list_entries(db: sqlite3.Connection, agent: str | None = None, user: int | None = None) -> list[CalendarEntry]:
    """The entries of an agent, of a person, of a cubicle or all; what comes due first is first."""
    rows = db.execute(
        "SELECT * FROM agenda_entries WHERE (? IS NULL OR agent = ?) AND (? IS NULL OR user = ?) "
        "ORDER BY next_at IS NULL, next_at, id",
        (agent, agent, user, user),
    )
    return [_entry(row) for row in rows]


def list_active_of_closed(db: sqlite3.Connection) -> list[CalendarEntry]:
    """The active entries of people who may not use the agent."""
    found = db.execute(
        "SELECT agenda_entries.* FROM agenda_entries JOIN closed_cubicles AS closed "
        "ON closed.agent = agenda_entries.agent AND closed.user = agenda_entries.user WHERE status = 'active'"
    )
    return [_entry(row) for row in found]


def list_due_before(
    db: sqlite3.Connection, before: float, agent: str | None, user: int | None
) -> list[tuple[int, float, str, str, str, str, str]]:
    """What is due next before that time: id, when, and the words that decide how it goes on (start, end, time zone,
    repeat, what is left out); many of them are read at once."""
    rows = db.execute(
        'SELECT id, next_at, start, "end", time_zone, repeat, "without" FROM agenda_entries '  # noqa: S608 - constants
        "WHERE status = 'active' AND next_at < ? AND (? IS NULL OR agent = ?) "
        f"AND (? IS NULL OR (user = ? AND {NOT_CLOSED.format(user='?')}))",
        (before, agent, agent, user, user, user),
    )
    return [tuple(row) for row in rows]


def get_entries(db: sqlite3.Connection, entries: Iterable[int]) -> dict[int, CalendarEntry]:
    """These entries by their ids."""
    marks = json.dumps(sorted(entries))
    found = db.execute("SELECT * FROM agenda_entries WHERE id IN (SELECT value FROM json_each(?))", (marks,))
    return {entry.id: entry for entry in map(_entry, found)}


def list_paused(db: sqlite3.Connection, agent: str | None, user: int | None, limit: int) -> list[CalendarEntry]:
    """The entries that are paused, the last changed first."""
    rows = db.execute(
        "SELECT * FROM agenda_entries WHERE status = 'paused' AND (? IS NULL OR agent = ?) "  # noqa: S608 - constants
        f"AND (? IS NULL OR (user = ? AND {NOT_CLOSED.format(user='?')})) "
        "ORDER BY changed_at DESC, id DESC LIMIT ?",
        (agent, agent, user, user, user, limit),
    )
    return [_entry(row) for row in rows]


def count_open(db: sqlite3.Connection, key: CubicleKey) -> int:
    """How many entries of a cubicle have not ended."""
    row = db.execute(
        "SELECT COUNT(*) FROM agenda_entries WHERE agent = ? AND user = ? AND status != 'ended'", (key.agent, key.user)
    ).fetchone()
    return int(row[0])


def get_conversation(db: sqlite3.Connection, turn: int | None) -> int | None:
    """In which conversation a turn is."""
    row = db.execute("SELECT conversation FROM turns WHERE id = ?", (turn,)).fetchone()
    return None if row is None else int(row[0])


def list_due(db: sqlite3.Connection, now: float, limit: int) -> list[CalendarEntry]:
    """The entries whose time has come, the earliest first."""
    rows = db.execute(
        "SELECT * FROM agenda_entries WHERE status = 'active' AND next_at <= ? ORDER BY next_at LIMIT ?", (now, limit)
    )
    return [_entry(row) for row in rows]


def list_due_just_now(
    db: sqlite3.Connection, now: float, within_s: float, limit: int
) -> list[tuple[CalendarEntry, float]]:
    """The entries whose time came just now, with that time, where nothing stands in the way: it was not dealt with yet,
    no run is under way, nobody is being deleted."""
    found = db.execute(
        "SELECT * FROM agenda_entries AS e WHERE status = 'active' AND next_at <= ? AND next_at > ? "
        "AND NOT EXISTS (SELECT 1 FROM agenda_runs WHERE entry = e.id AND (due_at = e.next_at OR ended_at IS NULL)) "
        "AND NOT EXISTS (SELECT 1 FROM agenda_covered WHERE entry = e.id AND until >= e.next_at AND begin <= e.next_at)"
        " AND NOT EXISTS (SELECT 1 FROM leaving WHERE leaving.agent = e.agent OR leaving.user = e.user) "
        "ORDER BY next_at LIMIT ?",
        (now, now - within_s, limit),
    )
    return [(entry, entry.next_at) for entry in map(_entry, found) if entry.next_at is not None]


def get_earliest_due(db: sqlite3.Connection) -> float | None:
    """When the next entry is due, of all."""
    row = db.execute("SELECT MIN(next_at) FROM agenda_entries WHERE status = 'active'").fetchone()
    return None if row[0] is None else float(row[0])


def list_settled_ahead(db: sqlite3.Connection, now: float) -> list[CalendarEntry]:
    """The entries that were settled up to a moment that is still to come: the clock was put back."""
    rows = db.execute("SELECT * FROM agenda_entries WHERE status != 'paused' AND settled_at > ?", (now,))
    return [_entry(row) for row in rows]


def settle_entry(
    db: sqlite3.Connection,
    entry: CalendarEntry,
    *,
    settled_at: float,
    next_at: float | None,
    failures: int | None = None,
) -> None:
    """Up to this moment all is dealt with; without a next time the entry has ended."""
    status = EntryStatus.ENDED if next_at is None else EntryStatus.ACTIVE
    kept = entry.failures if failures is None else failures
    db.execute(
        "UPDATE agenda_entries SET settled_at = ?, next_at = ?, status = ?, failures = ? WHERE id = ?",
        (settled_at, next_at, status, kept, entry.id),
    )


def set_failures(db: sqlite3.Connection, entry: int, failures: int) -> None:
    """So many runs have failed in a row."""
    db.execute("UPDATE agenda_entries SET failures = ? WHERE id = ?", (failures, entry))


def delete_ended(db: sqlite3.Connection, key: CubicleKey, kept: int) -> None:
    """Of a cubicle's entries that have ended, only the newest stay, and those that run."""
    db.execute(
        "DELETE FROM agenda_entries WHERE id IN (SELECT id FROM agenda_entries WHERE agent = ? AND user = ? "
        "AND status = 'ended' ORDER BY settled_at DESC, id DESC LIMIT -1 OFFSET ?) "
        "AND NOT EXISTS (SELECT 1 FROM agenda_runs WHERE entry = agenda_entries.id AND ended_at IS NULL)",
        (key.agent, key.user, kept),
    )


# --- times that are dealt with ---------------------------------------------------------------------------------------


def list_covered_spans(db: sqlite3.Connection, entry: int, after: float) -> list[tuple[float, float]]:
    """The spans, both ends among them, whose times are dealt with for good, whatever the clock says."""
    rows = db.execute("SELECT begin, until FROM agenda_covered WHERE entry = ? AND until >= ?", (entry, after))
    return [(float(begin), float(until)) for begin, until in rows]


def insert_covered_span(db: sqlite3.Connection, entry: int, begin: float, until: float, *, after: float | None) -> None:
    """The times from ``begin`` until ``until`` are dealt with; with ``after``, nothing lies between that and them, so
    that a span which ends there grows."""
    if after is not None:
        grown = db.execute(
            "UPDATE agenda_covered SET until = ? WHERE entry = ? AND until = ? AND begin <= ?",
            (until, entry, after, until),
        )
        if grown.rowcount:
            return
    db.execute("INSERT INTO agenda_covered (entry, begin, until) VALUES (?, ?, ?)", (entry, begin, until))


# --- feeds -----------------------------------------------------------------------------------------------------------


def get_feed(db: sqlite3.Connection, key: CubicleKey) -> str | None:
    """The secret of a cubicle's feed."""
    row = db.execute("SELECT secret FROM agenda_feeds WHERE agent = ? AND user = ?", (key.agent, key.user)).fetchone()
    return None if row is None else str(row[0])


def set_feed(db: sqlite3.Connection, key: CubicleKey, secret: str, sha256: str) -> None:
    """The cubicle's feed has this secret, and no other any more."""
    db.execute(
        "INSERT INTO agenda_feeds (agent, user, secret, sha256) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (agent, user) DO UPDATE SET secret = excluded.secret, sha256 = excluded.sha256",
        (key.agent, key.user, secret, sha256),
    )


def get_cubicle_of_feed(db: sqlite3.Connection, sha256: str) -> CubicleKey | None:
    """Whose feed has the secret with this hash."""
    row = db.execute("SELECT agent, user FROM agenda_feeds WHERE sha256 = ?", (sha256,)).fetchone()
    return None if row is None else CubicleKey(str(row[0]), int(row[1]))


def _values(entry: CalendarEntry) -> tuple[Any, ...]:
    return (entry.cubicle.agent, entry.cubicle.user, *(getattr(entry, name) for name in _COLUMNS[2:]))


def _entry(row: sqlite3.Row) -> CalendarEntry:
    values: dict[str, Any] = dict(row)
    key = CubicleKey(values.pop("agent"), values.pop("user"))
    return CalendarEntry(**{**values, "status": EntryStatus(values["status"])}, cubicle=key)
