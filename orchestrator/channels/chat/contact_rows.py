"""Rows about who is at the other end: strangers who wrote to a bot, its chats and groups, and which update made which
turn. Of a stranger there is a number, a name and what was decided; never a word of theirs."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.channels.chat.channel_store import ChannelDb


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


def get_stranger(db: ChannelDb, agent: str, person: int) -> KnownStranger | None:
    """What is known of somebody who wrote to this agent's bot."""
    row = db.sql.execute(
        "SELECT agent, person, name, state, told_at FROM chat_strangers WHERE channel = ? AND agent = ? AND person = ?",
        (db.channel, agent, person),
    ).fetchone()
    return None if row is None else KnownStranger(**dict(row))


def list_waiting(db: ChannelDb, *, limit: int) -> list[KnownStranger]:
    """Those whom nobody has decided about, newest first."""
    rows = db.sql.execute(
        "SELECT agent, person, name, state, told_at FROM chat_strangers WHERE channel = ? "
        "AND state = 'asked' ORDER BY told_at DESC LIMIT ?",
        (db.channel, limit),
    )
    return [KnownStranger(**dict(row)) for row in rows]


def note_stranger(db: ChannelDb, agent: str, person: int, name: str, now: float) -> None:
    """Somebody is being answered now, and the operator asked about them."""
    db.sql.execute(
        "INSERT INTO chat_strangers (channel, agent, person, name, state, told_at) VALUES (?, ?, ?, ?, 'asked', ?) "
        "ON CONFLICT (channel, agent, person) "
        "DO UPDATE SET name = excluded.name, state = 'asked', told_at = excluded.told_at",
        (db.channel, agent, person, name, now),
    )


def decide_stranger(db: ChannelDb, agent: str, person: int, state: str, now: float) -> bool:
    """Allow, ignore or block; False when that was decided before."""
    cursor = db.sql.execute(
        "UPDATE chat_strangers SET state = ?, told_at = ? WHERE channel = ? AND agent = ? AND person = ? "
        "AND state = 'asked'",
        (state, now, db.channel, agent, person),
    )
    return cursor.rowcount == 1


def strangers_since(db: ChannelDb, agent: str, since: float) -> int:
    """How many strangers this agent's bot has answered since then."""
    row = db.sql.execute(
        "SELECT COUNT(*) FROM chat_strangers WHERE channel = ? AND agent = ? AND told_at > ?",
        (db.channel, agent, since),
    ).fetchone()
    return int(row[0])


def forget_strangers(db: ChannelDb, before: float) -> None:
    """Who was answered before then, and nothing came of it, is forgotten."""
    db.sql.execute(
        "DELETE FROM chat_strangers WHERE channel = ? AND state = 'asked' AND told_at < ?", (db.channel, before)
    )


def get_chat(db: ChannelDb, agent: str, number: int) -> KnownChat | None:
    """What is known of this chat."""
    row = db.sql.execute(
        "SELECT agent, chat, title, state, changed_at FROM chat_rooms WHERE channel = ? AND agent = ? AND chat = ?",
        (db.channel, agent, number),
    ).fetchone()
    return None if row is None else KnownChat(**dict(row))


def is_open(db: ChannelDb, agent: str, number: int) -> bool:
    """A private chat that the bot may write to: the person began it, and has not blocked the bot."""
    found = get_chat(db, agent, number)
    return found is not None and found.state == "open"


def put_chat(db: ChannelDb, chat: KnownChat) -> None:
    """The chat is as given now; the number of its last message stays."""
    db.sql.execute(
        "INSERT INTO chat_rooms (channel, agent, chat, title, state, changed_at) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (channel, agent, chat) DO UPDATE SET title = excluded.title, state = excluded.state, "
        "changed_at = excluded.changed_at",
        (db.channel, chat.agent, chat.chat, chat.title, chat.state, chat.changed_at),
    )


def set_chat_state(db: ChannelDb, agent: str, number: int, state: str, now: float) -> bool:
    """Enable or ignore a group that the bot is in; False when it is in that state already, or no longer there."""
    cursor = db.sql.execute(
        "UPDATE chat_rooms SET state = ?, changed_at = ? WHERE channel = ? AND agent = ? AND chat = ? AND chat < 0 "
        "AND state IN ('asked', 'enabled', 'ignored') AND state <> ?",
        (state, now, db.channel, agent, number, state),
    )
    return cursor.rowcount == 1


def list_groups(db: ChannelDb, agent: str) -> list[KnownChat]:
    """The groups that this agent's bot is in."""
    rows = db.sql.execute(
        "SELECT agent, chat, title, state, changed_at FROM chat_rooms WHERE channel = ? AND agent = ? AND chat < 0 "
        "AND state IN ('asked', 'enabled', 'ignored') ORDER BY title, chat",
        (db.channel, agent),
    )
    return [KnownChat(**dict(row)) for row in rows]


def is_enabled(db: ChannelDb, agent: str, number: int) -> bool:
    """The operator has said that this group may be listened to."""
    found = get_chat(db, agent, number)
    return found is not None and found.state == "enabled"


def give_origin(db: ChannelDb, bot: int, update: int, origin: str) -> None:
    """The update of a pressed button makes a turn: its answer belongs where the button was."""
    db.sql.execute(
        "UPDATE chat_inbox SET origin = ? WHERE channel = ? AND bot = ? AND update_id = ? AND origin IS NULL",
        (origin, db.channel, bot, update),
    )
