"""What agents did for one person, read across turns, deliveries and spending. Every query is bounded, and each has an
index that holds the person first, so that no other person's rows are looked at.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass

from orchestrator.capabilities.delivery.rows import delivery_of
from orchestrator.core.models import Delivery

MOST_TURNS = 500
MOST_FILES = 500
MOST_CALLS = 4_000
"""How far back one look goes; what is beyond it is said to be there."""
_RECENT = 200
"""Turns among which the last message of a person is looked for; an agent's calendar may have made the others."""
_IS_SILENT = """
    source = 'calendar' AND ((status = 'done' AND TRIM(COALESCE(reply, ''), char(9, 10, 13, 32)) = '')
        OR UPPER(SUBSTR(LTRIM(prompt, char(9, 10, 13, 32)), 1, 9)) = 'INTERNAL:')
"""
"""A run of the calendar that nobody is told of, as ``calendar.visibility`` says."""
_HAS_FILE = "status NOT IN ('withheld', 'refused')"


@dataclass(frozen=True, slots=True)
class EndedTurn:
    """A turn that has ended, as a sum needs it."""

    id: int
    agent: str
    status: str
    apps: tuple[str, ...]
    """The web apps that it made or changed."""
    is_silent: bool


@dataclass(frozen=True, slots=True)
class MadeApp:
    """A web app that a turn made or changed, by its name."""

    agent: str
    name: str


def list_ended(db: sqlite3.Connection, user: int, since: float, until: float) -> list[EndedTurn]:
    """The person's turns that ended after ``since`` and not after ``until``, the last first."""
    found = db.execute(
        f"SELECT id, agent, status, apps, ({_IS_SILENT}) AS is_silent FROM turns INDEXED BY turns_of_user_by_end "  # noqa: S608 - constants
        "WHERE user = ? AND ended_at > ? AND ended_at <= ? AND forgotten = 0 ORDER BY ended_at DESC LIMIT ?",
        (user, since, until, MOST_TURNS),
    )
    return [
        EndedTurn(int(row["id"]), str(row["agent"]), str(row["status"]), _names(row["apps"]), bool(row["is_silent"]))
        for row in found
    ]


def count_files(db: sqlite3.Connection, user: int, since: float, until: float) -> dict[str, int]:
    """How many files were delivered to the person after ``since`` and not after ``until``, by agent; a file that was
    delivered again counts once."""
    found = db.execute(
        "SELECT agent, COUNT(DISTINCT path) AS many FROM (SELECT agent, path FROM deliveries "  # noqa: S608 - constants
        f"INDEXED BY deliveries_of_user WHERE user = ? AND at > ? AND at <= ? AND {_HAS_FILE} "
        "ORDER BY at DESC LIMIT ?) GROUP BY agent",
        (user, since, until, MOST_FILES),
    )
    return {str(row["agent"]): int(row["many"]) for row in found}


def sum_spent(db: sqlite3.Connection, user: int, since: float, until: float) -> tuple[int, bool]:
    """What the person's turns cost in that time, in micro-dollars, and whether there was more than was added up."""
    row = db.execute(
        "SELECT COALESCE(SUM(cost_micro), 0), COUNT(*) FROM (SELECT cost_micro FROM spending INDEXED BY "
        "spending_of_user WHERE user = ? AND ended_at > ? AND ended_at <= ? AND state IN ('settled', 'kept') "
        "ORDER BY ended_at DESC LIMIT ?)",
        (user, since, until, MOST_CALLS + 1),
    ).fetchone()
    return int(row[0]), int(row[1]) > MOST_CALLS


def list_made_apps(db: sqlite3.Connection, user: int, *, limit: int) -> list[MadeApp]:
    """The apps that the person's newest turns made or changed, each once, the newest first."""
    found = db.execute(
        "SELECT agent, apps FROM turns INDEXED BY turns_of_user_with_apps WHERE user = ? AND apps <> '[]' "
        "ORDER BY id DESC LIMIT ?",
        (user, limit),
    )
    return list(dict.fromkeys(MadeApp(str(row["agent"]), name) for row in found for name in _names(row["apps"])))


def list_files(db: sqlite3.Connection, user: int, *, limit: int, before: int | None = None) -> list[Delivery]:
    """The newest files that were delivered to the person, newest first; ``before`` is the id to go on from."""
    found = db.execute(
        "SELECT * FROM deliveries INDEXED BY deliveries_of_user "  # noqa: S608 - constants
        f"WHERE user = :user AND {_HAS_FILE} AND path <> x'' AND (:before IS NULL OR "
        "(at, id) < (SELECT at, id FROM deliveries WHERE id = :before)) ORDER BY at DESC, id DESC LIMIT :limit",
        {"user": user, "before": before, "limit": limit},
    )
    return [delivery_of(row) for row in found]


def get_last_agent(db: sqlite3.Connection, user: int) -> str:
    """The agent that the person wrote to last; empty for who never did, or not lately."""
    row = db.execute(
        "SELECT agent FROM (SELECT id, agent, source FROM turns WHERE user = ? ORDER BY id DESC LIMIT ?) "
        "WHERE source <> 'calendar' ORDER BY id DESC LIMIT 1",
        (user, _RECENT),
    ).fetchone()
    return "" if row is None else str(row["agent"])


def has_turns(db: sqlite3.Connection, user: int) -> bool:
    """The person, or their calendar, has given an agent something to do before."""
    return db.execute("SELECT 1 FROM turns WHERE user = ? LIMIT 1", (user,)).fetchone() is not None


def _names(apps: str) -> tuple[str, ...]:
    return tuple(json.loads(apps))
