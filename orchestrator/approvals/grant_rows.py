"""Rows of grants: what a person allowed an agent in advance, for how long, and who said so."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from orchestrator.core.models import CubicleKey


class GrantKind(StrEnum):
    """What a grant is about."""

    COMMAND = "command"
    """A kind of command, as policy names it: ``delete below work/build/``."""
    HOST = "host"
    """A host that files may be fetched from, in ASCII."""
    SITE = "site"
    """A site that the agent's browser may open, ``shop.test``; or what pages of one may load from elsewhere,
    ``api.example with shop.test``."""
    MCP = "mcp"
    """A tool of an MCP server's, ``github/create_issue``, with any arguments."""


class GrantScope(StrEnum):
    """How long a grant holds."""

    HOUR = "hour"
    CONVERSATION = "conversation"
    """In one conversation until it is cleared, a day at most."""
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Grant:
    """Something that an agent may do without asking."""

    id: str
    agent: str
    user: int | None
    """Whose conversations it holds in; None for everybody's."""
    kind: GrantKind
    subject: str
    scope: GrantScope
    since: float
    until: float | None
    by: str
    """Who said so, and where."""
    conversation: int | None = None
    """The one conversation it holds in; None for all of that person's."""
    read_mark: int = 0
    """Whoever gave it could know what had been read up to this mark (``source_rows``)."""


def insert_grant(db: sqlite3.Connection, grant: Grant) -> None:
    """Write a grant down; one that says the same for the same scope is replaced."""
    db.execute(
        "DELETE FROM grants WHERE agent = ? AND user IS ? AND kind = ? AND subject = ? AND scope = ? "
        "AND conversation IS ?",
        (grant.agent, grant.user, grant.kind, grant.subject, grant.scope, grant.conversation),
    )
    db.execute(
        "INSERT INTO grants (id, agent, user, kind, subject, scope, since, until, by, conversation, read_mark) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            grant.id,
            grant.agent,
            grant.user,
            grant.kind,
            grant.subject,
            grant.scope,
            grant.since,
            grant.until,
            grant.by,
            grant.conversation,
            grant.read_mark,
        ),
    )


def list_live_grants(
    db: sqlite3.Connection, key: CubicleKey, turn: int | None, kind: GrantKind, now: float
) -> list[Grant]:
    """What holds in the conversation of this turn; without a turn, what holds in all of the person's with the agent."""
    rows = db.execute(
        "SELECT * FROM grants WHERE agent = ? AND kind = ? AND (user IS NULL OR user = ?) "
        "AND (conversation IS NULL OR conversation = (SELECT conversation FROM turns WHERE id = ?)) "
        "AND (until IS NULL OR until > ?) AND since <= ? ORDER BY since, id",
        (key.agent, kind, key.user, turn, now, now + _AHEAD_S),
    )
    return [_make_grant(row) for row in rows]


def list_grants(db: sqlite3.Connection, agent: str, user: int | None, now: float) -> list[Grant]:
    """What holds for an agent, oldest first; with a person only what holds in their conversation."""
    rows = db.execute(
        "SELECT * FROM grants WHERE agent = :agent AND (:user IS NULL OR user IS NULL OR user = :user) "
        "AND (until IS NULL OR until > :now) ORDER BY kind, since, id",
        {"agent": agent, "user": user, "now": now},
    )
    return [_make_grant(row) for row in rows]


def get_grant(db: sqlite3.Connection, agent: str, grant: str) -> Grant | None:
    """The agent's grant with this id."""
    row = db.execute("SELECT * FROM grants WHERE id = ? AND agent = ?", (grant, agent)).fetchone()
    return None if row is None else _make_grant(row)


def delete_grant(db: sqlite3.Connection, grant: str) -> bool:
    """Take a grant back; False when it is gone already."""
    return db.execute("DELETE FROM grants WHERE id = ?", (grant,)).rowcount == 1


def end_conversation(db: sqlite3.Connection, key: CubicleKey, conversation: int) -> None:
    """What held for this conversation ends with it, and what was given for the person's conversations by hand."""
    db.execute(
        "DELETE FROM grants WHERE agent = ? AND user = ? AND scope = 'conversation' "
        "AND (conversation IS NULL OR conversation = ?)",
        (key.agent, key.user, conversation),
    )


def conversation_of(db: sqlite3.Connection, turn: int | None) -> int | None:
    """The conversation that this turn belongs to."""
    row = db.execute("SELECT conversation FROM turns WHERE id = ?", (turn,)).fetchone()
    return None if row is None else row["conversation"]


def count_grants(db: sqlite3.Connection, agent: str) -> int:
    """How many grants the agent has, ended ones too."""
    return int(db.execute("SELECT COUNT(*) FROM grants WHERE agent = ?", (agent,)).fetchone()[0])


def delete_expired(db: sqlite3.Connection, now: float) -> None:
    """What has ended goes."""
    db.execute("DELETE FROM grants WHERE until <= ?", (now,))


_AHEAD_S = 3600.0
"""What was given so long after now was given by a clock that has gone back since: it holds no longer."""


def _make_grant(row: sqlite3.Row) -> Grant:
    fields: dict[str, Any] = dict(row)
    return Grant(**{**fields, "kind": GrantKind(fields["kind"]), "scope": GrantScope(fields["scope"])})
