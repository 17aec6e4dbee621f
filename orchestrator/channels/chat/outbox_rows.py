"""Rows of letters to Telegram chats. A letter is ``waiting``, then ``sending`` from before its call until the answer is
known, then ``sent`` or ``failed`` for ever; a sent one may have an amendment on its way. Bodies are text to this file.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

_OPEN = "(state IN ('waiting', 'sending') OR amendment IS NOT NULL)"
_SHARED_NUMBERS = -1_000_000_000_000
"""Chats above this (private ones and small groups) share one sequence of message numbers for each bot; supergroups
have their own."""
_NEAR = f"""
    WITH near (chat) AS (
        SELECT :chat UNION SELECT chat FROM telegram_chats
        WHERE agent = :agent AND chat > {_SHARED_NUMBERS} AND :chat > {_SHARED_NUMBERS}
    )
"""  # noqa: S608 - a constant
_LAST_KNOWN = f"""{_NEAR}
    SELECT COALESCE(MAX(n), 0) FROM (
        SELECT (SELECT last_message FROM telegram_chats AS c WHERE c.agent = :agent AND c.chat = near.chat) AS n
        FROM near
        UNION ALL SELECT (SELECT MAX(message) FROM telegram_inbox WHERE agent = :agent AND chat = near.chat) FROM near
        UNION ALL SELECT (SELECT MAX(message) FROM telegram_outbox WHERE agent = :agent AND chat = near.chat) FROM near
    )
"""  # noqa: S608 - a constant
_KNOWN_AFTER = f"""{_NEAR}
    SELECT message FROM near JOIN telegram_outbox AS out ON out.agent = :agent AND out.chat = near.chat
    AND message > :after
    UNION SELECT message FROM near JOIN telegram_inbox AS came ON came.agent = :agent AND came.chat = near.chat
    AND message > :after LIMIT :most
"""  # noqa: S608 - a constant
_MOST_KNOWN = 1000


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A letter with something to do."""

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
    """How a letter stands."""

    state: str
    message: int | None
    why: str | None


def add(db: sqlite3.Connection, agent: str, chat: int, ref: str, body: str, *, now: float) -> bool:
    """Write a letter down; False when there is one of this ref, or no such agent."""
    cursor = db.execute(
        "INSERT INTO telegram_outbox (agent, chat, ref, body, state, created_at) "
        "SELECT name, ?, ?, ?, 'waiting', ? FROM agents WHERE name = ? ON CONFLICT (ref) DO NOTHING",
        (chat, ref, body, now, agent),
    )
    return cursor.rowcount == 1


def amend(db: sqlite3.Connection, ref: str, body: str) -> bool:
    """The letter is to say this; the latest wins. False when there is none, or it failed."""
    cursor = db.execute(
        "UPDATE telegram_outbox SET body = CASE WHEN state = 'waiting' THEN ? ELSE body END, "
        "amendment = CASE WHEN state = 'waiting' THEN NULL ELSE ? END WHERE ref = ? AND state <> 'failed'",
        (body, body, ref),
    )
    return cursor.rowcount == 1


def withdraw(db: sqlite3.Connection, ref: str) -> bool:
    """The letter is not sent; False when it may be under way, or is there already."""
    cursor = db.execute(
        "UPDATE telegram_outbox SET state = 'failed', why = 'withdrawn' WHERE ref = ? AND state = 'waiting'", (ref,)
    )
    return cursor.rowcount == 1


def outcome(db: sqlite3.Connection, ref: str) -> SendOutcome | None:
    """How the letter of this ref stands."""
    row = db.execute("SELECT state, message, why FROM telegram_outbox WHERE ref = ?", (ref,)).fetchone()
    return None if row is None else SendOutcome(**dict(row))


def body_of(db: sqlite3.Connection, ref: str) -> str | None:
    """What the letter of this ref says, amendments on their way included."""
    row = db.execute("SELECT COALESCE(amendment, body) FROM telegram_outbox WHERE ref = ?", (ref,)).fetchone()
    return None if row is None else str(row[0])


def ref_of(db: sqlite3.Connection, agent: str, chat: int, message: int) -> str | None:
    """The letter that became this message."""
    row = db.execute(
        "SELECT ref FROM telegram_outbox WHERE agent = ? AND chat = ? AND message = ? ORDER BY id DESC LIMIT 1",
        (agent, chat, message),
    ).fetchone()
    return None if row is None else str(row["ref"])


def chats_with_mail(db: sqlite3.Connection) -> list[tuple[str, int]]:
    """The chats, each with its agent, for which there is something to do."""
    rows = db.execute(f"SELECT DISTINCT agent, chat FROM telegram_outbox WHERE {_OPEN}")  # noqa: S608 - constant
    return [(str(row["agent"]), int(row["chat"])) for row in rows]


def first(db: sqlite3.Connection, agent: str, chat: int) -> StoredMessage | None:
    """The oldest letter of this chat with something to do."""
    row = db.execute(
        "SELECT id, agent, chat, ref, body, state, message, tries, not_before, amendment, after "  # noqa: S608 - constant
        f"FROM telegram_outbox WHERE agent = ? AND chat = ? AND {_OPEN} ORDER BY id LIMIT 1",
        (agent, chat),
    ).fetchone()
    return None if row is None else StoredMessage(**dict(row))


# --- sending ---------------------------------------------------------------------------------------------------


def begin(db: sqlite3.Connection, letter: StoredMessage) -> bool:
    """It is about to be sent as it was read; False when it has changed meanwhile."""
    cursor = db.execute(
        "UPDATE telegram_outbox SET state = 'sending', tries = tries + 1, after = COALESCE(after, ?) "
        "WHERE id = ? AND state IN ('waiting', 'sending') AND body = ?",
        (last_known(db, letter.agent, letter.chat), letter.id, letter.body),
    )
    return cursor.rowcount == 1


def did_not_go(db: sqlite3.Connection, letter: int) -> None:
    """Its sending has failed for sure; it waits again."""
    db.execute(
        "UPDATE telegram_outbox SET state = 'waiting', after = NULL, body = COALESCE(amendment, body), "
        "amendment = NULL WHERE id = ? AND state = 'sending'",
        (letter,),
    )


def say_instead(db: sqlite3.Connection, letter: StoredMessage, body: str) -> None:
    """It has not gone as it is; it will be tried with this body."""
    db.execute(
        "UPDATE telegram_outbox SET state = 'waiting', after = NULL, body = ? WHERE id = ? AND body = ? "
        "AND state IN ('waiting', 'sending')",
        (body, letter.id, letter.body),
    )


def sent(db: sqlite3.Connection, letter: StoredMessage, message: int, last: int, now: float) -> None:
    """It is there, as this message; ``last`` is its last number, where it is an album."""
    db.execute(
        "UPDATE telegram_outbox SET state = 'sent', message = ?, sent_at = ?, why = NULL WHERE id = ?",
        (message, now, letter.id),
    )
    note(db, letter.agent, letter.chat, last, now)


def amended(db: sqlite3.Connection, letter: StoredMessage) -> None:
    """The message says what its amendment said, unless there is a later one by now."""
    db.execute(
        "UPDATE telegram_outbox SET body = amendment, amendment = NULL WHERE id = ? AND amendment = ?",
        (letter.id, letter.amendment),
    )


def amend_instead(db: sqlite3.Connection, letter: StoredMessage, body: str | None) -> None:
    """The amendment was not taken; this is tried instead, or nothing."""
    db.execute(
        "UPDATE telegram_outbox SET amendment = ? WHERE id = ? AND amendment = ?", (body, letter.id, letter.amendment)
    )


def fail(db: sqlite3.Connection, letter: int, why: str) -> None:
    """It will not be sent."""
    db.execute(
        "UPDATE telegram_outbox SET state = 'failed', why = ?, amendment = NULL WHERE id = ? AND state <> 'sent'",
        (why, letter),
    )


def fail_all(db: sqlite3.Connection, agent: str, chat: int, why: str) -> list[str]:
    """Nothing more can be done in this chat; the refs of the letters that were to be sent."""
    rows = db.execute(
        "UPDATE telegram_outbox SET state = 'failed', why = ?, amendment = NULL "
        "WHERE agent = ? AND chat = ? AND state IN ('waiting', 'sending') RETURNING ref",
        (why, agent, chat),
    ).fetchall()
    db.execute(
        "UPDATE telegram_outbox SET amendment = NULL WHERE agent = ? AND chat = ? AND amendment IS NOT NULL",
        (agent, chat),
    )
    return [str(row["ref"]) for row in rows]


def silence(db: sqlite3.Connection, agent: str, until: float) -> None:
    """The agent's bot says nothing before that."""
    db.execute(
        f"UPDATE telegram_outbox SET not_before = MAX(not_before, ?) WHERE agent = ? AND {_OPEN}",  # noqa: S608 - constant
        (until, agent),
    )


def silent_until(db: sqlite3.Connection, agent: str) -> float:
    """When the agent's bot may speak again."""
    row = db.execute(
        f"SELECT COALESCE(MAX(not_before), 0) FROM telegram_outbox WHERE agent = ? AND {_OPEN}",  # noqa: S608 - constant
        (agent,),
    ).fetchone()
    return float(row[0])


# --- chats and their numbers -----------------------------------------------------------------------------------


def note(db: sqlite3.Connection, agent: str, chat: int, message: int, now: float) -> None:
    """There is a message of this number in the chat, so the bot can write there."""
    db.execute(
        "INSERT INTO telegram_chats (agent, chat, title, state, last_message, changed_at) "
        "SELECT name, ?, '', 'open', ?, ? FROM agents WHERE name = ? AND ? > 0 "
        "ON CONFLICT (agent, chat) DO UPDATE SET last_message = MAX(COALESCE(last_message, 0), excluded.last_message), "
        "state = CASE state WHEN 'closed' THEN 'open' ELSE state END",
        (chat, message, now, agent, chat),
    )
    db.execute(
        "UPDATE telegram_chats SET last_message = MAX(COALESCE(last_message, 0), ?) WHERE agent = ? AND chat = ?",
        (message, agent, chat),
    )


def close_chat(db: sqlite3.Connection, agent: str, chat: int, now: float) -> None:
    """The bot can't write there any more."""
    db.execute(
        "UPDATE telegram_chats SET state = 'closed', changed_at = ? WHERE agent = ? AND chat = ? "
        "AND state IN ('open', 'enabled')",
        (now, agent, chat),
    )


def move_chat(db: sqlite3.Connection, agent: str, old: int, new: int) -> None:
    """The group has another number from now on."""
    db.execute(
        "UPDATE telegram_outbox SET chat = ?, state = 'waiting', after = NULL WHERE agent = ? AND chat = ? "
        "AND state IN ('waiting', 'sending')",
        (new, agent, old),
    )
    db.execute("UPDATE telegram_outbox SET amendment = NULL WHERE agent = ? AND chat = ?", (agent, old))
    db.execute(
        "INSERT INTO telegram_chats (agent, chat, title, state, changed_at) "
        "SELECT agent, ?, title, state, changed_at FROM telegram_chats WHERE agent = ? AND chat = ? "
        "ON CONFLICT (agent, chat) DO UPDATE SET state = excluded.state",
        (new, agent, old),
    )
    db.execute("UPDATE telegram_chats SET state = 'closed' WHERE agent = ? AND chat = ?", (agent, old))


def last_known(db: sqlite3.Connection, agent: str, chat: int) -> int:
    """The highest number of a message that is known where this chat takes its numbers from; 0 when none is."""
    row = db.execute(_LAST_KNOWN, {"agent": agent, "chat": chat}).fetchone()
    return int(row[0])


def known_after(db: sqlite3.Connection, agent: str, chat: int, after: int) -> set[int]:
    """The numbers above ``after`` that are known to be some message."""
    wanted = {"agent": agent, "chat": chat, "after": after, "most": _MOST_KNOWN}
    rows = db.execute(_KNOWN_AFTER, wanted)
    return {int(row[0]) for row in rows}
