"""A look at one bot from outside the running channel: who Telegram says it is, and where its updates go. Changes
nothing, at Telegram or here."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from orchestrator.channels.telegram import lazy_import
from orchestrator.channels.telegram.client_types import BotIdentity, ClientTimeouts, WebhookStatus


@dataclass(frozen=True, slots=True)
class BotCheck:
    """What Telegram says of a bot."""

    me: BotIdentity
    webhook: WebhookStatus


def check_up(token: str, api_url: str) -> BotCheck:
    """Ask Telegram about the bot of this token; waits, so never from within an event loop. Raises SendError, and
    BadInput for what is no token."""
    return asyncio.run(_check_up(token, api_url))


async def _check_up(token: str, api_url: str) -> BotCheck:
    line = lazy_import.make_client(token, api_url=api_url, patience=ClientTimeouts(connect_s=5, read_s=10))
    await line.open()
    try:
        return BotCheck(await line.get_me(), await line.get_webhook())
    finally:
        await line.close()
