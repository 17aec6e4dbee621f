"""One channel at work: its parts in one thread with one event loop, from the install's start to its stop.

The rows say what there is to do; news of the install only says when to look. Everything that may wait for the disk is
done in threads, everything that waits for the app in tasks, so no bot waits for another.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import threading
from collections.abc import Awaitable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from orchestrator.channels.chat.adapter import ChannelAccounts
from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.channels.chat.wiring import ChatWiring
from orchestrator.core.errors import OrchestratorError, Unavailable
from orchestrator.core.models import Event
from orchestrator.services import Services

logger = logging.getLogger(__name__)
T = TypeVar("T")

_SWEEP_S = 5.0
"""How often is looked for what no news told of."""
_SELDOM = 12
"""Every so many sweeps is looked for what hardly ever is missed."""
_STOP_S = 20.0
_LISTEN_S = 3600.0
_OF_BOTS = ("bot", "agent")
"""Without a bot, no other news is worth making for us."""


class ChatRunner:
    """A channel's thread, and what runs in it."""

    def __init__(self, services: Services, store: ChannelStore, accounts: ChannelAccounts, *, folder: Path) -> None:
        """``folder`` is private to the channel. Nothing runs yet."""
        self._services = services
        self._name = store.channel
        self._accounts = accounts
        self.parts = ChatWiring(services, store, accounts, folder=folder)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news: asyncio.Queue[Event] = asyncio.Queue()
        self._ended = asyncio.Event()
        self._syncing = asyncio.Lock()  # one at a time, so that no bot is opened twice
        self._is_up = threading.Event()
        self._thread = threading.Thread(target=self._run_thread, name=self._name, daemon=True)
        self._subscription = services.broker.subscribe(*_OF_BOTS)
        self._ear = threading.Thread(target=self._forward_events, name=f"{self._name}-news", daemon=True)

    def start(self) -> None:
        """The bots run."""
        self._thread.start()
        self._is_up.wait(_STOP_S)
        self._ear.start()

    def stop(self) -> None:
        """No bot runs any more. What was under way is on disk and goes on after the next start."""
        self.parts.carrier.close()
        self._services.broker.unsubscribe(self._subscription)
        self._subscription.close()
        if self._ear.is_alive():
            self._ear.join(_STOP_S)
        loop = self._loop
        if loop is not None and self._thread.is_alive():
            with contextlib.suppress(RuntimeError):  # it has ended by itself
                loop.call_soon_threadsafe(self._ended.set)
            self._thread.join(_STOP_S)

    @property
    def is_ending(self) -> bool:
        """No further bot is to be started. For the loop."""
        return self._ended.is_set()

    def run_in_loop(self, work: Coroutine[Any, Any, T], timeout_s: float) -> T:
        """Do this in the loop, from another thread. Raises TimeoutError, and Unavailable when nothing runs."""
        if self._loop is None:
            work.close()
            raise Unavailable(f"The {self._name} channel is not running right now.")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout_s)

    # --- the thread --------------------------------------------------------------------------------------------

    def _run_thread(self) -> None:
        try:
            asyncio.run(self._run_loop())
        except Exception:  # the top of a thread; the rest of the install goes on without this channel
            logger.exception("the %s channel broke down", self._name)
            self._is_up.set()

    async def _run_loop(self) -> None:
        self._loop = asyncio.get_running_loop()
        parts = self.parts
        await self._run_guarded("progress", parts.progress.start())
        works: tuple[Coroutine[Any, Any, None], ...] = (
            parts.outbox.run(self._accounts.adapter_of, self._accounts.note_trouble),
            self._hear_news(),
            self._sweep_all(),
        )
        tasks = [asyncio.create_task(work) for work in works]
        self._is_up.set()
        await self._ended.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await parts.progress.close()
        await parts.inbound.close()
        await self._accounts.close()

    def _forward_events(self) -> None:
        """In a thread of its own: the broker's queue is one for threads."""
        try:
            while not self._subscription.is_closed:
                event = self._subscription.get(_LISTEN_S)
                if event is not None and self._loop is not None:
                    self._loop.call_soon_threadsafe(self._news.put_nowait, event)
        except RuntimeError:  # the loop ended first
            logger.debug("no more news for %s", self._name)

    # --- news ---------------------------------------------------------------------------------------------------

    async def _hear_news(self) -> None:
        while True:
            event = await self._news.get()
            await self._run_guarded("progress", self.parts.progress.on_event(event))
            if event.kind == "approval":
                await self._run_guarded("a question", asyncio.to_thread(self.parts.approval_prompts.on_event, event))
            elif event.kind == "question":
                await self._run_guarded("a question", asyncio.to_thread(self.parts.question_prompts.on_event, event))
            elif event.kind == "notice":
                await self._run_guarded("a notice", asyncio.to_thread(self.parts.notifications.on_event, event))
            elif event.kind in ("bot", "agent"):
                await self._run_guarded("the bots", self._sync_bots())
            elif event.kind == "turn" and event.body.get("status") in ("done", "failed", "stopped"):
                await self._run_guarded("an answer", self.parts.turn_replies.post_due())
                await self._run_guarded("apps", asyncio.to_thread(self.parts.app_messages.post_due))
                await self._run_guarded("undo", asyncio.to_thread(self.parts.undo_offers.post_due))
            elif event.kind == "app":
                await self._run_guarded("apps", asyncio.to_thread(self.parts.app_messages.post_due))

    async def _sweep_all(self) -> None:
        """At the start, and now and then for whatever the news missed."""
        for n in itertools.count():
            await self._run_guarded("the bots", self._sync_bots())
            if self._accounts.running_agents:
                await self._run_guarded("the answers", self.parts.turn_replies.post_due())
                await self._run_guarded("the apps", asyncio.to_thread(self.parts.app_messages.post_due))
                await self._run_guarded("undo", asyncio.to_thread(self.parts.undo_offers.post_due))
                await self._run_guarded("the notices", asyncio.to_thread(self.parts.notifications.post_due))
            if n % _SELDOM == 0:
                await self._run_guarded("the questions", asyncio.to_thread(self.parts.approval_prompts.reconcile))
                await self._run_guarded("what agents ask", asyncio.to_thread(self.parts.question_prompts.reconcile))
                await self._run_guarded("old notices", asyncio.to_thread(self.parts.notifications.reconcile))
                await self._run_guarded("the inbox", asyncio.to_thread(self.parts.inbox.forget_old))
            await asyncio.sleep(_SWEEP_S)

    async def _sync_bots(self) -> None:
        """The bots that there should be run, and what waited for those that are new is heard."""
        async with self._syncing:
            for agent in await self._accounts.sync_bots():
                await self.parts.inbound.resume_waiting(agent)
            self._subscription.set_kinds(None if self._accounts.running_agents else _OF_BOTS)
            await self._accounts.update_bots()

    async def _run_guarded(self, what: str, deed: Awaitable[object]) -> None:
        """The channel goes on, whatever broke; the next sweep does what was left."""
        try:
            await deed
        except OrchestratorError as error:
            logger.warning("%s, %s: %s", self._name, what, error.message)
        except Exception:  # what breaks for one turn or bot must not end all of them
            logger.exception("%s, %s", self._name, what)
