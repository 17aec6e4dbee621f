"""What has ended since the last look, table by table: rows that are final are read once, and never by going through
the history. A row is found by its place in the order in which rows come, so a look costs what is new and what is open.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass

MOST = 5_000
"""Rows that one look reads; what is more comes with the next."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """A table whose rows begin open and end once."""

    table: str
    columns: str
    is_open: str
    """The condition, just as the index of open rows has it."""
    order: str = "id"
    overlap: float = 0
    """How much earlier than the last row a later one may be placed."""


TURNS = Ledger(
    "turns",
    "agent, status, source, created_at, started_at, ended_at",
    "status IN ('queued', 'running', 'waiting_approval')",
)
CALLS = Ledger(
    "spending",
    "agent, provider, state, cost_micro, prompt_tokens, completion_tokens, started_at, ended_at",
    "state = 'reserved'",
)
DELIVERIES = Ledger("deliveries", "status", "status IN ('kept', 'handed')")
LETTERS = Ledger("chat_outbox", "state", "state IN ('waiting', 'sending')")
RUNS = Ledger("agenda_runs", "outcome, due_at, claimed_at, by_hand", "ended_at IS NULL")
APPROVALS = Ledger("approvals", "kind, status", "status = 'pending'", order="asked_at", overlap=60.0)


@dataclass(frozen=True, slots=True)
class Counts:
    """How much of each kind stands open now."""

    turns: dict[str, int]
    """By status."""
    approvals: dict[str, int]
    """By kind."""
    questions: int
    messages: int


class EndedCounts:
    """Goes through one table from where it began, a look at a time."""

    def __init__(self, db: sqlite3.Connection, ledger: Ledger) -> None:
        """What has ended already is not counted; what is open now will be, when it ends."""
        self._ledger = ledger
        self._upto: float = db.execute(f"SELECT COALESCE(MAX({ledger.order}), 0) FROM {ledger.table}").fetchone()[0]  # noqa: S608 - of the constants above
        rows = db.execute(f"SELECT id FROM {ledger.table} WHERE {ledger.is_open}")  # noqa: S608 - of the constants above
        self._open = {row[0] for row in rows}
        late = db.execute(self._recent(), (self._upto - ledger.overlap, self._upto)) if ledger.overlap else ()
        self._known: dict[int | str, float] = {row[0]: row[1] for row in late}

    def count_ended(self, db: sqlite3.Connection) -> list[sqlite3.Row]:
        """What has ended since the last look. Who is gone with its agent is forgotten."""
        found = [*self._of(db, self._open), *self._new(db)]
        still = {row["id"] for row in found if row["is_open"]}
        self._open = still
        return [row for row in found if not row["is_open"]]

    def _new(self, db: sqlite3.Connection) -> list[sqlite3.Row]:
        ledger = self._ledger
        rows = db.execute(
            f"{self._select()} WHERE {ledger.order} > ? ORDER BY {ledger.order} LIMIT ?",
            (self._upto - ledger.overlap, MOST + len(self._known)),
        ).fetchall()
        fresh = [row for row in rows if row["id"] not in self._known]
        if rows:
            self._upto = max(self._upto, rows[-1]["place"])
        if ledger.overlap:
            all_known = self._known | {row["id"]: row["place"] for row in fresh}
            self._known = {row: place for row, place in all_known.items() if place > self._upto - ledger.overlap}
        return fresh

    def _of(self, db: sqlite3.Connection, ids: Collection[int | str]) -> Sequence[sqlite3.Row]:
        if not ids:
            return ()
        where = "WHERE id IN (SELECT value FROM json_each(?))"
        return db.execute(f"{self._select()} {where}", (json.dumps(list(ids)),)).fetchall()

    def _select(self) -> str:
        ledger = self._ledger
        return (
            f"SELECT id, {ledger.order} AS place, ({ledger.is_open}) AS is_open, {ledger.columns} "  # noqa: S608 - of the constants above
            f"FROM {ledger.table}"
        )

    def _recent(self) -> str:
        ledger = self._ledger
        return f"SELECT id, {ledger.order} FROM {ledger.table} WHERE {ledger.order} > ? AND {ledger.order} <= ?"  # noqa: S608 - of the constants above


def count_open(db: sqlite3.Connection) -> Counts:
    """What is open, by the indexes of what is open alone."""
    turns = db.execute(f"SELECT status, COUNT(*) FROM turns WHERE {TURNS.is_open} GROUP BY status")  # noqa: S608 - constant
    asked = db.execute("SELECT kind, COUNT(*) FROM approvals WHERE status = 'pending' GROUP BY kind")
    questions = db.execute("SELECT COUNT(*) FROM questions WHERE status = 'pending'").fetchone()
    messages = db.execute(
        f"SELECT COUNT(*) FROM chat_outbox WHERE ({LETTERS.is_open} OR amendment IS NOT NULL)"  # noqa: S608 - constant
    ).fetchone()
    return Counts(
        {str(row[0]): int(row[1]) for row in turns},
        {str(row[0]): int(row[1]) for row in asked},
        int(questions[0]),
        int(messages[0]),
    )
