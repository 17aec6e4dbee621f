"""Arrivals: what came in for an agent is written down for every conversation whose turn asked for it or waits for it,
before anything inside can read it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from orchestrator.approvals import source_rows
from orchestrator.approvals.source_rows import NewSource
from orchestrator.capabilities import call_rows
from orchestrator.core.models import CubicleKey


def record_arrivals(
    db: sqlite3.Connection,
    key: CubicleKey,
    turns: Iterable[int | None],
    new: Iterable[NewSource],
    *,
    awaited: Iterable[str] = (),
    now: float,
) -> None:
    """They are read in the conversations of these turns.

    Args:
        db: the transaction that lets them in, or one before it.
        key: whose.
        turns: who asked.
        new: what comes.
        awaited: the references that calls wait for which get it too.
        now: in seconds since the epoch.
    """
    reading = {*turns, *(turn for one in awaited for turn in call_rows.list_waiting_turns(db, one))}
    for one in new:
        for turn in sorted(reading, key=lambda turn: turn or 0):
            source_rows.add_source(db, key, turn, one, now=now)
