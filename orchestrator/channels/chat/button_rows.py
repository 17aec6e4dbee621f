"""Rows of the buttons under our messages. A button counts only under the very message that its entry in the outbox
became, for the agent and the person that it was made for, until it is used or too old; which of these it fails is never
said.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.channels.chat.channel_store import ChannelDb

_COUNTS = (
    "id = :id AND channel = :channel AND agent = :agent AND used_at IS NULL AND expires_at > :now "
    "AND (person = :person OR :is_operator)"
)
_UNDER = (
    "FROM chat_outbox AS message WHERE message.channel = :channel AND message.ref = chat_buttons.ref "
    "AND message.agent = :agent"
)


@dataclass(frozen=True, slots=True)
class PressedButton:
    """Where a button was pressed, and by whom."""

    id: str
    agent: str
    chat: int
    message: int
    person: int
    """The number of whoever pressed."""
    is_operator: bool
    """Whoever pressed may press what was made for others."""


@dataclass(frozen=True, slots=True)
class TakenButton:
    """What a pressed button stands for."""

    id: str
    ref: str
    """Of the message that it is under."""
    person: int
    """For whom it was made."""
    kind: str
    subject: str


@dataclass(frozen=True, slots=True)
class AskedMessage:
    """A message that still carries buttons about a subject."""

    agent: str
    ref: str
    person: int


def insert_button(
    db: ChannelDb,
    button: str,
    *,
    agent: str,
    ref: str,
    person: int,
    kind: str,
    subject: str,
    expires_at: float,
) -> None:
    """Write a button down before anybody sees it."""
    db.sql.execute(
        "INSERT INTO chat_buttons (id, channel, agent, ref, person, kind, subject, expires_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (button, db.channel, agent, ref, person, kind, subject, expires_at),
    )


def take_button(db: ChannelDb, pressed: PressedButton, now: float, *, lasting: Sequence[str]) -> TakenButton | None:
    """What the button stands for; None when anything about it does not fit. It is used up, but for ``lasting`` kinds.

    A message counts from when its number is known; :func:`is_early` is for the moment before.
    """
    row = db.sql.execute(
        "UPDATE chat_buttons SET used_at = CASE WHEN kind IN (SELECT value FROM json_each(:lasting)) THEN NULL "  # noqa: S608 - constants
        f"ELSE :now END WHERE {_COUNTS} AND EXISTS (SELECT 1 {_UNDER} AND chat = :chat AND message = :message) "
        "RETURNING id, ref, person, kind, subject",
        {**_values(db, pressed, now), "lasting": json.dumps(list(lasting))},
    ).fetchone()
    return None if row is None else TakenButton(**dict(row))


def is_early(db: ChannelDb, pressed: PressedButton, now: float) -> bool:
    """The button is good and was pressed in the right chat, before we were told its message's number."""
    row = db.sql.execute(
        f"SELECT 1 FROM chat_buttons WHERE {_COUNTS} "  # noqa: S608 - constants
        f"AND EXISTS (SELECT 1 {_UNDER} AND chat = :chat AND message IS NULL AND state IN ('waiting', 'sending'))",
        _values(db, pressed, now),
    ).fetchone()
    return row is not None


def give_back(db: ChannelDb, button: str) -> None:
    """The button was taken, and nothing came of it: it may be pressed again."""
    db.sql.execute("UPDATE chat_buttons SET used_at = NULL WHERE id = ?", (button,))


def retire_buttons(db: ChannelDb, ref: str, now: float, *, kinds: Sequence[str] = ()) -> int:
    """The message's buttons (of these kinds, or all) do nothing any more; how many could be pressed until now."""
    cursor = db.sql.execute(
        "UPDATE chat_buttons SET used_at = ? WHERE channel = ? AND ref = ? AND used_at IS NULL "
        "AND (? = '[]' OR kind IN (SELECT value FROM json_each(?)))",
        (now, db.channel, ref, json.dumps(list(kinds)), json.dumps(list(kinds))),
    )
    return cursor.rowcount


def list_live_kinds(db: ChannelDb, ref: str, now: float) -> set[str]:
    """The kinds of the message's buttons that can be pressed."""
    rows = db.sql.execute(
        "SELECT kind FROM chat_buttons WHERE channel = ? AND ref = ? AND used_at IS NULL AND expires_at > ?",
        (db.channel, ref, now),
    )
    return {str(row["kind"]) for row in rows}


def live_count(db: ChannelDb, ref: str, now: float) -> int:
    """How many of the message's buttons can be pressed."""
    row = db.sql.execute(
        "SELECT COUNT(*) FROM chat_buttons WHERE channel = ? AND ref = ? AND used_at IS NULL AND expires_at > ?",
        (db.channel, ref, now),
    ).fetchone()
    return int(row[0])


def list_asking_refs(db: ChannelDb, subject: str, kinds: Sequence[str]) -> list[AskedMessage]:
    """The messages with unused buttons of these kinds about a subject, too old or not."""
    rows = db.sql.execute(
        "SELECT DISTINCT agent, ref, person FROM chat_buttons WHERE channel = ? AND subject = ? AND used_at IS NULL "
        "AND kind IN (SELECT value FROM json_each(?)) ORDER BY ref",
        (db.channel, subject, json.dumps(list(kinds))),
    )
    return [AskedMessage(**dict(row)) for row in rows]


def list_subjects(db: ChannelDb, kinds: Sequence[str]) -> list[str]:
    """Whatever there are unused buttons of these kinds about."""
    rows = db.sql.execute(
        "SELECT DISTINCT subject FROM chat_buttons WHERE channel = ? AND used_at IS NULL "
        "AND kind IN (SELECT value FROM json_each(?)) ORDER BY subject",
        (db.channel, json.dumps(list(kinds))),
    )
    return [str(row["subject"]) for row in rows]


def delete_old(db: ChannelDb, before: float) -> None:
    """Buttons that have not been good since then go; pressing one of them is pressing an unknown one."""
    db.sql.execute("DELETE FROM chat_buttons WHERE channel = ? AND expires_at < ?", (db.channel, before))


# --- the messages they are under --------------------------------------------------------------------------------


def is_posted(db: ChannelDb, ref: str) -> bool:
    """There is a message of this ref, on its way or there."""
    return (
        db.sql.execute("SELECT 1 FROM chat_outbox WHERE channel = ? AND ref = ?", (db.channel, ref)).fetchone()
        is not None
    )


def posted_since(db: ChannelDb, prefix: str, since: float) -> int:
    """How many messages whose ref begins so were posted since then."""
    row = db.sql.execute(
        "SELECT COUNT(*) FROM chat_outbox WHERE channel = ? AND ref >= ? AND ref < ? AND created_at > ?",
        (db.channel, prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1), since),
    ).fetchone()
    return int(row[0])


def is_wanted(db: ChannelDb, paper: str) -> bool:
    """A message that is still to be sent, or changed, goes out with the file of this name."""
    row = db.sql.execute(
        "SELECT 1 FROM chat_outbox WHERE channel = ? AND (state IN ('waiting', 'sending') OR amendment IS NOT NULL) "
        "AND (instr(body, ?) OR instr(COALESCE(amendment, ''), ?)) LIMIT 1",
        (db.channel, paper, paper),
    ).fetchone()
    return row is not None


def _values(db: ChannelDb, pressed: PressedButton, now: float) -> dict[str, object]:
    return {
        "id": pressed.id,
        "channel": db.channel,
        "agent": pressed.agent,
        "chat": pressed.chat,
        "message": pressed.message,
        "person": pressed.person,
        "is_operator": pressed.is_operator,
        "now": now,
    }
