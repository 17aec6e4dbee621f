"""What every part of the chat works with: the tabs, the way to the API, and what is to be drawn anew. All of it
lives in the event loop; only calls of the API run beside it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from orchestrator.cli.client import ApiClient
from orchestrator.cli.context import Context
from orchestrator.cli.talk import pieces
from orchestrator.cli.talk.tabs import Tab, Tabs
from orchestrator.core.errors import OrchestratorError

_T = TypeVar("_T")
_WORKERS = 6


class Desk:
    """Of one chat."""

    def __init__(self, context: Context, tabs: Tabs) -> None:
        self.context = context
        self.tabs = tabs
        self.me = 0
        """The person's number."""
        self.agents: list[tuple[str, str]] = []
        """Their names, with what each is for."""
        self.elsewhere: dict[str, str] = {}
        """Ids of what waits for an answer where no tab shows it, with the agent that asks."""
        self.parked: set[str] = set()
        """Ids of what the person wants to answer later."""
        self.is_live = False
        """News come."""
        self.changed = asyncio.Event()
        """Something is to be printed or drawn anew."""
        self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="chat")
        self._clients = threading.local()
        self._tasks: set[asyncio.Task[None]] = set()

    async def call(self, deed: Callable[[ApiClient], _T]) -> _T:
        """Something with the API, beside the loop; raises what the API refuses with."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._run_deed, deed)

    def begin(self, work: Awaitable[None], tab: Tab | None = None) -> None:
        """Do it meanwhile; what goes wrong is said in the tab."""
        task = asyncio.get_running_loop().create_task(self._finish(work, tab))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def tell(self, tab: Tab, *told: pieces.Piece) -> None:
        """These stand in the tab from now on."""
        tab.add(*told)
        self.changed.set()

    async def close(self) -> None:
        """Nothing is begun any more, and nothing waited for."""
        for task in tuple(self._tasks):
            task.cancel()
        for task in tuple(self._tasks):
            with suppress(asyncio.CancelledError):
                await task
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run_deed(self, deed: Callable[[ApiClient], _T]) -> _T:
        if not hasattr(self._clients, "client"):  # one session is not for two threads
            self._clients.client = self.context.client
        return deed(self._clients.client)

    async def _finish(self, work: Awaitable[None], tab: Tab | None) -> None:
        try:
            await work
        except OrchestratorError as error:
            if tab is not None:
                tab.code = 1
                self.tell(tab, pieces.trouble(error.message))
        except Exception as error:  # noqa: BLE001  # the top of a task: a fault of one deed must not end the chat
            said = f"Something went wrong in this chat ({type(error).__name__}). The agent was not told."
            self.tell(tab or self.tabs.current, pieces.trouble(said))
        self.changed.set()
