"""Rows about which conversation a person writes to in a chat, or in one of its topics."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.channels.chat.channel_store import ChannelDb
from orchestrator.core.models import CubicleKey

_SPOT = "channel = :channel AND agent = :agent AND user = :user AND chat = :chat AND thread = :thread"


@dataclass(frozen=True, slots=True)
class ChatSpot:
    """Where a person writes to an agent."""

    key: CubicleKey
    chat: int
    thread: int | None = None
    """The topic; None for the chat itself."""

    @property
    def is_private(self) -> bool:
        """Nobody else reads here."""
        return self.chat > 0


@dataclass(frozen=True, slots=True)
class ConversationChoice:
    """What was chosen in a place."""

    conversation: int | None
    """None: the next message begins one."""
    name: str = ""
    """What that one will be called; empty for its first words."""


def get_choice(db: ChannelDb, spot: ChatSpot) -> ConversationChoice | None:
    """What was chosen there; None when nothing was."""
    row = db.sql.execute(
        f"SELECT conversation, name FROM chat_conversations WHERE {_SPOT}",  # noqa: S608 - constant
        _values(db, spot),
    ).fetchone()
    return None if row is None else ConversationChoice(**dict(row))


def put_choice(db: ChannelDb, spot: ChatSpot, choice: ConversationChoice) -> None:
    """This is chosen there from now on."""
    db.sql.execute(
        "INSERT INTO chat_conversations (channel, agent, user, chat, thread, conversation, name) "
        "VALUES (:channel, :agent, :user, :chat, :thread, :conversation, :name) "
        "ON CONFLICT (channel, agent, user, chat, thread) "
        "DO UPDATE SET conversation = excluded.conversation, name = excluded.name",
        {**_values(db, spot), "conversation": choice.conversation, "name": choice.name},
    )


def delete_choice(db: ChannelDb, spot: ChatSpot) -> None:
    """Nothing is chosen there any more."""
    db.sql.execute(f"DELETE FROM chat_conversations WHERE {_SPOT}", _values(db, spot))  # noqa: S608 - constant


def find_topic(db: ChannelDb, key: CubicleKey, chat: int, conversation: int) -> int | None:
    """The topic of this chat that is the conversation; None where none is."""
    row = db.sql.execute(
        "SELECT thread FROM chat_conversations WHERE channel = ? AND agent = ? AND user = ? AND chat = ? "
        "AND thread <> 0 AND conversation = ? ORDER BY thread LIMIT 1",
        (db.channel, key.agent, key.user, chat, conversation),
    ).fetchone()
    return None if row is None else int(row["thread"])


def get_conversation_of_turn(db: ChannelDb, turn: int) -> int | None:
    """In which conversation the turn was asked; None when it is gone."""
    row = db.sql.execute("SELECT conversation FROM turns WHERE id = ?", (turn,)).fetchone()
    return None if row is None else int(row["conversation"])


def _values(db: ChannelDb, spot: ChatSpot) -> dict[str, object]:
    return {
        "channel": db.channel,
        "agent": spot.key.agent,
        "user": spot.key.user,
        "chat": spot.chat,
        "thread": spot.thread or 0,
    }
