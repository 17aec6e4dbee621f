"""The Telegram channel: every agent's bot. The rows say which bots there are and what they have to do; each bot's
connection lives in the channel's loop, which is the chat core's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.channels.chat.access_requests import AccessRequests
from orchestrator.channels.chat.adapter import ChannelTraits
from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.channels.chat.rich_text import RichText
from orchestrator.channels.chat.runner import ChatRunner
from orchestrator.channels.chat.send_errors import TokenRevoked
from orchestrator.channels.telegram.accounts.bots import Bots
from orchestrator.channels.telegram.accounts.rows import CHANNEL, BotState, BotStatus
from orchestrator.channels.telegram.api_errors import APP
from orchestrator.channels.telegram.bot import Bot, Menus, WebhookTarget
from orchestrator.channels.telegram.client_types import ALBUM_MOST, UPLOAD_BYTES
from orchestrator.channels.telegram.format.markdown import render_markdown
from orchestrator.channels.telegram.update_inbox import UpdateInbox
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, Unavailable
from orchestrator.core.models import Carrier
from orchestrator.services import Services

if TYPE_CHECKING:
    from orchestrator.channels.telegram.client import TelegramClient  # for its name alone: it loads the library

logger = logging.getLogger(__name__)

_HOOK_S = 20.0
TRAITS = ChannelTraits(
    name=CHANNEL,
    label=APP,
    upload_bytes=UPLOAD_BYTES,
    upload_limit="50 MB",
    download_bytes=20 << 20,
    download_limit="20 MB",
    album_most=ALBUM_MOST,
    deletable_s=47 * 3600.0,
    shared_numbers_above=-1_000_000_000_000,
)
"""Private chats and small groups share one sequence of message numbers for each bot; supergroups have their own."""


class TelegramChannel:
    """All bots of this install."""

    def __init__(self, services: Services, bots: Bots, store: Store, *, folder: Path) -> None:
        """``folder`` is private to the channel. Nothing runs yet."""
        self._services = services
        self._bots = bots
        self._running: dict[str, tuple[Bot, asyncio.Task[None]]] = {}
        self._rows: dict[str, tuple[BotState, str]] = {}
        """As the last look found them, with the tokens."""
        rows = ChannelStore(store, TRAITS, services.agents.called)
        self._runner = ChatRunner(services, rows, self, folder=folder)
        parts = self._runner.parts
        count = partial(services.metrics.channel_updates, CHANNEL)
        self._updates = UpdateInbox(
            rows, parts.inbox, users=parts.find_person, groups_enabled=parts.groups.is_enabled, count=count
        )

    @property
    def carrier(self) -> Carrier:
        """What takes files to people."""
        return self._runner.parts.carrier

    @property
    def access_requests(self) -> AccessRequests:
        """Who wants to be let in."""
        return self._runner.parts.access_requests

    def start(self) -> None:
        """The bots run."""
        self._runner.start()

    def stop(self) -> None:
        """No bot runs any more. What was under way is on disk and goes on after the next start."""
        self._runner.stop()

    def receive_update(self, agent: str, update: Mapping[str, Any]) -> None:
        """Keep an update that Telegram posted to the agent's webhook. Raises Unavailable: then it must come again."""
        station = self._bot_of(agent)
        if station is None:
            raise Unavailable(f"{agent}'s bot is not running right now.")
        try:
            self._runner.run_in_loop(station.receive_update(dict(update)), _HOOK_S)
        except TimeoutError as error:
            raise Unavailable(f"{agent}'s bot is busy.") from error

    # --- what the core asks ------------------------------------------------------------------------------------

    @property
    def running_agents(self) -> Collection[str]:
        """Whose bots run."""
        return self._running.keys()

    def adapter_of(self, agent: str) -> TelegramClient | None:
        """The connection of the agent's bot."""
        station = self._bot_of(agent)
        return None if station is None else station.line

    def render_markdown(self, markdown: str) -> RichText:
        """An agent's Markdown as Telegram can show it."""
        return render_markdown(markdown)

    def is_linked(self, agent: str) -> bool:
        """The bot has proved whose it is."""
        state = self._bots.find_bot(agent)
        return state is not None and state.state is BotStatus.PAIRED

    def take_code(self, agent: str, person: int, six_digits: str) -> bool:
        """These digits, from this person, prove it now."""
        return self._bots.on_code(agent, person, six_digits)

    def bot_names(self) -> dict[str, str]:
        """What people call the bots, by agent."""
        return {bot.agent: f"@{bot.username}" for bot in self._bots.list_bots()}

    def how_to_link(self, agent: str) -> str:
        """A sentence for whoever writes to a bot that is not linked."""
        return (
            f"Its owner has to finish that first: './hermit telegram list' and {agent}'s Settings page in "
            "the dashboard show how."
        )

    def note_trouble(self, agent: str, error: Exception) -> None:
        """A bot can't be reached, or is revoked."""
        station = self._bot_of(agent)
        if isinstance(error, TokenRevoked) and station is not None:
            asyncio.get_running_loop().run_in_executor(None, station.mark_revoked, agent)
        else:
            logger.debug("%s: %s", agent, error)

    async def sync_bots(self) -> list[str]:
        """The bots that there should be run, the others don't; whose were opened now."""
        wanted = self._rows = await asyncio.to_thread(self._wanted_bots)
        for agent, (station, task) in list(self._running.items()):
            if agent not in wanted or wanted[agent][1] != station.token or task.done():
                await self._close_bot(agent)
        opened = [agent for agent in wanted if agent not in self._running and not self._runner.is_ending]
        for agent in opened:
            self._open_bot(*wanted[agent])
        return opened

    async def update_bots(self) -> None:
        """Each bot has done what its row asks for: sent a code, shown its commands."""
        menus, rows = self._command_menus(), self._rows
        ready = [(station, rows[agent][0]) for agent, (station, _) in self._running.items() if agent in rows]
        await asyncio.gather(*[station.update_bot(state, menus) for station, state in ready])

    async def close(self) -> None:
        """No bot runs any more."""
        await asyncio.gather(*[self._close_bot(agent) for agent in list(self._running)])

    # --- the bots -----------------------------------------------------------------------------------------------

    def _wanted_bots(self) -> dict[str, tuple[BotState, str]]:
        live = [state for state in self._bots.list_bots() if state.state is not BotStatus.REVOKED]
        return {state.agent: (state, token) for state in live if (token := self._bots.token_of(state.agent))}

    def _open_bot(self, state: BotState, token: str) -> None:
        settings = self._services.settings
        hook = None
        if settings.telegram_webhook_url:
            url = f"{settings.telegram_webhook_url}/telegram/{state.bot}"
            hook = WebhookTarget(url, self._bots.webhook_secret(state.agent))
        try:
            station = Bot(
                state,
                token,
                api_url=settings.telegram_api_url,
                bots=self._bots,
                inbox=self._updates,
                on_kept=self._runner.parts.inbound.notify,
                hook=hook,
                count=partial(self._services.metrics.channel_call, CHANNEL),
            )
        except BadInput as error:
            logger.warning("the bot of %s can't run: %s", state.agent, error.message)
            return
        task = asyncio.get_running_loop().create_task(station.run(), name=f"bot-{state.agent}")
        self._running[state.agent] = (station, task)

    async def _close_bot(self, agent: str) -> None:
        _, task = self._running.pop(agent)
        task.cancel()
        outcome = (await asyncio.gather(task, return_exceptions=True))[0]
        if isinstance(outcome, Exception):
            logger.error("the bot of %s broke off", agent, exc_info=outcome)

    def _bot_of(self, agent: str) -> Bot | None:
        found = self._running.get(agent)
        return None if found is None else found[0]

    def _command_menus(self) -> Menus:
        commands = self._runner.parts.commands
        everybody, operators = commands.menu_entries(is_operator=False), commands.menu_entries(is_operator=True)
        operator = self._services.users.get_operator().id_in(CHANNEL)
        menus: Menus = [("private", everybody), ("groups", commands.menu_entries(is_operator=False, is_group=True))]
        return menus if operator is None else [*menus, (operator, operators)]
