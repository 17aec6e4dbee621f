"""Opens lines to Telegram. The library for it is loaded with the first of them, as it takes 10 MiB and a fifth of a
second, and many an install has no bot."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from orchestrator.channels.telegram.client_types import BotIdentity, ClientTimeouts

if TYPE_CHECKING:
    from orchestrator.channels.telegram.client import TelegramClient


def make_client(
    token: str,
    *,
    api_url: str,
    patience: ClientTimeouts | None = None,
    count: Callable[[str], None] = lambda _outcome: None,
) -> TelegramClient:
    """A line as :class:`TelegramClient` makes it. Raises BadInput when the token can't be one; nothing is sent yet."""
    made: TelegramClient = _clients().TelegramClient(token, api_url=api_url, patience=patience, count=count)
    return made


def check_token(token: str, api_url: str) -> BotIdentity:
    """Who the bot of this token is; raises what ``client.check_token`` does."""
    found: BotIdentity = _clients().check_token(token, api_url)
    return found


def _clients() -> Any:
    return import_module("orchestrator.channels.telegram.client")
