"""Rows of messages to chats. A message is ``waiting``, then ``sending`` from before its call until the answer is
known, then ``sent`` or ``failed`` for ever; a sent one may have an amendment on its way. Bodies are text to this file.
"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.channels.chat.channel_store import ChannelDb

_OPEN = "(state IN ('waiting', 'sending') OR amendment IS NOT NULL)"
_NEAR = """
    WITH near (chat) AS (
        SELECT :chat UNION SELECT chat FROM chat_rooms
        WHERE channel = :channel AND agent = :agent AND chat > :shared_above AND :chat > :shared_above
    )
"""
_LAST_KNOWN = f"""{_NEAR}
    SELECT COALESCE(MAX(n), 0) FROM (
        SELECT (SELECT last_message FROM chat_rooms AS c
            WHERE c.channel = :channel AND c.agent = :agent AND c.chat = near.chat) AS n FROM near
        UNION ALL SELECT (SELECT MAX(message) FROM chat_inbox
            WHERE channel = :channel AND agent = :agent AND chat = near.chat) FROM near
        UNION ALL SELECT (SELECT MAX(message) FROM chat_outbox
            WHERE channel = :channel AND agent = :agent AND chat = near.chat) FROM near
    )
"""  # noqa: S608 - a constant
_KNOWN_AFTER = f"""{_NEAR}
    SELECT message FROM near JOIN chat_outbox AS out
        ON out.channel = :channel AND out.agent = :agent AND out.chat = near.chat AND message > :after
    UNION SELECT message FROM near JOIN chat_inbox AS came
        ON came.channel = :channel AND came.agent = :agent AND came.chat = near.chat AND message > :after LIMIT :most
"""  # noqa: S608 - a constant
_MOST_KNOWN = 1000


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message with something to do."""

    id: int
    agent: str
    chat: int
    ref: str
    body: str
    state: str
    message: int | None
    tries: int
    not_before: float
    amendment: str | None
    after: int | None
    """The highest message number known when its sending began."""


@dataclass(frozen=True, slots=True)
class SendOutcome:
    """How a message stands."""

    state: str
    message: int | None
    why: str | None


def insert_message(db: ChannelDb, agent: str, chat: int, ref: str, body: str, *, now: float) -> bool:
    """Write a message down; False when there is one of this ref, or no such agent."""
    cursor = db.sql.execute(
        "INSERT INTO chat_outbox (channel, agent, chat, ref, body, state, created_at) "
        "SELECT ?, name, ?, ?, ?, 'waiting', ? FROM agents WHERE name = ? ON CONFLICT (channel, ref) DO NOTHING",
        (db.channel, chat, ref, body, now, agent),
    )
    return cursor.rowcount == 1


def amend_message(db: ChannelDb, ref: str, body: str) -> bool:
    """The message is to say this; the latest wins. False when there is none, or it failed."""
    cursor = db.sql.execute(
        "UPDATE chat_outbox SET body = CASE WHEN state = 'waiting' THEN ? ELSE body END, "
        "amendment = CASE WHEN state = 'waiting' THEN NULL ELSE ? END WHERE channel = ? AND ref = ? "
        "AND state <> 'failed'",
        (body, body, db.channel, ref),
    )
    return cursor.rowcount == 1


def withdraw_message(db: ChannelDb, ref: str) -> bool:
    """The message is not sent; False when it may be under way, or is there already."""
    cursor = db.sql.execute(
        "UPDATE chat_outbox SET state = 'failed', why = 'withdrawn' WHERE channel = ? AND ref = ? "
        "AND state = 'waiting'",
        (db.channel, ref),
    )
    return cursor.rowcount == 1


def get_status(db: ChannelDb, ref: str) -> SendOutcome | None:
    """How the message of this ref stands."""
    row = db.sql.execute(
        "SELECT state, message, why FROM chat_outbox WHERE channel = ? AND ref = ?", (db.channel, ref)
    ).fetchone()
    return None if row is None else SendOutcome(**dict(row))


def body_of(db: ChannelDb, ref: str) -> str | None:
    """What the message of this ref says, amendments on their way included."""
    row = db.sql.execute(
        "SELECT COALESCE(amendment, body) FROM chat_outbox WHERE channel = ? AND ref = ?", (db.channel, ref)
    ).fetchone()
    return None if row is None else str(row[0])


def ref_of(db: ChannelDb, agent: str, chat: int, message: int) -> str | None:
    """The outbox entry that became this message."""
    row = db.sql.execute(
        "SELECT ref FROM chat_outbox WHERE channel = ? AND agent = ? AND chat = ? AND message = ? "
        "ORDER BY id DESC LIMIT 1",
        (db.channel, agent, chat, message),
    ).fetchone()
    return None if row is None else str(row["ref"])


def chats_with_mail(db: ChannelDb) -> list[tuple[str, int]]:
    """The chats, each with its agent, for which there is something to do."""
    rows = db.sql.execute(f"SELECT DISTINCT agent, chat FROM chat_outbox WHERE channel = ? AND {_OPEN}", (db.channel,))  # noqa: S608 - constant
    return [(str(row["agent"]), int(row["chat"])) for row in rows]


def get_first(db: ChannelDb, agent: str, chat: int) -> StoredMessage | None:
    """The oldest message of this chat with something to do."""
    row = db.sql.execute(
        "SELECT id, agent, chat, ref, body, state, message, tries, not_before, amendment, after "  # noqa: S608 - constant
        f"FROM chat_outbox WHERE channel = ? AND agent = ? AND chat = ? AND {_OPEN} ORDER BY id LIMIT 1",
        (db.channel, agent, chat),
    ).fetchone()
    return None if row is None else StoredMessage(**dict(row))


# --- sending ---------------------------------------------------------------------------------------------------


def mark_sending(db: ChannelDb, stored: StoredMessage, *, shared_above: int) -> bool:
    """It is about to be sent as it was read; False when it has changed meanwhile. Chats above ``shared_above`` take
    their numbers from one sequence."""
    cursor = db.sql.execute(
        "UPDATE chat_outbox SET state = 'sending', tries = tries + 1, after = COALESCE(after, ?) "
        "WHERE id = ? AND state IN ('waiting', 'sending') AND body = ?",
        (last_known(db, stored.agent, stored.chat, shared_above), stored.id, stored.body),
    )
    return cursor.rowcount == 1


def did_not_go(db: ChannelDb, stored: int) -> None:
    """Its sending has failed for sure; it waits again."""
    db.sql.execute(
        "UPDATE chat_outbox SET state = 'waiting', after = NULL, body = COALESCE(amendment, body), "
        "amendment = NULL WHERE id = ? AND state = 'sending'",
        (stored,),
    )


def say_instead(db: ChannelDb, stored: StoredMessage, body: str) -> None:
    """It has not gone as it is; it will be tried with this body."""
    db.sql.execute(
        "UPDATE chat_outbox SET state = 'waiting', after = NULL, body = ? WHERE id = ? AND body = ? "
        "AND state IN ('waiting', 'sending')",
        (body, stored.id, stored.body),
    )


def mark_sent(db: ChannelDb, stored: StoredMessage, message: int, last: int, now: float) -> None:
    """It is there, as this message; ``last`` is its last number, where it is an album."""
    db.sql.execute(
        "UPDATE chat_outbox SET state = 'sent', message = ?, sent_at = ?, why = NULL WHERE id = ?",
        (message, now, stored.id),
    )
    note_number(db, stored.agent, stored.chat, last, now)


def mark_amended(db: ChannelDb, stored: StoredMessage) -> None:
    """The message says what its amendment said, unless there is a later one by now."""
    db.sql.execute(
        "UPDATE chat_outbox SET body = amendment, amendment = NULL WHERE id = ? AND amendment = ?",
        (stored.id, stored.amendment),
    )


def amend_instead(db: ChannelDb, stored: StoredMessage, body: str | None) -> None:
    """The amendment was not taken; this is tried instead, or nothing."""
    db.sql.execute(
        "UPDATE chat_outbox SET amendment = ? WHERE id = ? AND amendment = ?", (body, stored.id, stored.amendment)
    )


def mark_failed(db: ChannelDb, stored: int, why: str) -> None:
    """It will not be sent."""
    db.sql.execute(
        "UPDATE chat_outbox SET state = 'failed', why = ?, amendment = NULL WHERE id = ? AND state <> 'sent'",
        (why, stored),
    )


def fail_all(db: ChannelDb, agent: str, chat: int, why: str) -> list[str]:
    """Nothing more can be done in this chat; the refs of the messages that were to be sent."""
    rows = db.sql.execute(
        "UPDATE chat_outbox SET state = 'failed', why = ?, amendment = NULL "
        "WHERE channel = ? AND agent = ? AND chat = ? AND state IN ('waiting', 'sending') RETURNING ref",
        (why, db.channel, agent, chat),
    ).fetchall()
    db.sql.execute(
        "UPDATE chat_outbox SET amendment = NULL WHERE channel = ? AND agent = ? AND chat = ? "
        "AND amendment IS NOT NULL",
        (db.channel, agent, chat),
    )
    return [str(row["ref"]) for row in rows]


def silence_bot(db: ChannelDb, agent: str, until: float) -> None:
    """The agent's bot says nothing before that."""
    db.sql.execute(
        f"UPDATE chat_outbox SET not_before = MAX(not_before, ?) WHERE channel = ? AND agent = ? AND {_OPEN}",  # noqa: S608 - constant
        (until, db.channel, agent),
    )


def silent_until(db: ChannelDb, agent: str) -> float:
    """When the agent's bot may speak again."""
    row = db.sql.execute(
        f"SELECT COALESCE(MAX(not_before), 0) FROM chat_outbox WHERE channel = ? AND agent = ? AND {_OPEN}",  # noqa: S608 - constant
        (db.channel, agent),
    ).fetchone()
    return float(row[0])


# --- chats and their numbers -----------------------------------------------------------------------------------


def note_number(db: ChannelDb, agent: str, chat: int, message: int, now: float) -> None:
    """There is a message of this number in the chat, so the bot can write there."""
    db.sql.execute(
        "INSERT INTO chat_rooms (channel, agent, chat, title, state, last_message, changed_at) "
        "SELECT ?, name, ?, '', 'open', ?, ? FROM agents WHERE name = ? AND ? > 0 "
        "ON CONFLICT (channel, agent, chat) "
        "DO UPDATE SET last_message = MAX(COALESCE(last_message, 0), excluded.last_message), "
        "state = CASE state WHEN 'closed' THEN 'open' ELSE state END",
        (db.channel, chat, message, now, agent, chat),
    )
    db.sql.execute(
        "UPDATE chat_rooms SET last_message = MAX(COALESCE(last_message, 0), ?) WHERE channel = ? "
        "AND agent = ? AND chat = ?",
        (message, db.channel, agent, chat),
    )


def close_chat(db: ChannelDb, agent: str, chat: int, now: float) -> None:
    """The bot can't write there any more."""
    db.sql.execute(
        "UPDATE chat_rooms SET state = 'closed', changed_at = ? WHERE channel = ? AND agent = ? AND chat = ? "
        "AND state IN ('open', 'enabled')",
        (now, db.channel, agent, chat),
    )


def move_chat(db: ChannelDb, agent: str, old: int, new: int) -> None:
    """The group has another number from now on."""
    db.sql.execute(
        "UPDATE chat_outbox SET chat = ?, state = 'waiting', after = NULL WHERE channel = ? AND agent = ? AND chat = ? "
        "AND state IN ('waiting', 'sending')",
        (new, db.channel, agent, old),
    )
    db.sql.execute(
        "UPDATE chat_outbox SET amendment = NULL WHERE channel = ? AND agent = ? AND chat = ?", (db.channel, agent, old)
    )
    db.sql.execute(
        "INSERT INTO chat_rooms (channel, agent, chat, title, state, changed_at) "
        "SELECT channel, agent, ?, title, state, changed_at FROM chat_rooms WHERE channel = ? "
        "AND agent = ? AND chat = ? "
        "ON CONFLICT (channel, agent, chat) DO UPDATE SET state = excluded.state",
        (new, db.channel, agent, old),
    )
    db.sql.execute(
        "UPDATE chat_rooms SET state = 'closed' WHERE channel = ? AND agent = ? AND chat = ?", (db.channel, agent, old)
    )
    db.sql.execute(
        "UPDATE OR IGNORE chat_conversations SET chat = ? WHERE channel = ? AND agent = ? AND chat = ?",
        (new, db.channel, agent, old),
    )


def last_known(db: ChannelDb, agent: str, chat: int, shared_above: int) -> int:
    """The highest number of a message that is known where this chat takes its numbers from; 0 when none is."""
    row = db.sql.execute(
        _LAST_KNOWN, {"channel": db.channel, "agent": agent, "chat": chat, "shared_above": shared_above}
    ).fetchone()
    return int(row[0])


def known_after(db: ChannelDb, agent: str, chat: int, after: int, shared_above: int) -> set[int]:
    """The numbers above ``after`` that are known to be some message."""
    wanted = {"channel": db.channel, "agent": agent, "chat": chat, "after": after, "most": _MOST_KNOWN}
    rows = db.sql.execute(_KNOWN_AFTER, {**wanted, "shared_above": shared_above})
    return {int(row[0]) for row in rows}
