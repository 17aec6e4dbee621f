"""One live browser at a place of somebody else's: its connection, made again when it breaks, and its end. There is no
container, so nothing is paused and no file goes in or out. Everything here runs in the browsers' loop."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Generic

from orchestrator.core.errors import Conflict, OrchestratorError, Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.engine.helpers import HelperSpec
from orchestrator.live_browsers.models import (
    BrowserEnded,
    BrowserLimits,
    BrowserParts,
    DriverT,
    RemoteParts,
    T,
)

logger = logging.getLogger(__name__)

AGAIN: Final = "Its pages are gone. The next call starts another browser."
_FIRST_PAUSE_S, _MOST_PAUSE_S, _DECIDES_S, _LEAVES_S = 0.02, 2.0, 5.0, 10.0


class RemoteBrowser(Generic[DriverT]):
    """From ``start`` to ``end``."""

    def __init__(
        self,
        key: CubicleKey,
        parts: BrowserParts[DriverT],
        remote: RemoteParts[DriverT],
        limits: BrowserLimits,
        *,
        on_end: Callable[[RemoteBrowser[DriverT]], None],
    ) -> None:
        """``on_end`` hears when it is over and nothing is left of it."""
        self.key = key
        self.driver = parts.make_driver(key)
        self.idle_since = time.monotonic()
        self.is_ready = False
        self.spec: HelperSpec | None = None
        self._parts, self._remote, self._limits, self._on_end = parts, remote, limits, on_end
        self._over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._ending: asyncio.Task[None] | None = None
        self._attending: asyncio.Task[None] | None = None
        self._resting: asyncio.Task[None] | None = None
        self._lives_until = time.monotonic() + limits.lives_s
        self._holds = 0

    @property
    def is_over(self) -> bool:
        """See ``LiveBrowser``."""
        return self._over.done()

    @property
    def why_over(self) -> str:
        """See ``LiveBrowser``."""
        return self._over.result() if self._over.done() else ""

    @property
    def is_busy(self) -> bool:
        """See ``LiveBrowser``."""
        return self._holds > 0

    async def start(self) -> None:
        """See ``LiveBrowser``."""
        self._attending = asyncio.create_task(self._keep_connected())
        try:
            await self._race(self.driver.wait_ready(self._limits.starts_s))
            self.is_ready = True
        except BrowserEnded as error:
            await self.end(error.message)
            raise Unavailable(self.why_over) from error
        except BaseException:
            await self.end("The remote browser did not answer in time.")
            raise

    async def call(self, work: Callable[[DriverT], Awaitable[T]]) -> T:
        """See ``LiveBrowser``."""

        async def do() -> T:
            await self.driver.wait_ready(self._limits.reconnects_s + _DECIDES_S)
            return await work(self.driver)

        async with self.hold():
            try:
                return await self._race(do())
            except BrowserEnded:
                raise
            except Unavailable:  # the connection went: for a moment, or with the browser, which is to be told then
                with suppress(Conflict):  # it did not come back yet
                    await self._race(self.driver.wait_ready(self._limits.reconnects_s + _DECIDES_S))
                raise

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """See ``LiveBrowser``."""
        if self.is_over:
            raise BrowserEnded(self.why_over or AGAIN)
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            self.idle_since = time.monotonic()
            if not self._holds and not self.is_over:
                self._resting = asyncio.create_task(self._rest())

    async def end(self, why: str) -> None:
        """See ``LiveBrowser``."""
        if self._ending is None:
            if not self._over.done():
                self._over.set_result(why)
            logger.info("the remote browser of %s ends: %s", self.key, why)
            self._ending = asyncio.create_task(self._take_down())
        await asyncio.shield(self._ending)

    async def _keep_connected(self) -> None:
        """A connection that breaks is made again at once, then in longer and longer pauses, until too long has
        passed."""
        pause_s, since = _FIRST_PAUSE_S, time.monotonic()
        for _ in range(self._limits.most_connections):
            why = "The connection to the remote browser was lost."
            begun = time.monotonic()
            try:
                await self._remote.attend(self.key, self.driver)
                pause_s, since = _FIRST_PAUSE_S, time.monotonic()
            except BrowserEnded as error:
                self._end_soon(error.message)
                return
            except Unavailable as error:
                why = error.message
            except Exception:  # the top of a task: the next connection may do better
                logger.exception("the connection to the remote browser of %s broke", self.key)
            now, most_s = time.monotonic(), self._limits.reconnects_s if self.is_ready else self._limits.starts_s / 3
            if now - since > most_s or now > self._lives_until:
                self._end_soon(f"{why} {AGAIN}" if self.is_ready else why)
                return
            await asyncio.sleep(pause_s if now - begun < 1.0 else 0)
            pause_s = min(2 * pause_s, _MOST_PAUSE_S)
        self._end_soon(f"The remote browser's connection broke again and again. {AGAIN}")

    def _end_soon(self, why: str) -> None:
        if not self._over.done():
            self._over.set_result(why)
        if self._ending is None:
            logger.info("the remote browser of %s ends: %s", self.key, why)
            self._ending = asyncio.create_task(self._take_down())

    async def _rest(self) -> None:
        """A moment after the last call, what somebody needs of it is kept: it may be gone at any time."""
        await asyncio.sleep(self._limits.lingers_s)
        if not self._holds and not self.is_over:
            await self._keep_last()

    async def _keep_last(self) -> None:
        try:
            await self._parts.keep_last(self.key, self.driver)
        except Unavailable as error:
            logger.warning("keeping what is needed of the remote browser of %s: %s", self.key, error.message)
        except Exception:  # whatever else is to be done is done all the same
            logger.exception("keeping what is needed of the remote browser of %s broke", self.key)

    async def _take_down(self) -> None:
        """What fails is logged: the next start disposes of what is left."""
        if self._resting is not None:
            self._resting.cancel()
            await asyncio.gather(self._resting, return_exceptions=True)
        if self.is_ready:
            await self._keep_last()
        try:
            async with asyncio.timeout(_LEAVES_S):
                await self._remote.leave(self.key, self.driver)
        except (OrchestratorError, TimeoutError) as error:
            logger.warning("what %s had at the remote browser may be left there: %s", self.key, error)
        except Exception:  # the others of these are done all the same
            logger.exception("leaving the remote browser of %s broke", self.key)
        if self._attending is not None:
            self._attending.cancel()
            await asyncio.gather(self._attending, return_exceptions=True)
        await self.driver.close()
        self._on_end(self)

    async def _race(self, work: Awaitable[T]) -> T:
        """What comes of ``work``, unless the browser ends before. Raises BrowserEnded."""
        task = asyncio.ensure_future(work)
        either: tuple[asyncio.Future[Any], ...] = (task, self._over)
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise BrowserEnded(self.why_over)
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
                if not task.cancelled():
                    task.exception()  # looked at, so that nobody is warned of it
