"""Conversation choices: which conversation a person writes to in a chat. A topic is a conversation of its own; anywhere
else it is the first one, until the person goes to another or begins one.

The rows are the truth, and each is written before what it is for: a message goes to a conversation only once the row
says so. A choice counts only while the conversation is that person's and not deleted.
"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.channels.chat import conversation_choice_rows as rows
from orchestrator.channels.chat.channel_store import ChannelDb, ChannelStore
from orchestrator.channels.chat.conversation_choice_rows import ChatSpot, ConversationChoice
from orchestrator.channels.chat.events import ButtonPress, IncomingMessage
from orchestrator.channels.chat.inbox import chat_of
from orchestrator.channels.chat.message import Message, MessageBody
from orchestrator.channels.chat.outbox import Outbox
from orchestrator.channels.chat.replies import reply_ref
from orchestrator.channels.chat.system_text import system_note
from orchestrator.core.errors import NotFound
from orchestrator.core.models import Conversation, CubicleKey, User
from orchestrator.core.text import one_line
from orchestrator.turns import conversation_rows
from orchestrator.turns.conversations import MAX_NAME_CHARS, Conversations, check_name

GONE = "Your conversation was deleted"
BACK_IN_FIRST = "You are in your first conversation again. /conversations lists the others."
_NEW_IN_TOPIC = "This message begins a new one in this topic."
_TO_FIRST = "This message went to your first conversation. /conversations lists the others."


@dataclass(frozen=True, slots=True)
class CurrentConversation:
    """Where a person's next message goes."""

    conversation: Conversation | None
    """None where that message begins one."""
    is_lost: bool = False
    """What was chosen was deleted."""


class ConversationChoices:
    """What everybody chose, in every chat. For threads that may wait."""

    def __init__(self, store: ChannelStore, conversations: Conversations, outbox: Outbox) -> None:
        self._store = store
        self._conversations = conversations
        self._outbox = outbox

    def get_current(self, spot: ChatSpot) -> CurrentConversation:
        """Where the person's next message there goes."""
        with self._store.reading() as db:
            choice = rows.get_choice(db, spot)
            if choice is not None and choice.conversation is None:
                return CurrentConversation(None)
            found = None if choice is None else self._find_chosen(db, spot, choice)
            if found is None and spot.thread is None:
                found = conversation_rows.get_first(db.sql, spot.key)
                return CurrentConversation(found, is_lost=choice is not None)
            return CurrentConversation(found, is_lost=choice is not None and found is None)

    def find_elsewhere(self, spot: ChatSpot, conversation: int) -> Conversation | None:
        """The conversation, where it is another one than the person writes to there; None for that one, for one that
        is gone, and where others would read its name."""
        if not spot.is_private:
            return None
        current = self.get_current(spot).conversation
        if current is not None and current.id == conversation:
            return None
        with self._store.reading() as db:
            return conversation_rows.find_conversation(db.sql, spot.key, conversation)

    def find_elsewhere_of_turn(self, spot: ChatSpot, turn: int | None) -> Conversation | None:
        """The same of the conversation that a turn is in."""
        with self._store.reading() as db:
            conversation = None if turn is None else rows.get_conversation_of_turn(db, turn)
        return None if conversation is None else self.find_elsewhere(spot, conversation)

    def begin_next(self, spot: ChatSpot, name: str) -> str:
        """The person's next message there begins a conversation; its name as it is kept. Raises BadInput."""
        name = check_name(name)
        with self._store.writing() as db:
            rows.put_choice(db, spot, ConversationChoice(None, name))
        return name

    def choose(self, spot: ChatSpot, conversation: int) -> Conversation:
        """The person writes to this conversation there from now on. Raises NotFound for what is not theirs."""
        with self._store.writing() as db:
            found = conversation_rows.find_conversation(db.sql, spot.key, conversation)
            if found is None:
                raise NotFound("This conversation was deleted. /conversations lists those that there are.")
            rows.put_choice(db, spot, ConversationChoice(found.id))
        return found

    def forget_choice(self, spot: ChatSpot) -> None:
        """Nothing is chosen there any more."""
        with self._store.writing() as db:
            rows.delete_choice(db, spot)

    def enter(self, item: IncomingMessage | ButtonPress, user: User) -> int | None:
        """The conversation that this message goes to; None for the first. One that it begins is there when this
        returns, and the next message finds it. Where the chosen one was deleted, the person is told, once."""
        spot = ChatSpot(CubicleKey(item.agent, user.id), chat_of(item), item.place.thread)
        with self._store.reading() as db:
            if spot.thread is None and rows.get_choice(db, spot) is None:
                return None
        with self._store.writing() as db:
            choice = rows.get_choice(db, spot)
            if choice is not None and choice.conversation is not None:
                found = self._find_chosen(db, spot, choice)
                if found is not None:
                    return found.id
                rows.delete_choice(db, spot)
                self._tell_of_loss(item)
                choice = None
            if choice is None and spot.thread is None:
                return None
            made = self._conversations.create(spot.key, choice.name if choice else _topic_name(item))
            rows.put_choice(db, spot, ConversationChoice(made.id))
            return made.id

    def _find_chosen(self, db: ChannelDb, spot: ChatSpot, choice: ConversationChoice) -> Conversation | None:
        if choice.conversation is None:
            return None
        return conversation_rows.find_conversation(db.sql, spot.key, choice.conversation)

    def _tell_of_loss(self, item: IncomingMessage | ButtonPress) -> None:
        """In the transaction that forgets the choice."""
        place = item.place
        rich = system_note(GONE, _TO_FIRST if place.thread is None else _NEW_IN_TOPIC)
        reply_to = None if place.is_private or isinstance(item, ButtonPress) else item.message
        body = MessageBody(rich, reply_to=reply_to, thread=place.thread)
        self._outbox.post_message(Message(item.agent, place.chat, f"{reply_ref(item)}:conversation", body))


def _topic_name(item: IncomingMessage | ButtonPress) -> str:
    """What the topic is called, as a conversation may be; empty for the first words."""
    return " ".join(one_line(item.place.topic, MAX_NAME_CHARS).split())
