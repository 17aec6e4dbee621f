"""Rows of what came in from Telegram. A row is there before Telegram is told that it arrived, and stays for a while
after it was handled, without its body: the number of an update that was seen is how a second one is known."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

_WAITING = "agent = ? AND chat = ? AND handled_at IS NULL"


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


def add(db: sqlite3.Connection, row: InboxRow) -> bool:
    """Keep an update; False when it was kept before."""
    cursor = db.execute(
        "INSERT INTO telegram_inbox (bot, update_id, agent, chat, thread, person, message, album, origin, body, "
        "received_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
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


def is_waiting(db: sqlite3.Connection, agent: str, chat: int) -> bool:
    """Something of this chat was not handled yet."""
    return db.execute(f"SELECT 1 FROM telegram_inbox WHERE {_WAITING} LIMIT 1", (agent, chat)).fetchone() is not None  # noqa: S608 - constant


def waiting_chats(db: sqlite3.Connection) -> list[tuple[str, int]]:
    """The chats, with their agents, of which something was not handled yet."""
    rows = db.execute("SELECT DISTINCT agent, chat FROM telegram_inbox WHERE handled_at IS NULL ORDER BY agent, chat")
    return [(str(row["agent"]), int(row["chat"])) for row in rows]


def first(db: sqlite3.Connection, agent: str, chat: int, *, kinds: Iterable[str]) -> InboxRow | None:
    """The oldest of these kinds that waits in a chat."""
    wanted = tuple(kinds)
    marks = ", ".join("?" * len(wanted))
    row = db.execute(
        f"SELECT * FROM telegram_inbox WHERE {_WAITING} "  # noqa: S608 - constant and question marks
        f"AND json_extract(body, '$.kind') IN ({marks}) ORDER BY update_id LIMIT 1",
        (agent, chat, *wanted),
    ).fetchone()
    return None if row is None else _row(row)


def of_album(db: sqlite3.Connection, agent: str, chat: int, album: str) -> list[InboxRow]:
    """The parts of an album that wait, in order."""
    rows = db.execute(
        f"SELECT * FROM telegram_inbox WHERE {_WAITING} AND album = ? ORDER BY update_id",  # noqa: S608 - constant
        (agent, chat, album),
    )
    return [_row(row) for row in rows]


def origin_of(db: sqlite3.Connection, agent: str, chat: int, message: int) -> str | None:
    """Under which origin a message of this chat became a turn, if it did."""
    row = db.execute(
        "SELECT origin FROM telegram_inbox WHERE agent = ? AND chat = ? AND message = ? AND origin IS NOT NULL "
        "ORDER BY update_id LIMIT 1",
        (agent, chat, message),
    ).fetchone()
    return None if row is None else str(row["origin"])


def handled(db: sqlite3.Connection, bot: int, update_id: int, now: float) -> None:
    """The update had its effect; what it said is no longer kept here."""
    db.execute(
        "UPDATE telegram_inbox SET handled_at = COALESCE(handled_at, ?), body = NULL WHERE bot = ? AND update_id = ?",
        (now, bot, update_id),
    )


def forget(db: sqlite3.Connection, bot: int, update_id: int) -> None:
    """Nothing is left of an update."""
    db.execute("DELETE FROM telegram_inbox WHERE bot = ? AND update_id = ?", (bot, update_id))


def forget_handled(db: sqlite3.Connection, before: float) -> int:
    """What was handled long ago goes; returns how many that were."""
    return db.execute("DELETE FROM telegram_inbox WHERE handled_at < ?", (before,)).rowcount


def next_update(db: sqlite3.Connection, agent: str, bot: int) -> int:
    """Where the bot's updates go on; 0 when nothing is known of that."""
    row = db.execute("SELECT next_update FROM telegram_bots WHERE agent = ? AND bot = ?", (agent, bot)).fetchone()
    return 0 if row is None or row["next_update"] is None else int(row["next_update"])


def set_next_update(db: sqlite3.Connection, agent: str, bot: int, number: int) -> None:
    """The updates before this one are kept."""
    db.execute("UPDATE telegram_bots SET next_update = ? WHERE agent = ? AND bot = ?", (number, agent, bot))


def note_message(db: sqlite3.Connection, agent: str, chat: int, message: int, now: float) -> None:
    """A chat has got to this number. Whoever writes in private can be written to, even after blocking the bot."""
    db.execute(
        "INSERT INTO telegram_chats (agent, chat, title, state, last_message, changed_at) "
        "VALUES (?, ?, '', 'open', ?, ?) ON CONFLICT (agent, chat) DO UPDATE SET "
        "last_message = MAX(COALESCE(last_message, 0), excluded.last_message), "
        "state = CASE WHEN chat > 0 AND state = 'closed' THEN 'open' ELSE state END",
        (agent, chat, message, now),
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
