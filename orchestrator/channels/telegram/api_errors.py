"""What Telegram says when it does not do what it was asked, as errors that somebody catches. Pure: a status and a
description go in, an error comes out. No text here ever holds a token.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

Why = Literal["blocked", "kicked", "deactivated", "cannot_write_first", "cannot_write"]


class SendError(Exception):
    """Telegram did not do what it was asked."""


class TokenRevoked(SendError):
    """The token is not (or no longer) a bot's. Nothing will work until there is another."""

    def __init__(self) -> None:
        super().__init__("Telegram no longer accepts the bot's token")


class ChatForbidden(SendError):
    """The bot may not write there."""

    def __init__(self, why: Why) -> None:
        super().__init__(f"the bot may not write there: {why}")
        self.why = why


class NoSuchChat(SendError):
    """There is no such chat for this bot; nobody has opened it."""

    def __init__(self) -> None:
        super().__init__("there is no such chat for this bot")


class ChatMoved(SendError):
    """The group has become a supergroup, with another number."""

    def __init__(self, chat: int) -> None:
        super().__init__(f"the group has become a supergroup: {chat}")
        self.chat = chat


class NoSuchMessage(SendError):
    """The message is gone, or is not one that the bot can change like that."""

    def __init__(self) -> None:
        super().__init__("there is no such message of the bot")


class NotModified(SendError):
    """The message says exactly that already."""

    def __init__(self) -> None:
        super().__init__("the message says that already")


class FloodWait(SendError):
    """The bot spoke too often; before the time is over, nothing is sent."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(f"the bot spoke too often, it has to wait {retry_after_s:.0f} s")
        self.retry_after_s = retry_after_s


class Unreachable(SendError):
    """No answer that is Telegram's. ``may_have_arrived``: what was sent may be there all the same."""

    def __init__(self, what: str, *, may_have_arrived: bool) -> None:
        super().__init__(f"Telegram can't be reached ({what})")
        self.may_have_arrived = may_have_arrived


class OtherPoller(SendError):
    """Another program asks for this bot's updates, or a webhook gets them."""

    def __init__(self) -> None:
        super().__init__("another program fetches this bot's messages")


class FileTooBig(SendError):
    """The file is larger than bots may send (50 MB) or fetch (20 MB)."""

    def __init__(self) -> None:
        super().__init__("the file is larger than Telegram takes from bots")


class SendRefused(SendError):
    """Telegram does not take it, and will not take it the next time either."""

    def __init__(self, description: str) -> None:
        super().__init__(f"Telegram refused: {description}")
        self.description = description


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
_BAD_REQUESTS: tuple[tuple[str, type[SendError] | Why], ...] = (
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
    ("file is too big", FileTooBig),
)
"""What a description says, in lower case; the first that fits counts."""


def refusal(status: int, description: str, parameters: Mapping[str, Any]) -> SendError:
    """The error behind an answer of Telegram's that is no success."""
    if isinstance(parameters.get("retry_after"), int | float):
        return FloodWait(max(float(parameters["retry_after"]), 0.0))
    if isinstance(parameters.get("migrate_to_chat_id"), int):
        return ChatMoved(parameters["migrate_to_chat_id"])
    if status == 429:
        return FloodWait(5.0)
    if status >= 500:
        return Unreachable(f"status {status}", may_have_arrived=True)
    if status == 404 and "method" in description:
        return SendRefused("this Bot API server does not know the method")
    match status:
        case 401 | 404:
            return TokenRevoked()
        case 403:
            return ChatForbidden(_why(description.lower()))
        case 409:
            return OtherPoller()
        case 413:
            return FileTooBig()
    return _bad_request(description)


def cleaned(text: str) -> str:
    """A text from outside for a log: short, one line, without anything that looks like a token."""
    return _TOKEN.sub("•••", " ".join(text.split()))[:_MAX_DESCRIPTION]


def _why(said: str) -> Why:
    return next((why for words, why in _FORBIDDEN if words in said), "cannot_write")


def _bad_request(description: str) -> SendError:
    said = description.lower()
    for words, meaning in _BAD_REQUESTS:
        if words in said:
            return ChatForbidden(meaning) if isinstance(meaning, str) else meaning()
    return SendRefused(cleaned(description.removeprefix("Bad Request: ")))
