"""Address book: in which chat something about a cubicle belongs, and whose clock counts there. Reads rows alone."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.agents.users import Users
from orchestrator.channels.chat import contact_rows as chats
from orchestrator.channels.chat import conversation_choice_rows as choices
from orchestrator.channels.chat import turn_reply_rows as places
from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.core.errors import NotFound
from orchestrator.core.models import CubicleKey, User


@dataclass(frozen=True, slots=True)
class ChatAddress:
    """Where a message goes."""

    chat: int
    thread: int | None = None
    reply_to: int | None = None


class AddressBook:
    """Every cubicle's chats. For threads that may wait."""

    def __init__(self, store: ChannelStore, users: Users) -> None:
        self._store = store
        self._users = users

    def place_of(self, key: CubicleKey, turn: int | None, conversation: int | None = None) -> ChatAddress | None:
        """The chat where the turn was asked for; else the private chat of the cubicle's person with this agent's bot,
        where it is open, and there the topic of the conversation."""
        with self._store.reading() as db:
            place = None if turn is None else places.place_of(db, turn)
            if turn is not None and conversation is None:
                conversation = choices.get_conversation_of_turn(db, turn)
        if place is not None and place.agent == key.agent:
            return ChatAddress(place.chat, place.thread, None if place.is_private else place.message)
        return self.private_place(key, conversation)

    def private_place(self, key: CubicleKey, conversation: int | None = None) -> ChatAddress | None:
        """The private chat of the cubicle's person with this agent's bot, where the bot can write; with a
        conversation, the topic that it has there."""
        user = self.owner_of(key)
        chat = None if user is None else user.id_in(self._store.channel)
        if chat is None:
            return None
        with self._store.reading() as db:
            thread = None if conversation is None else choices.find_topic(db, key, chat, conversation)
            return ChatAddress(chat, thread) if chats.is_open(db, key.agent, chat) else None

    def owner_of(self, key: CubicleKey) -> User | None:
        """Whose cubicle it is; None for somebody who was removed."""
        try:
            return self._users.get(key.user)
        except NotFound:
            return None
