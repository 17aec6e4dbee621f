"""What a chat said, as frozen data: only what an allowed person did, sorted and reduced to what counts. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChatPlace:
    """Where something was said."""

    chat: int
    is_private: bool
    title: str = ""
    """Of a group."""
    thread: int | None = None
    """The topic, in a chat that has some."""
    topic: str = ""
    """What the topic is called, where the app says so."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Who said it: the numeric id counts, the rest is what that person chose to be called."""

    id: int
    name: str
    username: str = ""
    language: str = ""
    """What their app is set to, such as ``de`` or ``pt-br``, where it says so."""


@dataclass(frozen=True, slots=True)
class IncomingFile:
    """A file that came along, still at the app."""

    file_id: str
    name: str
    """As the person's app called it; made safe before it is used."""
    kind: str
    """``document``, ``photo``, ``voice``, ``audio``, ``video``, ``video note``, ``sticker``, ``animation``."""
    size_bytes: int
    """As the app says; 0 when it doesn't."""
    type: str = ""
    """MIME type, as the app says."""


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """A message to the agent, or a command."""

    agent: str
    bot: int
    """The bot's numeric id."""
    update: int
    place: ChatPlace
    sender: Sender
    message: int
    """Its number in the chat."""
    text: str
    """Text or caption; of a place or a contact, a sentence that says it. Without the mention of the bot."""
    quoted: str = ""
    """What it replies to, when that says more than the conversation does."""
    others: str = ""
    """Who wrote what it quotes or passes on, where that is neither its sender nor the agent."""
    files: tuple[IncomingFile, ...] = ()
    album: str = ""
    """Messages with the same one belong together."""
    command: str = ""
    """``stop`` for ``/stop`` or ``/stop@bot``; else empty."""
    argument: str = ""
    """What came after the command."""
    is_edit: bool = False
    is_loose: bool = False
    """In a group, a part of an album that doesn't name the bot; it counts when another part does."""
    answers: int | None = None
    """The number of the bot's message that it replies to."""


@dataclass(frozen=True, slots=True)
class ButtonPress:
    """Somebody pressed a button under a message of ours, or says so."""

    agent: str
    bot: int
    update: int
    query: str
    """How the app is told that it was seen."""
    place: ChatPlace
    message: int
    sender: Sender
    data: str


@dataclass(frozen=True, slots=True)
class MembershipChange:
    """The bot was added to a group, removed, blocked or unblocked."""

    agent: str
    bot: int
    update: int
    place: ChatPlace
    sender: Sender
    """Who did that."""
    is_in: bool
    """The bot can write there now."""


@dataclass(frozen=True, slots=True)
class StrangerMessage:
    """Somebody who is not allowed wrote in private. What they wrote is not kept."""

    agent: str
    bot: int
    update: int
    sender: Sender
    six_digits: str = ""
    """The text when it is six digits and nothing else: it may be the code of a handshake."""


IncomingEvent = IncomingMessage | ButtonPress | MembershipChange | StrangerMessage


def turn_origin(channel: str, item: IncomingMessage | ButtonPress) -> str:
    """The key under which its turn is submitted: once, however often the update comes."""
    return f"{channel}:{item.bot}:{item.update}"
