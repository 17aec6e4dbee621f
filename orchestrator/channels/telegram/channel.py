"""The Telegram channel: every agent's bot, in one thread with one event loop, from the house's start to its stop.

The rows say which bots there are and what they have to do; news of the house only says when to look. Everything that
may wait for the disk is done in threads, everything that waits for Telegram in tasks, so no bot waits for another.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import threading
from collections.abc import Awaitable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.channels.chat.send_errors import TokenRevoked
from orchestrator.channels.chat.wiring import ChatWiring
from orchestrator.channels.telegram.accounts.rows import BotState, BotStatus
from orchestrator.channels.telegram.bot import Bot, Menus, WebhookTarget
from orchestrator.errors import BadInput, OrchestratorError, Unavailable
from orchestrator.nouns import Carrier, Event
from orchestrator.services import Services
from orchestrator.store.database import Store

if TYPE_CHECKING:
    from orchestrator.channels.telegram.client import TelegramClient  # for its name alone: it loads the library

logger = logging.getLogger(__name__)

_SWEEP_S = 5.0
"""How often is looked for what no news told of."""
_SELDOM = 12
"""Every so many sweeps is looked for what hardly ever is missed."""
_STOP_S = 20.0
_HOOK_S = 20.0
_LISTEN_S = 3600.0
_OF_BOTS = ("bot", "agent")
"""Without a bot, no other news is worth making for us."""


class TelegramChannel:
    """All bots of this install."""

    def __init__(self, services: Services, store: Store, *, folder: Path) -> None:
        """``folder`` is private to the channel. Nothing runs yet."""
        self._services = services
        self._stations: dict[str, tuple[Bot, asyncio.Task[None]]] = {}
        self.office = ChatWiring(services, store, folder=folder, line_of=self._line_of)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news: asyncio.Queue[Event] = asyncio.Queue()
        self._ended = asyncio.Event()
        self._mustering = asyncio.Lock()  # one muster at a time, so that no bot is opened twice
        self._is_up = threading.Event()
        self._thread = threading.Thread(target=self._run, name="telegram", daemon=True)
        self._subscription = services.broker.subscribe(*_OF_BOTS)
        self._ear = threading.Thread(target=self._listen, name="telegram-news", daemon=True)

    @property
    def carrier(self) -> Carrier:
        """What takes files to people."""
        return self.office.carrier

    def start(self) -> None:
        """The bots run."""
        self._thread.start()
        self._is_up.wait(_STOP_S)
        self._ear.start()

    def stop(self) -> None:
        """No bot runs any more. What was under way is on disk and goes on after the next start."""
        self.office.carrier.close()
        self._services.broker.unsubscribe(self._subscription)
        self._subscription.close()
        if self._ear.is_alive():
            self._ear.join(_STOP_S)
        loop = self._loop
        if loop is not None and self._thread.is_alive():
            with contextlib.suppress(RuntimeError):  # it has ended by itself
                loop.call_soon_threadsafe(self._ended.set)
            self._thread.join(_STOP_S)

    def receive(self, agent: str, update: Mapping[str, Any]) -> None:
        """Keep an update that Telegram posted to the agent's webhook. Raises Unavailable: then it must come again."""
        station, loop = self._station(agent), self._loop
        if station is None or loop is None:
            raise Unavailable(f"{agent}'s bot is not running right now.")
        try:
            asyncio.run_coroutine_threadsafe(station.receive(dict(update)), loop).result(_HOOK_S)
        except TimeoutError as error:
            raise Unavailable(f"{agent}'s bot is busy.") from error

    # --- the thread --------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except Exception:  # the top of a thread; the rest of the house goes on without Telegram
            logger.exception("the Telegram channel broke down")
            self._is_up.set()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        office = self.office
        await _safely("progress", office.progress.start())
        works: tuple[Coroutine[Any, Any, None], ...] = (
            office.mail.run(self._line_of, self._trouble),
            self._hear_news(),
            self._sweep(),
        )
        tasks = [asyncio.create_task(work) for work in works]
        self._is_up.set()
        await self._ended.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await office.progress.close()
        await office.hearing.close()
        await asyncio.gather(*[self._close(agent) for agent in list(self._stations)])

    def _listen(self) -> None:
        """In a thread of its own: the broker's queue is one for threads."""
        try:
            while not self._subscription.is_closed:
                event = self._subscription.get(_LISTEN_S)
                if event is not None and self._loop is not None:
                    self._loop.call_soon_threadsafe(self._news.put_nowait, event)
        except RuntimeError:  # the loop ended first
            logger.debug("no more news for Telegram")

    # --- news ---------------------------------------------------------------------------------------------------

    async def _hear_news(self) -> None:
        while True:
            event = await self._news.get()
            await _safely("progress", self.office.progress.on_event(event))
            if event.kind == "approval":
                await _safely("a question", asyncio.to_thread(self.office.asking.heard, event))
            elif event.kind == "question":
                await _safely("a question", asyncio.to_thread(self.office.inquiries.heard, event))
            elif event.kind == "notice":
                await _safely("a notice", asyncio.to_thread(self.office.noticing.heard, event))
            elif event.kind in ("bot", "agent"):
                await _safely("the bots", self._muster())
            elif event.kind == "turn" and event.body.get("status") in ("done", "failed", "stopped"):
                await _safely("an answer", self.office.answers.sweep())
                await _safely("apps", asyncio.to_thread(self.office.app_letters.sweep))
            elif event.kind == "app":
                await _safely("apps", asyncio.to_thread(self.office.app_letters.sweep))

    async def _sweep(self) -> None:
        """At the start, and now and then for whatever the news missed."""
        for n in itertools.count():
            await _safely("the bots", self._muster())
            if self._stations:
                await _safely("the answers", self.office.answers.sweep())
                await _safely("the apps", asyncio.to_thread(self.office.app_letters.sweep))
                await _safely("the notices", asyncio.to_thread(self.office.noticing.sweep))
            if n % _SELDOM == 0:
                await _safely("the questions", asyncio.to_thread(self.office.asking.reconcile))
                await _safely("what agents ask", asyncio.to_thread(self.office.inquiries.reconcile))
                await _safely("old notices", asyncio.to_thread(self.office.noticing.reconcile))
                await _safely("the inbox", asyncio.to_thread(self.office.inbox.tidy))
            await asyncio.sleep(_SWEEP_S)

    # --- the bots -----------------------------------------------------------------------------------------------

    async def _muster(self) -> None:
        """The bots that there should be run, the others don't, and each has done what its row asks for."""
        async with self._mustering:
            await self._muster_alone()

    async def _muster_alone(self) -> None:
        wanted = await asyncio.to_thread(self._wanted)
        for agent, (station, task) in list(self._stations.items()):
            if agent not in wanted or wanted[agent][1] != station.token or task.done():
                await self._close(agent)
        for agent, (state, token) in wanted.items():
            if agent not in self._stations and not self._ended.is_set():
                self._open(state, token)
                await self.office.hearing.resume(agent)
        self._subscription.narrow(None if self._stations else _OF_BOTS)
        menus = self._menus()
        ready = [(station, wanted[agent][0]) for agent, (station, _) in self._stations.items() if agent in wanted]
        await asyncio.gather(*[station.follow(state, menus) for station, state in ready])

    def _wanted(self) -> dict[str, tuple[BotState, str]]:
        bots = self._services.bots
        live = [state for state in bots.every() if state.state is not BotStatus.REVOKED]
        return {state.agent: (state, token) for state in live if (token := bots.token(state.agent))}

    def _open(self, state: BotState, token: str) -> None:
        settings = self._services.settings
        hook = None
        if settings.telegram_webhook_url:
            url = f"{settings.telegram_webhook_url}/telegram/{state.bot}"
            hook = WebhookTarget(url, self._services.bots.webhook_secret(state.agent))
        try:
            station = Bot(
                state,
                token,
                api_url=settings.telegram_api_url,
                bots=self._services.bots,
                inbox=self.office.inbox,
                on_kept=self.office.hearing.hear,
                hook=hook,
                count=self._services.metrics.telegram_call,
            )
        except BadInput as error:
            logger.warning("the bot of %s can't run: %s", state.agent, error.message)
            return
        task = asyncio.get_running_loop().create_task(station.run(), name=f"bot-{state.agent}")
        self._stations[state.agent] = (station, task)

    async def _close(self, agent: str) -> None:
        _, task = self._stations.pop(agent)
        task.cancel()
        outcome = (await asyncio.gather(task, return_exceptions=True))[0]
        if isinstance(outcome, Exception):
            logger.error("the bot of %s broke off", agent, exc_info=outcome)

    def _line_of(self, agent: str) -> TelegramClient | None:
        station = self._station(agent)
        return None if station is None else station.line

    def _station(self, agent: str) -> Bot | None:
        found = self._stations.get(agent)
        return None if found is None else found[0]

    def _trouble(self, agent: str, error: Exception) -> None:
        station = self._station(agent)
        if isinstance(error, TokenRevoked) and self._loop is not None and station is not None:
            self._loop.run_in_executor(None, station.mark_revoked, agent)
        else:
            logger.debug("%s: %s", agent, error)

    def _menus(self) -> Menus:
        commands = self.office.commands
        everybody, operators = commands.menu(is_operator=False), commands.menu(is_operator=True)
        operator = self._services.people.operator().telegram_id
        menus: Menus = [("private", everybody), ("groups", commands.menu(is_operator=False, is_group=True))]
        return menus if operator is None else [*menus, (operator, operators)]


async def _safely(what: str, deed: Awaitable[object]) -> None:
    """The channel goes on, whatever broke; the next sweep does what was left."""
    try:
        await deed
    except OrchestratorError as error:
        logger.warning("Telegram, %s: %s", what, error.message)
    except Exception:  # what breaks for one turn or bot must not end all of them
        logger.exception("Telegram, %s", what)
