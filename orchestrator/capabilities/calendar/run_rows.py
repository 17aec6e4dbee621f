"""Rows of runs: each time that an entry of the calendar was due, and what came of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from orchestrator.agents.access_rows import NOT_CLOSED
from orchestrator.capabilities.calendar.rows import CalendarEntry, EndedRun, Run, RunResult, get_entry
from orchestrator.core.models import TurnStatus

_RUN = (
    "INSERT INTO agenda_runs (entry, due_at, collapsed, is_late, by_hand, origin, turn, outcome, claimed_at, ended_at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)


def insert_run(db: sqlite3.Connection, run: Run) -> int | None:
    """Write down what is to come of a time; the run's id, or None when that time was dealt with before."""
    row = db.execute(f"{_RUN} RETURNING id", _run_values(run)).fetchone()
    return None if row is None else int(row[0])


def insert_runs(db: sqlite3.Connection, runs: Iterable[Run]) -> None:
    """The same of many; of what was dealt with before, nothing."""
    db.executemany(_RUN, map(_run_values, runs))


def delete_missed(db: sqlite3.Connection, entry: int, due_at: float) -> None:
    """A time that was missed has come again."""
    db.execute("DELETE FROM agenda_runs WHERE entry = ? AND due_at = ? AND outcome = 'missed'", (entry, due_at))


def delete_runs(db: sqlite3.Connection, entry: int, kept: int) -> None:
    """Of an entry's runs only the newest stay."""
    db.execute(
        "DELETE FROM agenda_runs WHERE ended_at IS NOT NULL AND entry = ? AND id < "
        "(SELECT id FROM agenda_runs WHERE entry = ? ORDER BY id DESC LIMIT 1 OFFSET ?)",
        (entry, entry, kept),
    )


def list_runs(db: sqlite3.Connection, entry: int, limit: int) -> list[Run]:
    """The newest runs of an entry, the newest first, each with the conversation of its turn."""
    rows = db.execute(
        "SELECT r.*, c.id AS conversation FROM agenda_runs AS r LEFT JOIN turns ON turns.id = r.turn "
        "LEFT JOIN conversations AS c ON c.id = turns.conversation AND c.archived_at IS NULL "
        "WHERE r.entry = ? ORDER BY r.id DESC LIMIT ?",
        (entry, limit),
    )
    return [_run(row) for row in rows]


def list_runs_within(
    db: sqlite3.Connection, begin: float, end: float, *, agent: str | None, user: int | None, limit: int
) -> list[Run]:
    """The runs of an agent, of a person, of a cubicle or all that were due from ``begin`` on and before ``end``, the
    latest first."""
    rows = db.execute(
        "SELECT r.* FROM agenda_entries AS e CROSS JOIN agenda_runs AS r ON r.entry = e.id AND r.due_at >= ? "  # noqa: S608 - constants
        "AND r.due_at < ? WHERE (? IS NULL OR e.agent = ?) "
        f"AND (? IS NULL OR (e.user = ? AND e.{NOT_CLOSED.format(user='?')})) "
        "ORDER BY r.due_at DESC, r.id DESC LIMIT ?",
        (begin, end, agent, agent, user, user, user, limit),
    )
    return [_run(row) for row in rows]


def is_running(db: sqlite3.Connection, entry: int) -> bool:
    """A run of the entry has no outcome yet."""
    row = db.execute("SELECT 1 FROM agenda_runs WHERE entry = ? AND ended_at IS NULL", (entry,)).fetchone()
    return row is not None


def list_runs_without_turn(db: sqlite3.Connection, limit: int) -> list[tuple[Run, CalendarEntry]]:
    """The runs that have no turn yet, with their entries, in order."""
    rows = db.execute("SELECT * FROM agenda_runs WHERE ended_at IS NULL AND turn IS NULL ORDER BY id LIMIT ?", (limit,))
    found = [_run(row) for row in rows.fetchall()]
    entries = {entry: get_entry(db, entry) for entry in {run.entry for run in found}}
    return [(run, entry) for run in found if (entry := entries[run.entry]) is not None]


def set_turns(db: sqlite3.Connection, turns: Iterable[tuple[int, int]]) -> None:
    """These runs have become these turns."""
    db.executemany(
        "UPDATE agenda_runs SET outcome = 'running', turn = ? WHERE id = ? AND outcome = 'claimed'",
        [(turn, run) for run, turn in turns],
    )


def list_ended_runs(db: sqlite3.Connection) -> list[EndedRun]:
    """The runs whose turns have an outcome, or are no more, in the order in which they ended."""
    rows = db.execute(
        "SELECT agenda_runs.id, agenda_runs.entry, turns.status FROM agenda_runs "
        "LEFT JOIN turns ON turns.id = agenda_runs.turn WHERE agenda_runs.ended_at IS NULL "
        "AND agenda_runs.turn IS NOT NULL AND COALESCE(turns.status, 'stopped') IN ('done', 'failed', 'stopped') "
        "ORDER BY turns.ended_at, agenda_runs.id"
    )
    return [EndedRun(int(run), int(entry), RunResult(str(status or TurnStatus.STOPPED))) for run, entry, status in rows]


def end_run(db: sqlite3.Connection, run: int, outcome: RunResult, now: float) -> bool:
    """The run ended so; False when it had an outcome before."""
    cursor = db.execute(
        "UPDATE agenda_runs SET outcome = ?, ended_at = ? WHERE id = ? AND ended_at IS NULL", (outcome, now, run)
    )
    return cursor.rowcount == 1


def get_run_of_turn(db: sqlite3.Connection, turn: int) -> Run | None:
    """The run that became this turn, whether or not it knows that yet."""
    row = db.execute(
        "SELECT agenda_runs.* FROM turns JOIN agenda_runs ON agenda_runs.origin = turns.origin WHERE turns.id = ?",
        (turn,),
    ).fetchone()
    return None if row is None else _run(row)


def _run_values(run: Run) -> tuple[Any, ...]:
    return (
        run.entry,
        run.due_at,
        run.collapsed,
        run.is_late,
        run.by_hand,
        run.origin,
        run.turn,
        run.outcome,
        run.claimed_at,
        run.ended_at,
    )


def _run(row: sqlite3.Row) -> Run:
    found = Run(**dict(row))
    return replace(found, is_late=bool(found.is_late), by_hand=bool(found.by_hand), outcome=RunResult(found.outcome))
