"""What Telegram says when it does not do what it was asked, as errors that somebody catches. Pure: a status and a
description go in, an error comes out. No text here ever holds a token.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from orchestrator.channels.chat.send_errors import (
    ChatForbidden,
    ChatMoved,
    FileTooBig,
    FloodWait,
    NoSuchChat,
    NoSuchMessage,
    NotModified,
    SendError,
    SendRefused,
    TokenRevoked,
    Unreachable,
    Why,
)

APP = "Telegram"


class OtherPoller(SendError):
    """Another program asks for this bot's updates, or a webhook gets them."""

    kind = "otherpoller"

    def __init__(self) -> None:
        super().__init__("another program fetches this bot's messages")


_TOKEN = re.compile(r"\d{5,20}:[A-Za-z0-9_-]{20,}")
_MAX_DESCRIPTION = 300
_FORBIDDEN: tuple[tuple[str, Why], ...] = (
    ("blocked", "blocked"),
    ("deactivated", "deactivated"),
    ("initiate conversation", "cannot_write_first"),
    ("bots can't send messages to bots", "cannot_write_first"),
    ("kicked", "kicked"),
    ("not a member", "kicked"),
)
_BAD_REQUESTS: tuple[tuple[str, Callable[[], SendError] | Why], ...] = (
    ("message is not modified", NotModified),
    ("chat not found", NoSuchChat),
    ("peer_id_invalid", NoSuchChat),
    ("user not found", NoSuchChat),
    ("message to edit not found", NoSuchMessage),
    ("message to delete not found", NoSuchMessage),
    ("message can't be edited", NoSuchMessage),
    ("message can't be deleted", NoSuchMessage),
    ("message_id_invalid", NoSuchMessage),
    ("in the message to edit", NoSuchMessage),  # "there is no text …", "there is no caption …"
    ("not enough rights", "cannot_write"),
    ("no rights to send", "cannot_write"),
    ("chat_write_forbidden", "cannot_write"),
    ("file is too big", partial(FileTooBig, app=APP)),
)
"""What a description says, in lower case; the first that fits counts."""


def error_of(status: int, description: str, parameters: Mapping[str, Any]) -> SendError:
    """The error behind an answer of Telegram's that is no success."""
    if isinstance(parameters.get("retry_after"), int | float):
        return FloodWait(max(float(parameters["retry_after"]), 0.0))
    if isinstance(parameters.get("migrate_to_chat_id"), int):
        return ChatMoved(parameters["migrate_to_chat_id"])
    if status == 429:
        return FloodWait(5.0)
    if status >= 500:
        return Unreachable(f"status {status}", may_have_arrived=True, app=APP)
    if status == 404 and "method" in description:
        return SendRefused("this Bot API server does not know the method", app=APP)
    match status:
        case 401 | 404:
            return TokenRevoked(app=APP)
        case 403:
            return ChatForbidden(_why(description.lower()))
        case 409:
            return OtherPoller()
        case 413:
            return FileTooBig(app=APP)
    return _bad_request(description)


def clean_text(text: str) -> str:
    """A text from outside for a log: short, one line, without anything that looks like a token."""
    return _TOKEN.sub("•••", " ".join(text.split()))[:_MAX_DESCRIPTION]


def _why(said: str) -> Why:
    return next((why for words, why in _FORBIDDEN if words in said), "cannot_write")


def _bad_request(description: str) -> SendError:
    said = description.lower()
    for words, meaning in _BAD_REQUESTS:
        if words in said:
            return ChatForbidden(meaning) if isinstance(meaning, str) else meaning()
    return SendRefused(clean_text(description.removeprefix("Bad Request: ")))
