"""Rows of Telegram bots: which agent has which, and how far its handshake is. The token itself is not here; it lies
with the agent, and nowhere else. Where a bot's updates go on (``next_update``) belongs to whoever reads them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import astuple, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import quote

from orchestrator.core.errors import Unavailable

CHANNEL = "telegram"


class BotStatus(StrEnum):
    """How far a bot is: it works for people when it is ``PAIRED``."""

    PAIRING = "pairing"
    """Whose it is has yet to be proved."""
    PAIRED = "paired"
    REVOKED = "revoked"
    """Telegram refuses the token."""


class CodeWay(StrEnum):
    """Which way a handshake's code goes."""

    SENT = "sent"
    """The bot sends it to the operator, who types it in here."""
    SHOWN = "shown"
    """It is shown here, and the operator sends it to the bot."""


@dataclass(frozen=True, slots=True)
class BotState:
    """One agent's bot."""

    agent: str
    bot: int
    """Its numeric id at Telegram."""
    username: str
    """Without the ``@``; empty until Telegram was asked who it is."""
    state: BotStatus
    code: str | None = None
    """Six digits, while a handshake waits for them."""
    code_way: CodeWay | None = None
    code_expires_at: float | None = None
    code_tries: int = 0
    """Wrong ones so far."""
    code_sent_at: float | None = None
    """When the bot sent it; None with ``SENT`` means: send it now."""
    code_person: int | None = None
    """The Telegram id that a sent code is for."""
    problem: str | None = None
    """One sentence about what is wrong now."""
    added_at: float = 0.0
    paired_at: float | None = None
    paired_person: int | None = None
    """The Telegram id that proved itself in the handshake."""
    is_from_settings: bool = False
    """The token came from TELEGRAM_BOT_TOKEN, so another one there takes its place."""


@dataclass(frozen=True, slots=True)
class StoredBot:
    """A token with what is known of its bot, for examining it. ``repr`` shows no token."""

    agent: str
    token: BotToken
    state: str
    """Empty for a token that nobody looked at yet."""
    problem: str = ""
    """What the install has last met with, in a sentence; it is over, or nobody knows, while the install does not
    run.
    """


class BotToken:
    """A bot's token that no ``repr`` shows."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return "<a token>"


_NAMES = tuple(field.name for field in fields(BotState))
_COLUMNS = ", ".join(_NAMES)


def list_bots(db: sqlite3.Connection) -> list[BotState]:
    """All bots, by their agents' names."""
    return [_bot(row) for row in db.execute(f"SELECT {_COLUMNS} FROM telegram_bots ORDER BY agent")]  # noqa: S608 - constants


def of_agent(db: sqlite3.Connection, agent: str) -> BotState | None:
    """The bot of this agent."""
    row = db.execute(f"SELECT {_COLUMNS} FROM telegram_bots WHERE agent = ?", (agent,)).fetchone()  # noqa: S608 - constants
    return None if row is None else _bot(row)


def of_bot(db: sqlite3.Connection, bot: int) -> BotState | None:
    """The bot with this id, whoever's it is."""
    row = db.execute(f"SELECT {_COLUMNS} FROM telegram_bots WHERE bot = ?", (bot,)).fetchone()  # noqa: S608 - constants
    return None if row is None else _bot(row)


def put_bot(db: sqlite3.Connection, bot: BotState) -> None:
    """Store a bot with every field; raises ``sqlite3.IntegrityError`` when another agent has it."""
    marks = ", ".join("?" * len(_NAMES))
    news = ", ".join(f"{name} = excluded.{name}" for name in _NAMES if name != "agent")
    db.execute(
        f"INSERT INTO telegram_bots ({_COLUMNS}) VALUES ({marks}) ON CONFLICT (agent) DO UPDATE SET {news}",  # noqa: S608 - constants
        astuple(bot),
    )


def delete_bot(db: sqlite3.Connection, agent: str) -> None:
    """An agent's bot goes, with what another bot could do nothing with: its chats and topics, and what waits there."""
    db.execute("DELETE FROM telegram_bots WHERE agent = ?", (agent,))
    db.execute("DELETE FROM chat_rooms WHERE channel = ? AND agent = ?", (CHANNEL, agent))
    db.execute("DELETE FROM chat_conversations WHERE channel = ? AND agent = ?", (CHANNEL, agent))
    db.execute("DELETE FROM chat_progress WHERE channel = ? AND agent = ?", (CHANNEL, agent))
    db.execute("DELETE FROM chat_inbox WHERE channel = ? AND agent = ? AND handled_at IS NULL", (CHANNEL, agent))
    db.execute(
        "UPDATE chat_outbox SET state = 'failed', why = 'The bot was taken away.' "
        "WHERE channel = ? AND agent = ? AND state IN ('waiting', 'sending')",
        (CHANNEL, agent),
    )
    db.execute(
        "UPDATE chat_outbox SET amendment = NULL WHERE channel = ? AND agent = ? AND amendment IS NOT NULL",
        (CHANNEL, agent),
    )


def next_update(db: sqlite3.Connection, agent: str, bot: int) -> int:
    """Where the bot's updates go on; 0 when nothing is known of that."""
    row = db.execute("SELECT next_update FROM telegram_bots WHERE agent = ? AND bot = ?", (agent, bot)).fetchone()
    return 0 if row is None or row["next_update"] is None else int(row["next_update"])


def set_next_update(db: sqlite3.Connection, agent: str, bot: int, number: int) -> None:
    """The updates before this one are kept."""
    db.execute("UPDATE telegram_bots SET next_update = ? WHERE agent = ? AND bot = ?", (number, agent, bot))


def list_tokens(path: Path) -> tuple[list[StoredBot], int | None]:
    """Every token in a database, whether an orchestrator runs on it or not, and the operator's Telegram id. Changes
    nothing; of a file that is not there, or from before there were bots, nothing is known. Raises Unavailable."""
    if not path.exists():
        return [], None
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=5.0)) as db:
            db.row_factory = sqlite3.Row
            tokens = db.execute(
                "SELECT name, telegram_token, state, problem FROM agents LEFT JOIN telegram_bots ON agent = name "
                "WHERE telegram_token IS NOT NULL AND telegram_token <> '' ORDER BY agents.created_at, name"
            ).fetchall()
            operator = db.execute(
                "SELECT external_id FROM users LEFT JOIN identities ON user = id AND channel = ? "
                "WHERE role = 'operator' ORDER BY id",
                (CHANNEL,),
            ).fetchone()
    except sqlite3.DatabaseError as error:
        if "no such table" in str(error):
            return [], None  # older than bots; `up` brings it up to date
        raise Unavailable(f"The database {path} cannot be read ({error}). Check its disk.") from error
    bots = [
        StoredBot(str(row["name"]), BotToken(row["telegram_token"]), str(row["state"] or ""), str(row["problem"] or ""))
        for row in tokens
    ]
    return bots, None if operator is None else operator["external_id"]


def _bot(row: sqlite3.Row) -> BotState:
    values: dict[str, Any] = dict(row)
    values["state"] = BotStatus(values["state"])
    values["code_way"] = CodeWay(values["code_way"]) if values["code_way"] else None
    values["is_from_settings"] = bool(values["is_from_settings"])
    return BotState(**values)
