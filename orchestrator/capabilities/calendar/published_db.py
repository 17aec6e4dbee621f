"""``calendar.db``: a cubicle's calendar as a SQLite file for its agent to read."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.capabilities.calendar.rows import CalendarEntry, Run
from orchestrator.core.db.published import new_file

_SCRIPT = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT) STRICT",
    """CREATE TABLE entries (id INTEGER PRIMARY KEY, title TEXT, prompt TEXT, start TEXT, "end" TEXT, time_zone TEXT,
    repeat TEXT, color TEXT, missed TEXT, status TEXT, words TEXT, next_at TEXT, made_by TEXT, created_at TEXT,
    changed_at TEXT, "without" TEXT) STRICT""",
    "CREATE TABLE upcoming (entry INTEGER REFERENCES entries (id), at TEXT, PRIMARY KEY (at, entry)) STRICT",
    """CREATE TABLE runs (entry INTEGER REFERENCES entries (id), due_at TEXT, turn INTEGER, outcome TEXT,
    is_late INTEGER, ended_at TEXT) STRICT""",
)


def write_calendar(
    path: Path,
    entries: Iterable[tuple[CalendarEntry, str]],
    upcoming: Iterable[tuple[CalendarEntry, datetime]],
    runs: Iterable[Run],
    *,
    about: dict[str, str],
) -> None:
    """Make the file: entries with their words, what comes due, what came of it. Times are ISO 8601 in UTC."""
    with new_file(path) as db:
        for statement in _SCRIPT:
            db.execute(statement)
        db.executemany("INSERT INTO about VALUES (?, ?)", about.items())
        db.executemany(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [_values(entry, words) for entry, words in entries],
        )
        db.executemany("INSERT INTO upcoming VALUES (?, ?)", [(entry.id, _iso(when)) for entry, when in upcoming])
        db.executemany(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)",
            [(r.entry, _at(r.due_at), r.turn, str(r.outcome), int(r.is_late), _at(r.ended_at)) for r in runs],
        )


def _values(entry: CalendarEntry, words: str) -> tuple[object, ...]:
    return (
        entry.id,
        entry.title,
        entry.prompt,
        entry.start,
        entry.end,
        entry.time_zone,
        entry.repeat,
        entry.color,
        entry.missed,
        str(entry.status),
        words,
        _at(entry.next_at),
        entry.by,
        _at(entry.created_at),
        _at(entry.changed_at),
        entry.without,
    )


def _at(seconds: float | None) -> str | None:
    return None if seconds is None else _iso(datetime.fromtimestamp(seconds, UTC))


def _iso(when: datetime) -> str:
    return when.isoformat(timespec="seconds").replace("+00:00", "Z")
