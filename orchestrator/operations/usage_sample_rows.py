"""Rows of samples: what a running cubicle used at one moment. They last for a day."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from orchestrator.core.models import CubicleKey


@dataclass(frozen=True, slots=True)
class Sample:
    """One moment of one cubicle."""

    at: int
    """Unix seconds."""
    cpu_percent: float
    """Of one processor, since the sample before."""
    memory_bytes: int
    pids: int
    disk_bytes: int | None
    """What its workspace took when it was last looked at; None where nobody has looked yet."""


def insert_sample(db: sqlite3.Connection, key: CubicleKey, sample: Sample) -> None:
    """One more, unless its agent or person is gone by now; a second one of the same moment takes the first's place."""
    db.execute(
        "INSERT OR REPLACE INTO samples (agent, user, at, cpu_percent, memory_bytes, pids, disk_bytes) "
        "SELECT agents.name, users.id, ?, ?, ?, ?, ? FROM agents, users WHERE agents.name = ? AND users.id = ?",
        (
            sample.at,
            sample.cpu_percent,
            sample.memory_bytes,
            sample.pids,
            sample.disk_bytes,
            key.agent,
            key.user,
        ),
    )


def list_samples(db: sqlite3.Connection, key: CubicleKey, at: float) -> list[Sample]:
    """Those of one cubicle, oldest first."""
    found = db.execute(
        "SELECT at, cpu_percent, memory_bytes, pids, disk_bytes FROM samples "
        "WHERE agent = ? AND user = ? AND at >= ? ORDER BY at",
        (key.agent, key.user, at),
    )
    return [Sample(*row) for row in found]


def delete_samples(db: sqlite3.Connection, before: float) -> None:
    """Older ones go."""
    db.execute("DELETE FROM samples WHERE at < ?", (before,))
