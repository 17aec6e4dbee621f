"""Rows of conversations: each belongs to one cubicle, and every turn to one of them."""

from __future__ import annotations

import sqlite3
from typing import Any

from orchestrator.core.models import Conversation, CubicleKey

_LIVE = "SELECT * FROM conversations WHERE agent = ? AND user = ? AND archived_at IS NULL"


def get_conversation(db: sqlite3.Connection, conversation: int) -> Conversation | None:
    """The conversation with this id, deleted ones too."""
    row = db.execute("SELECT * FROM conversations WHERE id = ?", (conversation,)).fetchone()
    return None if row is None else _make_conversation(row)


def get_first(db: sqlite3.Connection, key: CubicleKey) -> Conversation | None:
    """The cubicle's first conversation: what names no other goes there. None before there is any."""
    row = db.execute(f"{_LIVE} ORDER BY id LIMIT 1", (key.agent, key.user)).fetchone()
    return None if row is None else _make_conversation(row)


def ensure_first(db: sqlite3.Connection, key: CubicleKey, now: float) -> Conversation:
    """The cubicle's first conversation, which begins now if there is none yet."""
    return get_first(db, key) or insert_conversation(db, key, name="", now=now)


def find_conversation(db: sqlite3.Connection, key: CubicleKey, conversation: int | None) -> Conversation | None:
    """The cubicle's conversation with this id, the first one for None; None when there is none that is not deleted."""
    if conversation is None:
        return get_first(db, key)
    found = get_conversation(db, conversation)
    return found if found is not None and found.cubicle == key and found.archived_at is None else None


def list_conversations(
    db: sqlite3.Connection, key: CubicleKey, *, limit: int, before: Conversation | None = None
) -> list[Conversation]:
    """The cubicle's conversations, the one that was used last first; ``before`` is the one to go on after."""
    used_at, last = (before.used_at, before.id) if before else (2.0**62, 0)
    rows = db.execute(
        f"{_LIVE} AND (used_at, id) < (?, ?) ORDER BY used_at DESC, id DESC LIMIT ?",
        (key.agent, key.user, used_at, last, limit),
    )
    return [_make_conversation(row) for row in rows]


def search_names(db: sqlite3.Connection, key: CubicleKey, words: str) -> list[int]:
    """The cubicle's conversations with these words in their name or title."""
    escaped = words.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    rows = db.execute(
        "SELECT id FROM conversations WHERE agent = ? AND user = ? AND archived_at IS NULL "
        "AND CASE WHEN name <> '' THEN name ELSE title END LIKE ? ESCAPE '\\'",
        (key.agent, key.user, f"%{escaped}%"),
    )
    return [int(row["id"]) for row in rows]


def count_conversations(db: sqlite3.Connection, key: CubicleKey) -> int:
    """How many the cubicle has, without deleted ones."""
    row = db.execute(
        "SELECT COUNT(*) FROM conversations WHERE agent = ? AND user = ? AND archived_at IS NULL", (key.agent, key.user)
    ).fetchone()
    return int(row[0])


def insert_conversation(
    db: sqlite3.Connection, key: CubicleKey, *, name: str, now: float, forked_from: int | None = None
) -> Conversation:
    """A new one, which goes on from ``forked_from`` where that is given."""
    row = db.execute(
        "INSERT INTO conversations (agent, user, name, head, forked_from, created_at, used_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING *",
        (key.agent, key.user, name, forked_from, forked_from, now, now),
    ).fetchone()
    return _make_conversation(row)


def set_name(db: sqlite3.Connection, conversation: int, name: str) -> None:
    """What its person calls it; empty for its first words again."""
    db.execute("UPDATE conversations SET name = ? WHERE id = ?", (name, conversation))


def set_head(db: sqlite3.Connection, conversation: int, head: int | None) -> None:
    """Another branch is shown, and goes on."""
    db.execute("UPDATE conversations SET head = ? WHERE id = ?", (head, conversation))


def set_title(db: sqlite3.Connection, conversation: int, title: str) -> None:
    """What it is called while it has no name."""
    db.execute("UPDATE conversations SET title = ? WHERE id = ?", (title, conversation))


def add_turn(db: sqlite3.Connection, conversation: int, turn: int, *, title: str, used_at: float | None) -> None:
    """The turn is the newest of the branch that goes on; where nothing was said before, its words are the title.

    Args:
        db: the transaction of the turn's own row.
        conversation: the conversation's id.
        turn: the turn's id.
        title: the first words of its message.
        used_at: when its person wrote, in seconds since the epoch; None when no person did.
    """
    db.execute(
        "UPDATE conversations SET head = ?, title = CASE WHEN title = '' THEN ? ELSE title END, "
        "used_at = COALESCE(?, used_at) WHERE id = ?",
        (turn, title, used_at, conversation),
    )


def empty_conversation(db: sqlite3.Connection, conversation: int, head: int | None) -> None:
    """What was said is gone, up to what is still open, and its words with it."""
    db.execute("UPDATE conversations SET head = ?, title = '', forked_from = NULL WHERE id = ?", (head, conversation))


def archive_conversation(db: sqlite3.Connection, conversation: int, now: float) -> None:
    """It is deleted: nobody finds it any more. The row stays, since rows of turns name it."""
    db.execute("UPDATE conversations SET archived_at = ?, name = '', title = '' WHERE id = ?", (now, conversation))


def repair_conversations(db: sqlite3.Connection) -> None:
    """After rows were lost: every turn has its conversation and follows one that is there, and every conversation goes
    on from its newest turn where its head is gone."""
    db.execute(
        "INSERT INTO conversations (id, agent, user, created_at, used_at) "
        "SELECT conversation, MIN(agent), MIN(user), MIN(created_at), MAX(created_at) FROM turns "
        "WHERE conversation NOT IN (SELECT id FROM conversations) GROUP BY conversation"
    )
    db.execute(
        "UPDATE turns SET parent = (SELECT MAX(id) FROM turns AS before "
        "WHERE before.conversation = turns.conversation AND before.id < turns.id AND before.forgotten = 0) "
        "WHERE parent NOT IN (SELECT id FROM turns)"
    )
    db.execute(
        "UPDATE conversations SET head = (SELECT MAX(id) FROM turns "
        "WHERE conversation = conversations.id AND forgotten = 0) "
        "WHERE head IS NULL OR head NOT IN (SELECT id FROM turns)"
    )


def _make_conversation(row: sqlite3.Row) -> Conversation:
    fields: dict[str, Any] = dict(row)
    return Conversation(cubicle=CubicleKey(str(fields.pop("agent")), int(fields.pop("user"))), **fields)
