"""Rows of sources: what strangers may have written and a conversation has read, where that came from, and how often.

A row is written in the transaction that lets the content in, or before it. Its ``mark`` grows with whatever is new, so
what came after a grant is told without a clock.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from orchestrator.approvals.grant_rows import conversation_of
from orchestrator.core.models import CubicleKey
from orchestrator.core.text import one_line


class SourceKind(StrEnum):
    """What it is that was read."""

    WEB = "web"
    """A page or another file from a host; the subject is the host, in ASCII."""
    SEARCH = "search"
    """Results of a search; the subject is the search engine."""
    PACKAGES = "packages"
    """A package that was installed; the subject is its name."""
    FILE = "file"
    """A file that came with a message; the subject is where it lies."""
    MESSAGE = "message"
    """A message that a person forwarded; the subject says from whom."""
    TRANSCRIPT = "transcript"
    """A conversation that was imported; the subject is its name."""
    MCP = "mcp"
    """What a tool of an MCP server answered; the subject is the server's name."""


_ALWAYS_NEW = frozenset({SourceKind.SEARCH, SourceKind.FILE, SourceKind.MESSAGE, SourceKind.TRANSCRIPT})
"""Each time something else comes of these."""
MOST = 300
"""Rows of one conversation; beyond that one row a kind counts."""
MOST_LINKS = 1_000
_SUBJECT_CHARS, _DETAIL_CHARS = 260, 300


@dataclass(frozen=True, slots=True)
class NewSource:
    """Something that is being let in."""

    kind: SourceKind
    subject: str
    detail: str = ""
    """What else there is to know, such as the whole address."""
    ref: str = ""
    """What makes the same arrival the same one when it is written down again."""


@dataclass(frozen=True, slots=True)
class Source:
    """Something that was read in one turn of a conversation."""

    id: int
    conversation: int | None
    """None for what came while no turn was under way; it counts for every conversation that was there."""
    turn: int | None
    kind: SourceKind
    subject: str
    """Empty for all that there are no rows for."""
    detail: str
    count: int
    first_at: float
    last_at: float
    mark: int
    """It was new here after a grant with a lower ``read_mark``."""


def add_source(db: sqlite3.Connection, key: CubicleKey, turn: int | None, new: NewSource, *, now: float) -> None:
    """It is read in the conversation of this turn from now on. The same arrival twice counts once."""
    conversation = conversation_of(db, turn)
    kind, subject = new.kind, one_line(new.subject, _SUBJECT_CHARS)
    place = (key.agent, key.user, conversation)
    here = "agent = ? AND user = ? AND conversation IS ?"
    before = db.execute(
        f"SELECT * FROM sources WHERE {here} AND turn IS ? AND kind = ? AND subject = ?",  # noqa: S608 - constant
        (*place, turn, kind, subject),
    ).fetchone()
    if before is not None and new.ref and before["last_ref"] == new.ref:
        return
    count = db.execute(f"SELECT COUNT(*) FROM sources WHERE {here}", place).fetchone()[0]  # noqa: S608 - constant
    if before is None and count >= MOST:
        turn, subject = None, ""
        before = db.execute(
            f"SELECT * FROM sources WHERE {here} AND turn IS NULL AND kind = ? AND subject = ''",  # noqa: S608 - constant
            (*place, kind),
        ).fetchone()
    known = None
    if subject and kind not in _ALWAYS_NEW:
        known = db.execute(
            f"SELECT MIN(mark) FROM sources WHERE {here} AND kind = ? AND subject = ?",  # noqa: S608 - constant
            (*place, kind, subject),
        ).fetchone()[0]
    if before is not None:
        db.execute("DELETE FROM sources WHERE id = ?", (before["id"],))
    added = db.execute(
        "INSERT INTO sources (agent, user, conversation, turn, kind, subject, detail, last_ref, count, first_at, "
        "last_at, mark) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *place,
            turn,
            kind,
            subject,
            one_line(new.detail, _DETAIL_CHARS),
            new.ref,
            1 if before is None else before["count"] + 1,
            now if before is None else before["first_at"],
            now,
            known or 0,
        ),
    ).lastrowid
    if not known:
        db.execute("UPDATE sources SET mark = id WHERE id = ?", (added,))


def get_read_mark(db: sqlite3.Connection) -> int:
    """What was read until now has no higher mark, and what is new after it has."""
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'sources'").fetchone()
    return 0 if row is None else int(row[0])


def repair_marks(db: sqlite3.Connection) -> None:
    """After rows were lost: nobody knows of more than was read, so that whatever is read from now on is new."""
    mark = get_read_mark(db)
    db.execute("UPDATE grants SET read_mark = ? WHERE read_mark > ?", (mark, mark))
    db.execute("UPDATE approvals SET read_mark = ? WHERE read_mark > ?", (mark, mark))


def list_sources(
    db: sqlite3.Connection,
    key: CubicleKey,
    conversation: int | None,
    *,
    after: int = 0,
    kinds: Collection[SourceKind] = tuple(SourceKind),
) -> list[Source]:
    """What the conversation has read, the oldest first; without one what all of the cubicle's have. Of very much the
    newest.

    Args:
        db: a transaction.
        key: whose.
        conversation: which.
        after: only what was new after this mark.
        kinds: only of these.
    """
    ours = "agent = :agent AND user = :user"
    if conversation is None:
        found = f"SELECT * FROM sources WHERE {ours}"  # noqa: S608 - constant
    else:  # each half goes by an index of its own, however much the cubicle has read elsewhere
        found = (
            f"SELECT * FROM sources WHERE conversation = :place AND {ours} UNION ALL "  # noqa: S608 - constant
            f"SELECT * FROM sources WHERE {ours} AND conversation IS NULL "
            "AND last_at >= (SELECT created_at FROM conversations WHERE id = :place)"
        )
    rows = db.execute(
        f"SELECT * FROM ({found}) WHERE mark > :after AND kind IN (SELECT value FROM json_each(:kinds)) "  # noqa: S608
        "ORDER BY id DESC LIMIT :most",
        {
            "agent": key.agent,
            "user": key.user,
            "after": after,
            "kinds": json.dumps([str(kind) for kind in kinds]),
            "place": conversation,
            "most": 2 * MOST,
        },
    )
    return [_make_source(row) for row in rows][::-1]


def list_turn_sources(db: sqlite3.Connection, turn: int) -> list[Source]:
    """What came in in this turn, the oldest first."""
    rows = db.execute(
        "SELECT * FROM sources WHERE turn = :turn AND conversation = (SELECT conversation FROM turns WHERE id = :turn) "
        "ORDER BY id",
        {"turn": turn},
    )
    return [_make_source(row) for row in rows]


def inherit_sources(db: sqlite3.Connection, turn: int, conversation: int) -> None:
    """A conversation that goes on from a turn has read whatever the turn's own has."""
    known = {"turn": turn, "fork": conversation}
    db.execute(
        "INSERT INTO sources (agent, user, conversation, turn, kind, subject, detail, last_ref, count, first_at, "
        "last_at, mark) SELECT agent, user, :fork, turn, kind, subject, detail, last_ref, count, first_at, last_at, "
        "mark FROM sources WHERE conversation = (SELECT conversation FROM turns WHERE id = :turn) ORDER BY id",
        known,
    )
    db.execute(
        "INSERT OR IGNORE INTO source_links (conversation, sha256) SELECT :fork, sha256 FROM source_links "
        "WHERE conversation = (SELECT conversation FROM turns WHERE id = :turn) ORDER BY id",
        known,
    )


def forget_sources(db: sqlite3.Connection, conversation: int) -> None:
    """Nothing of the conversation is left that anybody could be told."""
    db.execute("DELETE FROM sources WHERE conversation = ?", (conversation,))
    db.execute("DELETE FROM source_links WHERE conversation = ?", (conversation,))


def add_links(db: sqlite3.Connection, turn: int | None, urls: Iterable[str]) -> None:
    """The host itself showed these addresses in the turn's conversation; it remembers the newest of them."""
    conversation = conversation_of(db, turn)
    if conversation is None:
        return
    db.executemany(
        "INSERT OR REPLACE INTO source_links (conversation, sha256) VALUES (?, ?)",
        [(conversation, _digest(url)) for url in urls],
    )
    db.execute(
        "DELETE FROM source_links WHERE conversation = ? AND id NOT IN "
        "(SELECT id FROM source_links WHERE conversation = ? ORDER BY id DESC LIMIT ?)",
        (conversation, conversation, MOST_LINKS),
    )


def has_link(db: sqlite3.Connection, turn: int | None, url: str) -> bool:
    """The host itself showed exactly this address in the turn's conversation."""
    row = db.execute(
        "SELECT 1 FROM source_links WHERE conversation = ? AND sha256 = ?", (conversation_of(db, turn), _digest(url))
    ).fetchone()
    return row is not None


def _digest(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()


def _make_source(row: sqlite3.Row) -> Source:
    fields: dict[str, Any] = dict(row)
    for name in ("agent", "user", "last_ref"):
        del fields[name]
    return Source(**{**fields, "kind": SourceKind(fields["kind"])})
