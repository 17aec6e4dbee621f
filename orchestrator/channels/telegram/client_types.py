"""What is said of a line to Telegram by those who do not need the library for it: they are loaded without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

UPLOAD_BYTES = 50 * 1000 * 1000
"""What Telegram takes from bots in one call (it says 50 MB; a little less than 50 MiB is sure)."""
ALBUM_MOST = 10

MenuScope = Literal["default", "private", "groups"] | int
"""Whose menu of commands: everybody's, that of private chats, of groups, or of the one chat of this number."""


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """The bot, as Telegram knows it."""

    bot: int
    username: str
    name: str
    can_read_groups: bool
    """It gets every message of its groups, not only those that speak to it."""


@dataclass(frozen=True, slots=True)
class WebhookStatus:
    """Where Telegram posts the bot's updates; empty when they are fetched."""

    url: str
    waiting: int
    """Updates that were not taken yet."""
    last_error: str


@dataclass(frozen=True, slots=True)
class ClientTimeouts:
    """How long a connection may be silent before it counts as broken."""

    connect_s: float = 10.0
    read_s: float = 25.0
    upload_s: float = 60.0
    """Between two pieces of an upload."""
    digest_s: float = 120.0
    """After an upload, until Telegram has looked at the file."""
