"""A post office for tests: an install's messages on a line to the test's Bot API server, in a thread of its own.

``office.post("a", "text")`` and ``office.wait_for("a")``; ``office.close()`` ends it as a good shutdown does, and
``office.dies()`` in the middle of whatever it is doing; a new one on the same store goes on.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Self, TypeVar

from orchestrator.agents import agent_rows as agents
from orchestrator.channels.chat.message import Message, MessageBody
from orchestrator.channels.chat.outbox import Outbox
from orchestrator.channels.chat.rich_text import RichText
from orchestrator.channels.telegram.client import TelegramClient
from orchestrator.channels.telegram.client_types import ClientTimeouts
from orchestrator.core.asks_again import AsksAgain
from orchestrator.core.db.database import Store
from orchestrator.core.models import Agent, ApprovalPolicy, CubicleLimits
from tests.support.bot_api import BotApi
from tests.support.chat_fakes import telegram_store

T = TypeVar("T")
QUICK = ClientTimeouts(connect_s=3.0, read_s=3.0, upload_s=3.0, digest_s=3.0)
"""Hangs end soon, and a busy machine is none."""
WAIT_S = 30.0


class LoopThread:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="post-office")
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The work's result; its exceptions come through."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(WAIT_S)

    def close(self) -> None:
        """The loop and its thread are gone."""
        self.run(self.loop.shutdown_default_executor())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(WAIT_S)
        self.loop.close()


class OutboxFixture:
    """Sends an agent's messages."""

    def __init__(self, api: BotApi, store: Store, *, first_pause_s: float = 0.05, **tokens: str) -> None:
        """``tokens``: for each agent its bot's. ``first_pause_s``: after the first try in vain."""
        self.api = api
        self.store = store
        self.outbox = Outbox(telegram_store(store), first_pause_s=first_pause_s)
        self.troubles: list[tuple[str, Exception]] = []
        self.told: list[tuple[str, str | None]] = []
        self.outbox.subscribe(lambda ref, why: self.told.append((ref, why)))
        self.lines = {name: TelegramClient(token, api_url=api.url, patience=QUICK) for name, token in tokens.items()}
        self._loop = LoopThread()
        self._sending = asyncio.run_coroutine_threadsafe(
            self.outbox.run(self.lines.get, lambda agent, error: self.troubles.append((agent, error))), self._loop.loop
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def post(self, ref: str, text: str = "", *, agent: str = "crab", chat: int = 42, **more: Any) -> bool:
        """A message of this text, which is the ref where none is given."""
        body = MessageBody(RichText(text or ref, more.pop("entities", ())), **more)
        return self.outbox.post_message(Message(agent, chat, ref, body))

    def wait_for(self, *refs: str, state: str = "sent") -> None:
        """Until the messages stand like that, with nothing left to change about them."""
        until = time.monotonic() + WAIT_S
        while time.monotonic() < until:
            if all(self.stands(ref) == state for ref in refs):
                return
            time.sleep(0.01)
        raise AssertionError({ref: self.stands(ref) for ref in refs})

    def wait_until(self, look: Callable[[], bool]) -> None:
        """Until this is so, which the thread of the mail brings about after what the database says."""
        until = time.monotonic() + WAIT_S
        while not look() and time.monotonic() < until:
            time.sleep(0.01)
        assert look()

    def stands(self, ref: str) -> str:
        """``waiting``, ``sending``, ``amended``, ``sent`` or ``failed``."""
        with self.store.reading() as db:
            row = db.execute("SELECT state, amendment FROM chat_outbox WHERE ref = ?", (ref,)).fetchone()
        return "amended" if row["amendment"] is not None else str(row["state"])

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Something else on this loop."""
        return self._loop.run(work)

    def close(self) -> None:
        """All is brought to an end; whatever is under way is cut off, as by a death at that moment."""
        if self._loop.loop.is_closed():
            return
        self._sending.cancel()
        self.run(self._closed())
        self._loop.close()

    async def _closed(self) -> None:
        rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        await asyncio.gather(*rest, return_exceptions=True)
        for line in self.lines.values():
            await line.close()


def store_with(path: Path, *names: str) -> Store:
    """A database with these agents."""
    store = Store(path / "hermit.db")
    with store.writing() as db:
        for name in names:
            agents.insert_agent(
                db,
                Agent(
                    name=name,
                    display_name="",
                    avatar="",
                    color="",
                    role="",
                    personality="",
                    provider="",
                    model="",
                    fallback_model="",
                    image="base",
                    approval=ApprovalPolicy.OFF,
                    asks_again=AsksAgain.STRICT,
                    approval_timeout_s=60,
                    step_limit=5,
                    command_timeout_s=60,
                    daily_budget_micro=0,
                    daily_budget_tokens=0,
                    limits=CubicleLimits(),
                    toolsets=(),
                    created_at=0.0,
                ),
            )
    return store
