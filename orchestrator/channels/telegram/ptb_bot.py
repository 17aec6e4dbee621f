"""The library's bot as a line uses it: updates as they came, messages at a pace that Telegram bears, and whose menu of
commands is meant. Decides nothing about what is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from telegram import (
    BotCommandScope,
    BotCommandScopeAllGroupChats,
    BotCommandScopeAllPrivateChats,
    BotCommandScopeChat,
    BotCommandScopeDefault,
)
from telegram.ext import AIORateLimiter, ExtBot

from orchestrator.channels.telegram.client_types import MenuScope

UPDATES = ("message", "edited_message", "callback_query", "my_chat_member")
_UNPACED = frozenset(("sendChatAction", "sendMessageDraft", "answerCallbackQuery", "deleteMessage", "getFile"))
"""Calls that don't count as messages; pacing them would keep the messages waiting."""


class PlainBot(ExtBot[int]):
    """The library's bot, with updates as they came."""

    __slots__ = ()

    async def raw_updates(self, offset: int | None, timeout_s: int, read_timeout_s: float) -> list[Any]:
        """getUpdates without making objects of them."""
        wanted = {"offset": offset, "timeout": timeout_s, "allowed_updates": UPDATES}
        found = await self._post("getUpdates", wanted, read_timeout=read_timeout_s)
        return found if isinstance(found, list) else []


class BotPace(AIORateLimiter):
    """The library's pace for messages; other calls go at once."""

    async def process_request(  # noqa: PLR0917 - the library's own signature
        self,
        callback: Callable[..., Coroutine[Any, Any, Any]],
        args: Any,
        kwargs: dict[str, Any],
        endpoint: str,
        data: dict[str, Any],
        rate_limit_args: int | None,
    ) -> Any:
        """The call's result, when it is its turn."""
        if endpoint in _UNPACED:
            return await callback(*args, **kwargs)
        return await super().process_request(callback, args, kwargs, endpoint, data, rate_limit_args)


def command_scope(scope: MenuScope) -> BotCommandScope:
    """The scope as the library calls it."""
    if isinstance(scope, int):
        return BotCommandScopeChat(scope)
    return {
        "default": BotCommandScopeDefault,
        "private": BotCommandScopeAllPrivateChats,
        "groups": BotCommandScopeAllGroupChats,
    }[scope]()
