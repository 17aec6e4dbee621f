"""Rows of what came in from chats. A row is there before the app is told that it arrived, and stays for a while
after it was handled, without its body: the number of an update that was seen is how a second one is known."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.channels.chat.channel_store import ChannelDb

_WAITING = "channel = ? AND agent = ? AND chat = ? AND handled_at IS NULL"


@dataclass(frozen=True, slots=True)
class InboxRow:
    """One update that counts."""

    bot: int
    update_id: int
    agent: str
    chat: int
    thread: int | None
    person: int
    message: int | None
    album: str
    origin: str | None
    """Of a message that becomes a turn."""
    body: str
    received_at: float


def insert_update(db: ChannelDb, row: InboxRow) -> bool:
    """Keep an update; False when it was kept before."""
    cursor = db.sql.execute(
        "INSERT INTO chat_inbox (channel, bot, update_id, agent, chat, thread, person, message, album, origin, body, "
        "received_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            db.channel,
            row.bot,
            row.update_id,
            row.agent,
            row.chat,
            row.thread,
            row.person,
            row.message,
            row.album,
            row.origin,
            row.body,
            row.received_at,
        ),
    )
    return cursor.rowcount == 1


def is_waiting(db: ChannelDb, agent: str, chat: int) -> bool:
    """Something of this chat was not handled yet."""
    query = f"SELECT 1 FROM chat_inbox WHERE {_WAITING} LIMIT 1"  # noqa: S608 - constant
    return db.sql.execute(query, (db.channel, agent, chat)).fetchone() is not None


def waiting_chats(db: ChannelDb) -> list[tuple[str, int]]:
    """The chats, with their agents, of which something was not handled yet."""
    rows = db.sql.execute(
        "SELECT DISTINCT agent, chat FROM chat_inbox WHERE channel = ? AND handled_at IS NULL ORDER BY agent, chat",
        (db.channel,),
    )
    return [(str(row["agent"]), int(row["chat"])) for row in rows]


def get_first(db: ChannelDb, agent: str, chat: int, *, kinds: Iterable[str]) -> InboxRow | None:
    """The oldest of these kinds that waits in a chat."""
    wanted = tuple(kinds)
    marks = ", ".join("?" * len(wanted))
    row = db.sql.execute(
        f"SELECT * FROM chat_inbox WHERE {_WAITING} "  # noqa: S608 - constant and question marks
        f"AND json_extract(body, '$.kind') IN ({marks}) ORDER BY update_id LIMIT 1",
        (db.channel, agent, chat, *wanted),
    ).fetchone()
    return None if row is None else _row(row)


def of_album(db: ChannelDb, agent: str, chat: int, album: str) -> list[InboxRow]:
    """The parts of an album that wait, in order."""
    rows = db.sql.execute(
        f"SELECT * FROM chat_inbox WHERE {_WAITING} AND album = ? ORDER BY update_id",  # noqa: S608 - constant
        (db.channel, agent, chat, album),
    )
    return [_row(row) for row in rows]


def origin_of(db: ChannelDb, agent: str, chat: int, message: int) -> str | None:
    """Under which origin a message of this chat became a turn, if it did."""
    row = db.sql.execute(
        "SELECT origin FROM chat_inbox WHERE channel = ? AND agent = ? AND chat = ? AND message = ? "
        "AND origin IS NOT NULL "
        "ORDER BY update_id LIMIT 1",
        (db.channel, agent, chat, message),
    ).fetchone()
    return None if row is None else str(row["origin"])


def mark_handled(db: ChannelDb, bot: int, update_id: int, now: float) -> None:
    """The update had its effect; what it said is no longer kept here."""
    db.sql.execute(
        "UPDATE chat_inbox SET handled_at = COALESCE(handled_at, ?), body = NULL WHERE channel = ? "
        "AND bot = ? AND update_id = ?",
        (now, db.channel, bot, update_id),
    )


def delete_update(db: ChannelDb, bot: int, update_id: int) -> None:
    """Nothing is left of an update."""
    db.sql.execute(
        "DELETE FROM chat_inbox WHERE channel = ? AND bot = ? AND update_id = ?", (db.channel, bot, update_id)
    )


def forget_handled(db: ChannelDb, before: float) -> int:
    """What was handled long ago goes; returns how many that were."""
    return db.sql.execute("DELETE FROM chat_inbox WHERE channel = ? AND handled_at < ?", (db.channel, before)).rowcount


def note_message(db: ChannelDb, agent: str, chat: int, message: int, now: float) -> None:
    """A chat has got to this number. Whoever writes in private can be written to, even after blocking the bot."""
    db.sql.execute(
        "INSERT INTO chat_rooms (channel, agent, chat, title, state, last_message, changed_at) "
        "VALUES (?, ?, ?, '', 'open', ?, ?) ON CONFLICT (channel, agent, chat) DO UPDATE SET "
        "last_message = MAX(COALESCE(last_message, 0), excluded.last_message), "
        "state = CASE WHEN chat > 0 AND state = 'closed' THEN 'open' ELSE state END",
        (db.channel, agent, chat, message, now),
    )


def _row(row: sqlite3.Row) -> InboxRow:
    return InboxRow(
        bot=int(row["bot"]),
        update_id=int(row["update_id"]),
        agent=str(row["agent"]),
        chat=int(row["chat"]),
        thread=row["thread"],
        person=int(row["person"]),
        message=row["message"],
        album=str(row["album"]),
        origin=row["origin"],
        body=str(row["body"]),
        received_at=float(row["received_at"]),
    )
