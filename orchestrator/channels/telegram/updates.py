"""Fetching what came in: one bot's updates, by long polling or as posts to its webhook, kept before they are
acknowledged. Whatever happens to the network, the next poll asks from where the disk has got to.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from orchestrator.channels.chat.send_errors import FloodWait, SendError, TokenRevoked, Unreachable
from orchestrator.channels.telegram.api_errors import OtherPoller
from orchestrator.channels.telegram.client_types import BotIdentity
from orchestrator.channels.telegram.update_inbox import UpdateInbox
from orchestrator.core.errors import Unavailable

if TYPE_CHECKING:
    from orchestrator.channels.telegram.client import TelegramClient  # for its name alone: it loads the library

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
OTHER = "Another program is reading this bot's messages. Stop it, or give this agent its own bot."
AWAY = "Telegram can't be reached. Messages wait there and arrive as soon as it answers."
DISK = "Incoming messages can't be saved, so they wait at Telegram. Check the disk with HERMIT_HOME."
ODD = "Telegram refuses to deliver this bot's messages. './hermit doctor' may show why."
_SAID_AFTER = 3
"""Failures in a row until a break counts as a problem; a lost connection here and there is none."""


class PollReports(Protocol):
    """Who wants to know how the bot fares; called from threads."""

    def on_contact(self, agent: str, username: str) -> object:
        """Telegram knows the token."""

    def on_problem(self, agent: str, text: str | None) -> object:
        """Something is wrong; with None, no longer."""

    def mark_revoked(self, agent: str) -> object:
        """Telegram refuses the token."""


@dataclass(frozen=True, slots=True)
class PollPace:
    """How long to wait for what."""

    poll_s: int = 50
    first_pause_s: float = 1.0
    longest_pause_s: float = 30.0


class UpdatePoller:
    """One bot's updates. Lives in the loop; nothing of it blocks there."""

    def __init__(
        self,
        agent: str,
        line: TelegramClient,
        inbox: UpdateInbox,
        *,
        on_kept: Callable[[str, Sequence[int]], None],
        reports: PollReports,
        pace: PollPace = PollPace(),
    ) -> None:
        """``on_kept`` is told, in the loop, in which of the agent's chats something waits to be handled."""
        self._agent = agent
        self._line = line
        self._inbox = inbox
        self._on_kept = on_kept
        self._reports = reports
        self._pace = pace
        self._me: BotIdentity | None = None
        self._problem: str | None = None

    async def run(self) -> None:
        """Fetch until cancelled; returns when Telegram refuses the token."""
        try:
            me = await self._retry_forever(self._get_me)
            offset = await self._retry_forever(lambda: asyncio.to_thread(self._inbox.next_update, self._agent, me.bot))
            while True:
                offset = await self._retry_forever(lambda offset=offset: self._fetch_batch(me, offset))  # type: ignore[misc]  # mypy can't type a bound default
        except TokenRevoked:
            await asyncio.to_thread(self._reports.mark_revoked, self._agent)

    async def receive_update(self, update: object) -> None:
        """Keep one update that was posted; it is acknowledged by returning. Raises SendError or Unavailable: then it
        has to be posted again."""
        if self._me is None:
            self._me = await self._line.get_me()
        await self._save_updates(self._me, [update])

    async def _get_me(self) -> BotIdentity:
        self._me = await self._line.get_me()
        await self._delete_webhook()
        await asyncio.to_thread(self._reports.on_contact, self._agent, self._me.username)
        return self._me

    async def _fetch_batch(self, me: BotIdentity, offset: int) -> int:
        updates = await self._line.get_updates(offset, timeout_s=self._pace.poll_s)
        if not updates:
            return offset
        after = await self._save_updates(me, updates)
        if after == offset:  # nothing in it could be acknowledged, so it would come again at once
            await asyncio.sleep(self._pace.first_pause_s)
        return after

    async def _save_updates(self, me: BotIdentity, updates: Sequence[object]) -> int:
        kept = await asyncio.to_thread(self._inbox.save_updates, self._agent, me, updates)
        if kept.chats:
            self._on_kept(self._agent, kept.chats)
        return kept.next_update

    # --- going on whatever happens ------------------------------------------------------------------------------

    async def _retry_forever(self, deed: Callable[[], Awaitable[_T]]) -> _T:
        """Do it until it works; raises TokenRevoked alone."""
        failures = 0
        while True:
            try:
                result = await deed()
            except TokenRevoked:
                raise
            except Exception as error:  # noqa: BLE001  # top of a task: whatever it was, the next poll may work
                failures += 1
                await self._describe_error(error, failures)
                await asyncio.sleep(self._pause_s(error, failures))
            else:
                await self._report_problem(None)
                return result

    def _pause_s(self, error: Exception, failures: int) -> float:
        """Longer each time, never quite the same for two bots, and as long as Telegram says."""
        pause = min(self._pace.first_pause_s * 2.0 ** min(failures - 1, 10), self._pace.longest_pause_s)
        pause *= random.uniform(0.7, 1.0)  # noqa: S311  # no secret
        return max(pause, error.retry_after_s) if isinstance(error, FloodWait) else pause

    async def _describe_error(self, error: Exception, failures: int) -> None:
        match error:
            case OtherPoller():
                await self._report_problem(OTHER)
                await self._delete_webhook()
            case Unreachable() | FloodWait():
                logger.debug("%s: %s", self._agent, error)
                await self._report_problem(AWAY if failures >= _SAID_AFTER else self._problem)
            case Unavailable():
                logger.warning("what came in for %s could not be kept: %s", self._agent, error.message)
                await self._report_problem(DISK)
            case SendError():
                logger.warning("the updates of %s could not be fetched: %s", self._agent, error)
                await self._report_problem(ODD)
            case _:
                logger.error("the updates of %s could not be handled", self._agent, exc_info=error)

    async def _delete_webhook(self) -> None:
        """A webhook that somebody set keeps polls from working, and they say so; where it is another poller, or a
        server of one's own that knows no webhooks, this changes nothing."""
        try:
            await self._line.delete_webhook()
        except TokenRevoked:
            raise
        except SendError as error:
            logger.debug("%s: %s", self._agent, error)

    async def _report_problem(self, problem: str | None) -> None:
        """Each problem once, and once that it is over."""
        if problem == self._problem:
            return
        try:
            await asyncio.to_thread(self._reports.on_problem, self._agent, problem)
        except Unavailable as error:
            logger.warning("the problem of %s could not be noted: %s", self._agent, error.message)
        else:
            self._problem = problem
            if problem is not None:
                logger.warning("%s: %s", self._agent, problem)
