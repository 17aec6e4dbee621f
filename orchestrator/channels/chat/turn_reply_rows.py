"""Rows about answers on Telegram: which turns are owed one, where it belongs, and which status messages are up."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

_ENDED = "('done', 'failed', 'stopped')"


@dataclass(frozen=True, slots=True)
class TurnPlace:
    """Where a turn was asked for, and so where its answer belongs."""

    agent: str
    chat: int
    thread: int | None
    message: int | None
    """The message that asked."""
    album: str

    @property
    def is_private(self) -> bool:
        """A chat with one person: Telegram numbers those like the person, and groups below zero."""
        return self.chat > 0


@dataclass(frozen=True, slots=True)
class ShownStatus:
    """A status message that is in a chat, or on its way there."""

    turn: int
    agent: str
    chat: int
    message: int
    """0 while only the outbox knows it."""


def untold(db: sqlite3.Connection, limit: int) -> list[int]:
    """The oldest turns from Telegram and from the calendar that have ended and whose answer was not posted."""
    rows = db.execute(
        f"SELECT id FROM turns WHERE source = 'telegram' AND told_at IS NULL AND status IN {_ENDED} "  # noqa: S608 - constant
        f"UNION ALL SELECT id FROM turns WHERE source = 'calendar' AND told_at IS NULL AND status IN {_ENDED} "
        "ORDER BY id LIMIT ?",
        (limit,),
    )
    return [int(row["id"]) for row in rows]


def set_told(db: sqlite3.Connection, turn: int, now: float) -> bool:
    """The answer is posted, in this transaction; False when it was before."""
    cursor = db.execute("UPDATE turns SET told_at = ? WHERE id = ? AND told_at IS NULL", (now, turn))
    return cursor.rowcount == 1


def told_with_apps(db: sqlite3.Connection, since: float) -> list[tuple[int, float]]:
    """The turns that made or changed web apps and whose answer was posted since, and when; without those whose apps
    were posted, too."""
    rows = db.execute(
        "SELECT id, told_at FROM turns WHERE apps <> '[]' AND told_at > ? AND source IN ('telegram', 'calendar') "
        "AND NOT EXISTS (SELECT 1 FROM telegram_outbox WHERE ref = 'turn:' || turns.id || ':app:1') ORDER BY id",
        (since,),
    )
    return [(int(row["id"]), float(row["told_at"])) for row in rows]


def under_way(db: sqlite3.Connection) -> list[int]:
    """The turns from Telegram that a crab works on."""
    rows = db.execute(
        "SELECT id FROM turns WHERE source = 'telegram' AND told_at IS NULL "
        "AND status IN ('running', 'waiting_approval') ORDER BY id"
    )
    return [int(row["id"]) for row in rows]


def place_of(db: sqlite3.Connection, turn: int) -> TurnPlace | None:
    """Where the turn was asked for; None when nothing is known of it any more."""
    row = db.execute(
        "SELECT inbox.agent, inbox.chat, inbox.thread, inbox.message, inbox.album FROM turns "
        "JOIN telegram_inbox AS inbox ON inbox.origin = turns.origin WHERE turns.id = ? "
        "ORDER BY inbox.update_id LIMIT 1",
        (turn,),
    ).fetchone()
    return None if row is None else TurnPlace(**dict(row))


def was_followed(db: sqlite3.Connection, place: TurnPlace) -> bool:
    """Another message for the agent came into the chat after the one that asked."""
    row = db.execute(
        "SELECT 1 FROM telegram_inbox WHERE agent = ? AND chat = ? AND message > ? AND origin IS NOT NULL "
        "AND (album = '' OR album <> ?) LIMIT 1",
        (place.agent, place.chat, place.message, place.album),
    ).fetchone()
    return row is not None


def letter(db: sqlite3.Connection, ref: str) -> tuple[str, int | None] | None:
    """How the letter of this ref stands, and the number it got; None when there is none."""
    row = db.execute("SELECT state, message FROM telegram_outbox WHERE ref = ?", (ref,)).fetchone()
    return None if row is None else (str(row["state"]), row["message"])


# --- status messages -------------------------------------------------------------------------------------------


def show(db: sqlite3.Connection, turn: int, agent: str, chat: int) -> bool:
    """A status message of this turn is about to be in the chat; False when it has one, or the turn has ended."""
    cursor = db.execute(
        "INSERT INTO telegram_progress (turn, agent, chat, message) SELECT id, ?, ?, 0 FROM turns "  # noqa: S608 - constant
        f"WHERE id = ? AND status NOT IN {_ENDED} ON CONFLICT DO NOTHING",
        (agent, chat, turn),
    )
    return cursor.rowcount == 1


def set_message(db: sqlite3.Connection, turn: int, message: int) -> None:
    """The status message has its number."""
    db.execute("UPDATE telegram_progress SET message = ? WHERE turn = ?", (message, turn))


def shown(db: sqlite3.Connection) -> list[ShownStatus]:
    """Every status message that may be in a chat."""
    rows = db.execute("SELECT turn, agent, chat, message FROM telegram_progress ORDER BY turn")
    return [ShownStatus(**dict(row)) for row in rows]


def status_of(db: sqlite3.Connection, turn: int) -> ShownStatus | None:
    """The turn's status message."""
    row = db.execute("SELECT turn, agent, chat, message FROM telegram_progress WHERE turn = ?", (turn,)).fetchone()
    return None if row is None else ShownStatus(**dict(row))


def forget(db: sqlite3.Connection, turn: int) -> None:
    """The turn's status message is gone, or nothing can be done about it."""
    db.execute("DELETE FROM telegram_progress WHERE turn = ?", (turn,))
