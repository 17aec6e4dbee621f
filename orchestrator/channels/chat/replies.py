"""Replies to what just came in, as messages: to where it was said, and in a group showing to what. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.channels.chat.events import IncomingEvent, IncomingMessage
from orchestrator.channels.chat.inbox import chat_of
from orchestrator.channels.chat.message import Message, MessageBody


def build_replies(item: IncomingEvent, bodies: Sequence[MessageBody]) -> list[Message]:
    """The same update has the same messages, however often it is handled."""
    return [_letter(item, body, n) for n, body in enumerate(bodies)]


def reply_ref(item: IncomingEvent, n: int = 0) -> str:
    """The ref of the first message, or of the n-th after it; buttons under a message are made before it."""
    return f"update:{item.bot}:{item.update}" + (f":{n + 1}" if n else "")


def _letter(item: IncomingEvent, body: MessageBody, n: int) -> Message:
    if isinstance(item, IncomingMessage):
        reply_to = body.reply_to if item.place.is_private else item.message
        body = replace(body, reply_to=reply_to, thread=item.place.thread)
    return Message(item.agent, chat_of(item), reply_ref(item, n), body)
