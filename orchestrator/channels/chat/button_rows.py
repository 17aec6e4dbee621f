"""Rows of the buttons under Telegram messages. A button counts only under the very message that its letter became, for
the agent and the person that it was made for, until it is used or too old; which of these it fails is never said.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

_COUNTS = "id = :id AND agent = :agent AND used_at IS NULL AND expires_at > :now AND (person = :person OR :is_operator)"
_UNDER = "FROM telegram_outbox AS letter WHERE letter.ref = telegram_buttons.ref AND letter.agent = :agent"


@dataclass(frozen=True, slots=True)
class PressedButton:
    """Where a button was pressed, and by whom."""

    id: str
    agent: str
    chat: int
    message: int
    person: int
    """The numeric Telegram id of whoever pressed."""
    is_operator: bool
    """Whoever pressed may press what was made for others."""


@dataclass(frozen=True, slots=True)
class TakenButton:
    """What a pressed button stands for."""

    id: str
    ref: str
    """Of the letter that it is under."""
    person: int
    """For whom it was made."""
    kind: str
    subject: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A letter that still carries buttons about a subject."""

    agent: str
    ref: str
    person: int


def add(
    db: sqlite3.Connection,
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
    db.execute(
        "INSERT INTO telegram_buttons (id, agent, ref, person, kind, subject, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (button, agent, ref, person, kind, subject, expires_at),
    )


def take(db: sqlite3.Connection, pressed: PressedButton, now: float, *, lasting: Sequence[str]) -> TakenButton | None:
    """What the button stands for; None when anything about it does not fit. It is used up, but for ``lasting`` kinds.

    A message counts from when its number is known; :func:`is_early` is for the moment before.
    """
    row = db.execute(
        "UPDATE telegram_buttons SET used_at = CASE WHEN kind IN (SELECT value FROM json_each(:lasting)) THEN NULL "  # noqa: S608 - constants
        f"ELSE :now END WHERE {_COUNTS} AND EXISTS (SELECT 1 {_UNDER} AND chat = :chat AND message = :message) "
        "RETURNING id, ref, person, kind, subject",
        {**_values(pressed, now), "lasting": json.dumps(list(lasting))},
    ).fetchone()
    return None if row is None else TakenButton(**dict(row))


def is_early(db: sqlite3.Connection, pressed: PressedButton, now: float) -> bool:
    """The button is good and was pressed in the right chat, before we were told its message's number."""
    row = db.execute(
        f"SELECT 1 FROM telegram_buttons WHERE {_COUNTS} "  # noqa: S608 - constants
        f"AND EXISTS (SELECT 1 {_UNDER} AND chat = :chat AND message IS NULL AND state IN ('waiting', 'sending'))",
        _values(pressed, now),
    ).fetchone()
    return row is not None


def give_back(db: sqlite3.Connection, button: str) -> None:
    """The button was taken, and nothing came of it: it may be pressed again."""
    db.execute("UPDATE telegram_buttons SET used_at = NULL WHERE id = ?", (button,))


def retire(db: sqlite3.Connection, ref: str, now: float, *, kinds: Sequence[str] = ()) -> int:
    """The letter's buttons (of these kinds, or all) do nothing any more; how many could be pressed until now."""
    cursor = db.execute(
        "UPDATE telegram_buttons SET used_at = ? WHERE ref = ? AND used_at IS NULL "
        "AND (? = '[]' OR kind IN (SELECT value FROM json_each(?)))",
        (now, ref, json.dumps(list(kinds)), json.dumps(list(kinds))),
    )
    return cursor.rowcount


def live(db: sqlite3.Connection, ref: str, now: float) -> set[str]:
    """The kinds of the letter's buttons that can be pressed."""
    rows = db.execute(
        "SELECT kind FROM telegram_buttons WHERE ref = ? AND used_at IS NULL AND expires_at > ?", (ref, now)
    )
    return {str(row["kind"]) for row in rows}


def live_count(db: sqlite3.Connection, ref: str, now: float) -> int:
    """How many of the letter's buttons can be pressed."""
    row = db.execute(
        "SELECT COUNT(*) FROM telegram_buttons WHERE ref = ? AND used_at IS NULL AND expires_at > ?", (ref, now)
    ).fetchone()
    return int(row[0])


def asked(db: sqlite3.Connection, subject: str, kinds: Sequence[str]) -> list[Asked]:
    """The letters with unused buttons of these kinds about a subject, too old or not."""
    rows = db.execute(
        "SELECT DISTINCT agent, ref, person FROM telegram_buttons WHERE subject = ? AND used_at IS NULL "
        "AND kind IN (SELECT value FROM json_each(?)) ORDER BY ref",
        (subject, json.dumps(list(kinds))),
    )
    return [Asked(**dict(row)) for row in rows]


def subjects(db: sqlite3.Connection, kinds: Sequence[str]) -> list[str]:
    """Whatever there are unused buttons of these kinds about."""
    rows = db.execute(
        "SELECT DISTINCT subject FROM telegram_buttons WHERE used_at IS NULL "
        "AND kind IN (SELECT value FROM json_each(?)) ORDER BY subject",
        (json.dumps(list(kinds)),),
    )
    return [str(row["subject"]) for row in rows]


def forget(db: sqlite3.Connection, before: float) -> None:
    """Buttons that have not been good since then go; pressing one of them is pressing an unknown one."""
    db.execute("DELETE FROM telegram_buttons WHERE expires_at < ?", (before,))


# --- the letters they are under --------------------------------------------------------------------------------


def is_posted(db: sqlite3.Connection, ref: str) -> bool:
    """There is a letter of this ref, on its way or there."""
    return db.execute("SELECT 1 FROM telegram_outbox WHERE ref = ?", (ref,)).fetchone() is not None


def posted_since(db: sqlite3.Connection, prefix: str, since: float) -> int:
    """How many letters whose ref begins so were posted since then."""
    row = db.execute(
        "SELECT COUNT(*) FROM telegram_outbox WHERE ref >= ? AND ref < ? AND created_at > ?",
        (prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1), since),
    ).fetchone()
    return int(row[0])


def is_wanted(db: sqlite3.Connection, paper: str) -> bool:
    """A letter that is still to be sent, or changed, goes out with the file of this name."""
    row = db.execute(
        "SELECT 1 FROM telegram_outbox WHERE (state IN ('waiting', 'sending') OR amendment IS NOT NULL) "
        "AND (instr(body, ?) OR instr(COALESCE(amendment, ''), ?)) LIMIT 1",
        (paper, paper),
    ).fetchone()
    return row is not None


def _values(pressed: PressedButton, now: float) -> dict[str, object]:
    return {
        "id": pressed.id,
        "agent": pressed.agent,
        "chat": pressed.chat,
        "message": pressed.message,
        "person": pressed.person,
        "is_operator": pressed.is_operator,
        "now": now,
    }
