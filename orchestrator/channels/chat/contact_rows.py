"""Rows about who is at the other end: strangers who wrote to a bot, its chats and groups, and which update made which
turn. Of a stranger there is a number, a name and what was decided; never a word of theirs."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KnownStranger:
    """A stranger as an agent's bot knows them."""

    agent: str
    person: int
    name: str
    """What they chose to be called."""
    state: str
    """``asked``, ``ignored``, ``blocked`` or ``allowed``."""
    told_at: float
    """When they were last answered, or decided about."""


@dataclass(frozen=True, slots=True)
class KnownChat:
    """A chat of an agent's bot; groups have numbers below zero."""

    agent: str
    chat: int
    title: str
    state: str
    """``open`` or ``closed``; of a group ``asked``, ``enabled``, ``ignored`` or ``closed``."""
    changed_at: float


def stranger(db: sqlite3.Connection, agent: str, person: int) -> KnownStranger | None:
    """What is known of somebody who wrote to this agent's bot."""
    row = db.execute("SELECT * FROM telegram_strangers WHERE agent = ? AND person = ?", (agent, person)).fetchone()
    return None if row is None else KnownStranger(**dict(row))


def waiting(db: sqlite3.Connection, *, limit: int) -> list[KnownStranger]:
    """Those whom nobody has decided about, newest first."""
    rows = db.execute("SELECT * FROM telegram_strangers WHERE state = 'asked' ORDER BY told_at DESC LIMIT ?", (limit,))
    return [KnownStranger(**dict(row)) for row in rows]


def note_stranger(db: sqlite3.Connection, agent: str, person: int, name: str, now: float) -> None:
    """Somebody is being answered now, and the operator asked about them."""
    db.execute(
        "INSERT INTO telegram_strangers (agent, person, name, state, told_at) VALUES (?, ?, ?, 'asked', ?) "
        "ON CONFLICT (agent, person) DO UPDATE SET name = excluded.name, state = 'asked', told_at = excluded.told_at",
        (agent, person, name, now),
    )


def decide_stranger(db: sqlite3.Connection, agent: str, person: int, state: str, now: float) -> bool:
    """Allow, ignore or block; False when that was decided before."""
    cursor = db.execute(
        "UPDATE telegram_strangers SET state = ?, told_at = ? WHERE agent = ? AND person = ? AND state = 'asked'",
        (state, now, agent, person),
    )
    return cursor.rowcount == 1


def strangers_since(db: sqlite3.Connection, agent: str, since: float) -> int:
    """How many strangers this agent's bot has answered since then."""
    row = db.execute(
        "SELECT COUNT(*) FROM telegram_strangers WHERE agent = ? AND told_at > ?", (agent, since)
    ).fetchone()
    return int(row[0])


def forget_strangers(db: sqlite3.Connection, before: float) -> None:
    """Who was answered before then, and nothing came of it, is forgotten."""
    db.execute("DELETE FROM telegram_strangers WHERE state = 'asked' AND told_at < ?", (before,))


def chat(db: sqlite3.Connection, agent: str, number: int) -> KnownChat | None:
    """What is known of this chat."""
    row = db.execute(
        "SELECT agent, chat, title, state, changed_at FROM telegram_chats WHERE agent = ? AND chat = ?", (agent, number)
    ).fetchone()
    return None if row is None else KnownChat(**dict(row))


def is_open(db: sqlite3.Connection, agent: str, number: int) -> bool:
    """A private chat that the bot may write to: the person began it, and has not blocked the bot."""
    found = chat(db, agent, number)
    return found is not None and found.state == "open"


def put_chat(db: sqlite3.Connection, chat: KnownChat) -> None:
    """The chat is as given now; the number of its last message stays."""
    db.execute(
        "INSERT INTO telegram_chats (agent, chat, title, state, changed_at) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (agent, chat) DO UPDATE SET title = excluded.title, state = excluded.state, "
        "changed_at = excluded.changed_at",
        (chat.agent, chat.chat, chat.title, chat.state, chat.changed_at),
    )


def set_chat_state(db: sqlite3.Connection, agent: str, number: int, state: str, now: float) -> bool:
    """Enable or ignore a group that the bot is in; False when it is in that state already, or no longer there."""
    cursor = db.execute(
        "UPDATE telegram_chats SET state = ?, changed_at = ? WHERE agent = ? AND chat = ? AND chat < 0 "
        "AND state IN ('asked', 'enabled', 'ignored') AND state <> ?",
        (state, now, agent, number, state),
    )
    return cursor.rowcount == 1


def groups(db: sqlite3.Connection, agent: str) -> list[KnownChat]:
    """The groups that this agent's bot is in."""
    rows = db.execute(
        "SELECT agent, chat, title, state, changed_at FROM telegram_chats WHERE agent = ? AND chat < 0 "
        "AND state IN ('asked', 'enabled', 'ignored') ORDER BY title, chat",
        (agent,),
    )
    return [KnownChat(**dict(row)) for row in rows]


def is_enabled(db: sqlite3.Connection, agent: str, number: int) -> bool:
    """The operator has said that this group may be listened to."""
    found = chat(db, agent, number)
    return found is not None and found.state == "enabled"


def give_origin(db: sqlite3.Connection, bot: int, update: int, origin: str) -> None:
    """The update of a pressed button makes a turn: its answer belongs where the button was."""
    db.execute(
        "UPDATE telegram_inbox SET origin = ? WHERE bot = ? AND update_id = ? AND origin IS NULL",
        (origin, bot, update),
    )
