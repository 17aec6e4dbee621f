"""How SQLite goes about what every page asks: it must not read a whole history for it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.nouns import CubicleKey
from orchestrator.store import approvals, audit, turns
from tests.rooms import rooms

KEY = CubicleKey("crab", 1)


@pytest.mark.parametrize(
    "ask",
    [
        turns.under_way,
        turns.waiting_cubicles,
        lambda db: turns.history(db, KEY, limit=20),
        lambda db: approvals.of_turn(db, 1),
        audit.search,
        lambda db: audit.search(db, agent="crab", kind="turn.ended"),
    ],
    ids=["under way", "waiting", "history", "approvals of a turn", "log", "log of an agent"],
)
def test_it_is_found_by_an_index(tmp_path: Path, ask: Callable[[sqlite3.Connection], object]) -> None:
    """Every step of the plan is a search, or goes along an index as far as it must."""
    asked: list[str] = []
    with rooms(tmp_path) as house, house.store.reading() as db:
        db.set_trace_callback(asked.append)
        ask(db)
        db.set_trace_callback(None)
        plans = [str(row[3]) for text in asked for row in db.execute(f"EXPLAIN QUERY PLAN {text}")]
    assert plans
    whole = [step for step in plans if step in ("SCAN turns", "SCAN approvals", "SCAN steps")]
    assert whole == [], plans
