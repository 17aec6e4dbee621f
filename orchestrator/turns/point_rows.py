"""Rows of what turns did to files: the points of the workspace's history before and after each, and notes for the agent
about what was put back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.core.models import CubicleKey

_MOST_WALKED = 1_000
"""Turns that are looked at for one that had a command."""


@dataclass(frozen=True, slots=True)
class TurnSpan:
    """Between which points a turn worked."""

    turn: int
    before: int
    before_at: float
    """When that point was taken: another point of the same number, of a history that was begun anew, is not it."""
    after: int | None
    """None while the turn works, or where no point could be taken."""
    changed: int
    """Files that differ between the two."""
    undone_at: float | None


@dataclass(frozen=True, slots=True)
class UndoWish:
    """Somebody wants a turn to be taken back."""

    turn: int
    by: str
    """Who, as it is written down."""
    is_since: bool
    """Everything since goes back, too."""
    including: tuple[tuple[bytes, ...], ...]
    """Files that go back although they were changed again since."""


def insert_span(db: sqlite3.Connection, turn: int, before: int, before_at: float) -> None:
    """The turn begins at this point; one that it began with before, in an earlier try, stays."""
    db.execute(
        "INSERT INTO turn_points (turn, before, before_at) VALUES (?, ?, ?) ON CONFLICT (turn) DO NOTHING",
        (turn, before, before_at),
    )


def end_span(db: sqlite3.Connection, turn: int, after: int, changed: int) -> None:
    """The turn has ended at this point."""
    db.execute("UPDATE turn_points SET after = ?, changed = ? WHERE turn = ?", (after, changed, turn))


def mark_undone(db: sqlite3.Connection, turns: Sequence[int], now: float) -> None:
    """What these turns did to files was taken back."""
    db.executemany("UPDATE turn_points SET undone_at = ? WHERE turn = ?", [(now, turn) for turn in turns])


def insert_undo(db: sqlite3.Connection, undo: UndoWish) -> None:
    """An undo begins; after a death it is done again."""
    db.execute(
        "INSERT OR REPLACE INTO undos_under_way (turn, by, is_since, including) VALUES (?, ?, ?, ?)",
        (undo.turn, undo.by, undo.is_since, json.dumps([[part.hex() for part in path] for path in undo.including])),
    )


def delete_undo(db: sqlite3.Connection, turn: int) -> None:
    """It is done, or was refused."""
    db.execute("DELETE FROM undos_under_way WHERE turn = ?", (turn,))


def list_undos(db: sqlite3.Connection) -> list[UndoWish]:
    """Those that a death cut short."""
    rows = db.execute("SELECT * FROM undos_under_way ORDER BY turn")
    return [
        UndoWish(
            int(row["turn"]),
            str(row["by"]),
            bool(row["is_since"]),
            tuple(tuple(bytes.fromhex(part) for part in path) for path in json.loads(row["including"])),
        )
        for row in rows
    ]


def get_span(db: sqlite3.Connection, turn: int) -> TurnSpan | None:
    """The turn's, where it had a command."""
    row = db.execute("SELECT * FROM turn_points WHERE turn = ?", (turn,)).fetchone()
    return None if row is None else TurnSpan(**dict(row))


def find_span_before(db: sqlite3.Connection, turn: int) -> TurnSpan | None:
    """The span of this turn, or of the nearest before it on its branch."""
    row = db.execute(
        """
        WITH RECURSIVE way (id, parent, n) AS (
            SELECT id, parent, 1 FROM turns WHERE id = :turn
            UNION ALL
            SELECT turns.id, turns.parent, n + 1 FROM way JOIN turns ON turns.id = way.parent WHERE n < :most
        )
        SELECT turn_points.* FROM way JOIN turn_points ON turn_points.turn = way.id ORDER BY way.n LIMIT 1
        """,
        {"turn": turn, "most": _MOST_WALKED},
    ).fetchone()
    return None if row is None else TurnSpan(**dict(row))


def list_unfinished(db: sqlite3.Connection) -> list[tuple[CubicleKey, int]]:
    """Turns that have ended and have no point after them."""
    rows = db.execute(
        "SELECT turns.agent, turns.user, turns.id FROM turn_points JOIN turns ON turns.id = turn_points.turn "
        "WHERE turn_points.after IS NULL AND turns.status IN ('done', 'failed', 'stopped') ORDER BY turns.id"
    )
    return [(CubicleKey(str(row["agent"]), int(row["user"])), int(row["id"])) for row in rows]


def list_since(db: sqlite3.Connection, key: CubicleKey, turn: int) -> list[int]:
    """This turn and the later ones of the cubicle that had a command, in whatever conversation, oldest first."""
    rows = db.execute(
        "SELECT turns.id FROM turns JOIN turn_points ON turn_points.turn = turns.id "
        "WHERE turns.agent = ? AND turns.user = ? AND turns.id >= ? ORDER BY turns.id",
        (key.agent, key.user, turn),
    )
    return [int(row["id"]) for row in rows]


def insert_note(db: sqlite3.Connection, key: CubicleKey, text: str, now: float) -> int:
    """The agent is told this before its next turn. Returns the note's id."""
    row = db.execute(
        "INSERT INTO workspace_notes (agent, user, text, at) VALUES (?, ?, ?, ?) RETURNING id",
        (key.agent, key.user, text, now),
    ).fetchone()
    return int(row["id"])


def delete_note(db: sqlite3.Connection, note: int) -> None:
    """What it says did not happen."""
    db.execute("DELETE FROM workspace_notes WHERE id = ?", (note,))


def take_notes(db: sqlite3.Connection, key: CubicleKey, turn: int) -> list[str]:
    """What the agent is told before this turn, which no other turn is told; again for the same turn."""
    db.execute(
        "UPDATE workspace_notes SET turn = ? WHERE agent = ? AND user = ? AND turn IS NULL", (turn, key.agent, key.user)
    )
    rows = db.execute(
        "SELECT text FROM workspace_notes WHERE agent = ? AND user = ? AND turn = ? ORDER BY id",
        (key.agent, key.user, turn),
    )
    return [str(row["text"]) for row in rows]


def has_notes(db: sqlite3.Connection, key: CubicleKey, turn: int) -> bool:
    """There is something to be told before this turn."""
    row = db.execute(
        "SELECT 1 FROM workspace_notes WHERE agent = ? AND user = ? AND (turn IS NULL OR turn = ?) LIMIT 1",
        (key.agent, key.user, turn),
    ).fetchone()
    return row is not None
