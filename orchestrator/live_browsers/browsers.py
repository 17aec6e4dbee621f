"""All live browsers of an install: at most one for each cubicle and a few in all, started on demand; the one that was
needed longest ago gives way. An event loop in a thread of its own runs them, and callers are threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError as Cancelled
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any, BinaryIO, Final, Generic, TypeVar

from orchestrator.core.errors import NotFound, TooMany, Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.engine import helper_folder
from orchestrator.engine.helpers import LIVE_BROWSER, HelperSpec
from orchestrator.live_browsers import file_exchange
from orchestrator.live_browsers.cubicle_browser import AGAIN, CubicleBrowser
from orchestrator.live_browsers.models import (
    DEFAULT_LIMITS,
    BrowserEnded,
    BrowserLimits,
    BrowserParts,
    DriverT,
    LiveBrowser,
)
from orchestrator.live_browsers.remote_browser import RemoteBrowser

logger = logging.getLogger(__name__)

T = TypeVar("T")

_CLOSING: Final = "HermitShell is stopping, and the browser with it."
_CLOSES_S: Final = 30.0
_LOOK_S: Final = 1.0
_MOST_ENDS: Final = 500


class LiveBrowsers(Generic[DriverT]):
    """Started on demand, ended when nobody needs them. All methods may be called from any thread but their own."""

    def __init__(self, parts: BrowserParts[DriverT], limits: BrowserLimits = DEFAULT_LIMITS) -> None:
        self._parts, self._limits = parts, limits
        self._browsers: dict[CubicleKey, LiveBrowser[DriverT]] = {}
        self._ends: dict[CubicleKey, str] = {}
        """Why the last one of a cubicle ended."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._clearing: threading.Thread | None = None
        """Disposes of what another run left at a remote browser."""
        self._making = asyncio.Lock()  # one start at a time, so that the count is right

    # --- from any thread ---------------------------------------------------------------------------------------

    def start(self) -> None:
        """Nothing is left of another run, and calls are taken."""
        try:
            self._parts.helpers.clear_helpers(LIVE_BROWSER)
        except Unavailable as error:
            logger.warning("browsers of another run could not be cleared away: %s", error.message)
        self._parts.folder.parent.mkdir(mode=0o700, exist_ok=True)
        self._remember_left()
        if self._parts.remote is not None:
            self._clearing = threading.Thread(target=self._parts.remote.clear, name="remote-browsers", daemon=True)
            self._clearing.start()
        helper_folder.empty_all(self._parts.folder)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run_loop, args=(self._loop,), name="browsers", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """No browser is left, and no call is taken; again, or before the start, is fine."""
        loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        try:
            asyncio.run_coroutine_threadsafe(self._end_all(), loop).result(_CLOSES_S)
        except TimeoutError:
            logger.warning("browsers are left, as the engine does not answer; the next start removes them")
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_CLOSES_S)

    def call(self, key: CubicleKey, work: Callable[[DriverT], Awaitable[T]], *, starts: bool = True) -> T:
        """What ``work`` makes of the driver of this cubicle's browser, which is awake meanwhile. ``work`` runs in the
        browsers' loop, bounds its own waits, and is cancelled when the browser ends.

        Args:
            key: whose browser.
            work: what is to be done.
            starts: where there is none, one is started. Without, which is for what needs the pages of before, the
                caller learns that there is none.

        Raises:
            BrowserEnded: it ended meanwhile, or is not there any more; the message says why.
            NotFound: there was none.
            TooMany: as many are alive as may be, and all are busy.
            Unavailable: none can be started.
        """
        return self._run(self._call(key, work, starts=starts))

    def look(self, key: CubicleKey, read: Callable[[DriverT], T]) -> T | None:
        """What ``read`` finds in what the driver knows, whether the browser is awake or not; None where there is no
        browser that takes commands. ``read`` returns at once."""
        return self._run(self._look(key, read))

    @contextmanager
    def awake(self, key: CubicleKey) -> Iterator[None]:
        """The browser of this cubicle is not paused within: for a download, or a person who watches. Raises what
        ``call`` raises that starts none."""
        release = self._run(self._hold(key))
        try:
            yield
        finally:
            with contextlib.suppress(Unavailable):  # we are closing: nothing is held any more
                self._run(release())

    def end(self, key: CubicleKey, why: str = f"The browser was closed. {AGAIN}") -> None:
        """The cubicle has no browser; none is fine."""
        self._run(self._end(key, why))

    def end_soon(self, key: CubicleKey) -> None:
        """The same for a cubicle that stops or is deleted; returns at once. A call that comes after this gets another
        browser."""
        loop = self._loop
        if loop is not None:
            asyncio.run_coroutine_threadsafe(self._end(key, f"The agent was stopped. {AGAIN}"), loop)

    def list_alive(self) -> list[CubicleKey]:
        """Whose browsers there are, also those that are starting or ending."""
        return sorted(self._browsers.copy(), key=lambda key: (key.agent, key.user))

    def put_upload(self, key: CubicleKey, name: str, content: BinaryIO) -> PurePosixPath:
        """A file for a page of this cubicle's browser; where it lies inside. Raises NotFound where there is no browser,
        BadInput, TooLarge, and Unavailable for a disk that refuses."""
        with _disk_errors():
            return file_exchange.put_upload(self._spec_of(key), name, content)

    def take_download(self, key: CubicleKey, guid: str, target: BinaryIO, *, stays: bool = False) -> int:
        """Copies what this cubicle's browser downloaded, and takes it away there unless it ``stays``; how many bytes.
        Raises NotFound, TooLarge, and Unavailable for a disk that refuses."""
        with _disk_errors():
            return file_exchange.take_download(self._spec_of(key), guid, target, stays=stays)

    def drop_download(self, key: CubicleKey, guid: str) -> None:
        """Nobody needs it in this cubicle's browser any more. Raises NotFound where there is no browser, and
        Unavailable for a disk that refuses."""
        with _disk_errors():
            file_exchange.drop_download(self._spec_of(key), guid)

    def _remember_left(self) -> None:
        """Whoever had a browser when we died learns why it is gone."""
        for path in self._parts.folder.glob("?*-*"):
            agent, _, user = path.name.rpartition("-")
            if user.isdecimal():
                self._ends[CubicleKey(agent, int(user))] = f"HermitShell was restarted. {AGAIN}"

    def _spec_of(self, key: CubicleKey) -> HelperSpec:
        browser = self._browsers.get(key)
        if browser is None or browser.is_over or browser.spec is None:
            raise NotFound("No browser is open. Open a page first.")
        return browser.spec

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            work.close()
            raise Unavailable(_CLOSING)
        future = asyncio.run_coroutine_threadsafe(work, loop)
        while True:
            try:
                return future.result(_LOOK_S)
            except Cancelled as error:
                raise Unavailable(_CLOSING) from error
            except TimeoutError:
                if future.done():
                    raise  # the work's own
                if not thread.is_alive():  # it ended before it heard of this
                    work.close()
                    raise Unavailable(_CLOSING) from None

    # --- in the loop -------------------------------------------------------------------------------------------

    def _run_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        tidying = loop.create_task(self._tidy())
        try:
            loop.run_forever()
        finally:
            tidying.cancel()
            left = asyncio.all_tasks(loop)
            for task in left:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    async def _call(self, key: CubicleKey, work: Callable[[DriverT], Awaitable[T]], *, starts: bool) -> T:
        if not starts:
            self._require(key)
        browser = await self._get(key)
        return await browser.call(work)

    async def _look(self, key: CubicleKey, read: Callable[[DriverT], T]) -> T | None:
        browser = self._browsers.get(key)
        return read(browser.driver) if browser is not None and browser.is_ready and not browser.is_over else None

    def _require(self, key: CubicleKey) -> LiveBrowser[DriverT]:
        """Raises BrowserEnded or NotFound where there is none."""
        browser = self._browsers.get(key)
        if browser is not None and not browser.is_over:
            return browser
        why = browser.why_over if browser is not None else self._ends.get(key)
        raise BrowserEnded(why) if why else NotFound("No browser is open. Open a page first.")

    async def _get(self, key: CubicleKey) -> LiveBrowser[DriverT]:
        """The browser of this cubicle; nothing comes between this and the next thing that its caller does."""
        while True:
            browser = self._browsers.get(key)
            if browser is not None and browser.is_ready and not browser.is_over:
                return browser
            async with self._making:
                browser = self._browsers.get(key)
                if browser is not None and browser.is_over:
                    await browser.end("")  # which is waited for
                    browser = self._browsers.get(key)
                if browser is None:
                    await self._start_one(key)

    async def _start_one(self, key: CubicleKey) -> None:
        browser: LiveBrowser[DriverT]
        if self._parts.remote is not None:
            if self._clearing is not None:  # what it has to dispose of is not to be taken for what is new
                await asyncio.to_thread(self._clearing.join)
            await self._make_room()
            browser = RemoteBrowser(key, self._parts, self._parts.remote, self._limits, on_end=self._forget)
        else:
            image = await asyncio.to_thread(self._parts.image)
            kind = await asyncio.to_thread(self._parts.choose_kind, image)
            await self._make_room()
            browser = CubicleBrowser(key, self._parts, self._limits, image=image, kind=kind, on_end=self._forget)
        self._browsers[key] = browser
        await browser.start()

    async def _make_room(self) -> None:
        """There may be one more. Raises TooMany."""
        while len(self._browsers) >= self._limits.most:
            over = [one for one in self._browsers.values() if one.is_over]
            idle = [one for one in self._browsers.values() if not one.is_busy]
            if not over and not idle:
                raise TooMany(f"All {self._limits.most} browsers of this install are busy. Try again in a moment.")
            oldest = (over or sorted(idle, key=lambda one: one.idle_since))[0]
            await oldest.end(f"Another agent needed a browser, and {self._limits.most} may run at once. {AGAIN}")

    async def _hold(self, key: CubicleKey) -> Callable[[], Coroutine[Any, Any, None]]:
        browser = self._require(key)
        holding = contextlib.AsyncExitStack()
        await holding.enter_async_context(browser.hold())
        return holding.aclose

    async def _end(self, key: CubicleKey, why: str) -> None:
        browser = self._browsers.get(key)
        if browser is not None:
            await browser.end(why)

    async def _end_all(self) -> None:
        await asyncio.gather(*[browser.end(_CLOSING) for browser in self._browsers.copy().values()])

    async def _tidy(self) -> None:
        """What nobody has needed for long ends."""
        while True:
            await asyncio.sleep(min(self._limits.idle_s / 4, 15.0))
            for browser in list(self._browsers.values()):
                if await self._is_forgotten(browser):
                    await browser.end(f"Nobody used the browser for a while. {AGAIN}")

    async def _is_forgotten(self, browser: LiveBrowser[DriverT]) -> bool:
        """Nobody needs it, and nobody will."""
        if browser.is_busy or time.monotonic() - browser.idle_since <= self._limits.idle_s:
            return False
        try:
            is_awaited = await asyncio.to_thread(self._parts.is_awaited, browser.key)
        except Unavailable as error:
            logger.warning("whether the browser of %s is needed is not known: %s", browser.key, error.message)
            return False
        return not is_awaited and not browser.is_busy

    def _forget(self, browser: LiveBrowser[DriverT]) -> None:
        if self._browsers.get(browser.key) is browser:
            del self._browsers[browser.key]
            self._ends.pop(browser.key, None)
            self._ends[browser.key] = browser.why_over
            if len(self._ends) > _MOST_ENDS:
                del self._ends[next(iter(self._ends))]


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unavailable("The disk of HERMIT_HOME refuses a browser's file. Look at the disk.") from error
