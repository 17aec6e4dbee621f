"""Rows of plans: what an agent is about to do in a turn, item by item."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlanItem:
    """One thing to be done."""

    n: int
    """From 1, in the order of the list."""
    text: str
    is_done: bool
    note: str
    """What the agent said about it; empty for nothing."""


def list_items(db: sqlite3.Connection, turn: int) -> list[PlanItem]:
    """The plan of a turn, in order."""
    rows = db.execute("SELECT n, text, is_done, note FROM plan_items WHERE turn = ? ORDER BY n", (turn,))
    return [PlanItem(row["n"], row["text"], bool(row["is_done"]), row["note"]) for row in rows]


def replace_items(db: sqlite3.Connection, turn: int, items: Sequence[PlanItem]) -> None:
    """This is the plan from now on."""
    db.execute("DELETE FROM plan_items WHERE turn = ?", (turn,))
    db.executemany(
        "INSERT INTO plan_items (turn, n, text, is_done, note) VALUES (?, ?, ?, ?, ?)",
        [(turn, item.n, item.text, item.is_done, item.note) for item in items],
    )
