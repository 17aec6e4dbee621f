"""Rows of who may use which agent. To whom an agent is closed is said by the view ``closed_cubicles`` alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from orchestrator.core.models import CubicleKey

NOT_CLOSED = "agent NOT IN (SELECT agent FROM closed_cubicles AS closed WHERE closed.user = {user})"
"""A condition on rows of one person: their agent is open to them. ``{user}`` is a mark for their number."""


def list_people(db: sqlite3.Connection, agent: str) -> tuple[int, ...] | None:
    """The members that the agent is for; None when it is for everybody."""
    row = db.execute("SELECT is_limited FROM agents WHERE name = ?", (agent,)).fetchone()
    if row is None or not row["is_limited"]:
        return None
    found = db.execute("SELECT user FROM agent_people WHERE agent = ? ORDER BY user", (agent,))
    return tuple(int(person["user"]) for person in found)


def set_people(db: sqlite3.Connection, agent: str, people: Collection[int] | None) -> None:
    """The agent is for these from now on, or for everybody; raises ``sqlite3.IntegrityError`` for nobody's number."""
    db.execute("UPDATE agents SET is_limited = ? WHERE name = ?", (people is not None, agent))
    db.execute("DELETE FROM agent_people WHERE agent = ?", (agent,))
    db.executemany("INSERT INTO agent_people (agent, user) VALUES (?, ?)", [(agent, user) for user in people or ()])


def is_closed(db: sqlite3.Connection, key: CubicleKey) -> bool:
    """This person may not use this agent."""
    row = db.execute("SELECT 1 FROM closed_cubicles WHERE agent = ? AND user = ?", (key.agent, key.user)).fetchone()
    return row is not None


def list_closed_agents(db: sqlite3.Connection, user: int) -> frozenset[str]:
    """The agents that this person may not use."""
    found = db.execute("SELECT agent FROM closed_cubicles WHERE user = ?", (user,))
    return frozenset(str(row["agent"]) for row in found)


def list_closed(db: sqlite3.Connection) -> frozenset[CubicleKey]:
    """Every person with every agent that they may not use."""
    found = db.execute("SELECT agent, user FROM closed_cubicles")
    return frozenset(CubicleKey(str(row["agent"]), int(row["user"])) for row in found)
