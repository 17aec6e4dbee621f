"""A station: one bot at work. It keeps the bot's line open, fetches (or is posted) what comes in, says which commands
there are, and sends the code of a handshake. Lives in the channel's loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from orchestrator.channels.chat.message import MessageBody
from orchestrator.channels.chat.send_errors import ChatForbidden, NoSuchChat, SendError, TokenRevoked
from orchestrator.channels.chat.system_text import system_note
from orchestrator.channels.telegram import lazy_import
from orchestrator.channels.telegram.accounts.bots import Bots
from orchestrator.channels.telegram.accounts.rows import BotState, BotStatus, CodeWay
from orchestrator.channels.telegram.client_types import MenuScope
from orchestrator.channels.telegram.update_inbox import UpdateInbox
from orchestrator.channels.telegram.updates import UpdatePoller
from orchestrator.core.errors import Unavailable

if TYPE_CHECKING:
    from orchestrator.channels.telegram.client import TelegramClient  # for its name alone: it loads the library

logger = logging.getLogger(__name__)

_PAUSE_S = 5.0

Menus = Sequence[tuple[MenuScope, Sequence[tuple[str, str]]]]
"""Which commands are offered in which kind of chat: names and descriptions."""


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """Where Telegram posts the updates, when they aren't fetched."""

    url: str
    secret: str


class Bot:
    """One bot, from the opening of its line to the closing."""

    def __init__(
        self,
        state: BotState,
        token: str,
        *,
        api_url: str,
        bots: Bots,
        inbox: UpdateInbox,
        on_kept: Callable[[str, Sequence[int]], None],
        hook: WebhookTarget | None = None,
        count: Callable[[str], None] = lambda _outcome: None,
    ) -> None:
        """Raises BadInput when the token can't be one; nothing is sent yet."""
        self.agent = state.agent
        self.token = token
        self.line: TelegramClient = lazy_import.make_client(token, api_url=api_url, count=count)
        self._bots = bots
        self._poller = UpdatePoller(state.agent, self.line, inbox, on_kept=on_kept, reports=self)
        self._hook = hook
        self._code = ""
        self._menus: Menus = ()

    async def run(self) -> None:
        """Fetch what comes in until cancelled; returns when Telegram refuses the token."""
        await self.line.open()
        try:
            if self._hook is None:
                await self._poller.run()
            else:
                await self._be_posted(self._hook)
        finally:
            await self.line.close()

    def on_contact(self, agent: str, username: str) -> None:
        """Telegram knows the token."""
        self._bots.on_contact(agent, username, token=self.token)

    def on_problem(self, agent: str, text: str | None) -> None:
        """Something is wrong with the bot; with None, no longer."""
        self._bots.on_problem(agent, text, token=self.token)

    def mark_revoked(self, agent: str) -> None:
        """Telegram refuses this token; another one that the agent got meanwhile is not meant."""
        self._bots.mark_revoked(agent, token=self.token)

    async def receive_update(self, update: object) -> None:
        """Keep an update that was posted. Raises Unavailable when Telegram must post it again."""
        try:
            await self._poller.receive_update(update)
        except SendError as error:
            raise Unavailable("The bot can't say who it is now. Post the update again.") from error

    async def update_bot(self, state: BotState, menus: Menus) -> None:
        """Do what the bot's row asks for: send a code that was not sent, show the commands. Never raises: what didn't
        work is done when this is called again."""
        try:
            await self._send_code(state)
            await self._show_menus(state, menus)
        except (TokenRevoked, SendError) as error:
            logger.info("%s: %s", self.agent, error)

    async def _send_code(self, state: BotState) -> None:
        if state.code_way is not CodeWay.SENT or state.code_sent_at is not None or state.code in (None, self._code):
            return
        assert state.code is not None  # noqa: S101 - just looked at
        code, person = state.code, state.code_person
        text = system_note(
            f"The code for {self.agent}: {code}",
            "Someone connected this bot to an agent in HermitShell. If that was you, enter the code there, or "
            "send it back to me if you have linked a bot here before. If it wasn't you, do nothing.",
        )
        way = CodeWay.SENT
        try:
            await self.line.send_message(person or 0, MessageBody(text))
        except (ChatForbidden, NoSuchChat):
            way = CodeWay.SHOWN
        self._code = code
        await asyncio.to_thread(self._bots.code_delivered, self.agent, way, code=code)

    async def _show_menus(self, state: BotState, menus: Menus) -> None:
        if state.state is not BotStatus.PAIRED or menus == self._menus:
            return
        for scope, commands in menus:
            try:
                await self.line.set_commands(commands, scope)
            except NoSuchChat:
                continue  # the menu of somebody who has not written yet; it comes when they have
        self._menus = menus

    async def _be_posted(self, hook: WebhookTarget) -> None:
        """Have Telegram post what comes in, for as long as we are here."""
        while True:
            try:
                me = await self.line.get_me()
                await self.line.set_webhook(hook.url, hook.secret)
            except TokenRevoked:
                await asyncio.to_thread(self.mark_revoked, self.agent)
                return
            except SendError as error:
                problem = f"Telegram did not take the webhook: {error}."
                await asyncio.to_thread(self.on_problem, self.agent, problem)
                await asyncio.sleep(_PAUSE_S)
            else:
                await asyncio.to_thread(self.on_contact, self.agent, me.username)
                await asyncio.to_thread(self.on_problem, self.agent, None)
                await asyncio.Event().wait()  # until cancelled
