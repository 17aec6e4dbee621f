"""A look at one bot from outside the running channel: who Telegram says it is, and where its updates go. Changes
nothing, at Telegram or here."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from orchestrator.channels.telegram import opening
from orchestrator.channels.telegram.line_terms import Me, Patience, Webhook


@dataclass(frozen=True, slots=True)
class Checkup:
    """What Telegram says of a bot."""

    me: Me
    webhook: Webhook


def check_up(token: str, api_url: str) -> Checkup:
    """Ask Telegram about the bot of this token; waits, so never from within an event loop. Raises LineError, and
    BadInput for what is no token."""
    return asyncio.run(_check_up(token, api_url))


async def _check_up(token: str, api_url: str) -> Checkup:
    line = opening.line(token, api_url=api_url, patience=Patience(connect_s=5, read_s=10))
    await line.open()
    try:
        return Checkup(await line.me(), await line.webhook())
    finally:
        await line.close()
