"""One live browser: its container, its way out, its driver; paused while nobody needs it, ended for a reason that is
told. Everything here runs in the browsers' loop, and what may wait for the engine in threads of it."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Generic, TypeVar

from orchestrator.core.errors import Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.engine import helper_folder
from orchestrator.engine.helpers import HelperEnd, HelperKind, HelperSpec
from orchestrator.engine.protocol import LivingHelper
from orchestrator.gate.gate import bind_socket
from orchestrator.live_browsers.models import (
    MAX_FOLDER_BYTES,
    BrowserEnded,
    BrowserLimits,
    BrowserParts,
    DriverT,
    OpenedGate,
)

logger = logging.getLogger(__name__)

T = TypeVar("T")

AGAIN: Final = "Its pages are gone. The next call starts another browser."
_REASONS: Final = {
    HelperEnd.TOO_LONG: f"The browser has run for as long as one may. {AGAIN}",
    HelperEnd.TOO_MUCH: f"The browser brought more files than it may, or folders. {AGAIN}",
}
_KILLED, _LOOK_S, _PAUSED_LOOK_S, _SEARCH_S = -9, 1.0, 30.0, 0.1
_TELLS_S, _DECIDES_S, _KEEPS_FROM_KNOWING_S = 0.5, 5.0, 30.0
"""How long a lost connection may take to be told of, a decision that it stays lost, and an engine that hangs before a
call says what it knows."""
_REPORT_BYTES = 20_000
_SOCKET_NAME: Final = "cdp.sock"
"""Where the relay of the container calls, with Chromium's debugging pipe behind it."""


class CubicleBrowser(Generic[DriverT]):
    """From ``start`` to ``end``."""

    def __init__(
        self,
        key: CubicleKey,
        parts: BrowserParts[DriverT],
        limits: BrowserLimits,
        *,
        image: str,
        kind: HelperKind,
        on_end: Callable[[CubicleBrowser[DriverT]], None],
    ) -> None:
        """``on_end`` hears when it is over and nothing is left of it."""
        self.key = key
        self.driver = parts.make_driver(key)
        self.idle_since = time.monotonic()
        self.is_ready = False
        self.spec: HelperSpec | None = None
        self._parts, self._limits, self._image, self._kind, self._on_end = parts, limits, image, kind, on_end
        self._name = f"{key.agent}-{key.user}"  # which the next run reads, should this one die
        self._helper: LivingHelper | None = None
        self._gate: OpenedGate | None = None
        self._server: asyncio.Server | None = None
        self._over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._ending: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._stirred = asyncio.Event()
        """It woke or lost its connection: whoever watches looks sooner."""
        self._changing = asyncio.Lock()  # one pause or resume at a time
        self._holds, self._is_paused = 0, False
        self._callers, self._connections, self._is_attended, self._lost_at = 0, 0, False, 0.0

    @property
    def is_over(self) -> bool:
        """It has ended, or ends."""
        return self._over.done()

    @property
    def why_over(self) -> str:
        """Why it has ended; empty while it lives."""
        return self._over.result() if self._over.done() else ""

    @property
    def is_busy(self) -> bool:
        """Somebody needs it."""
        return self._holds > 0

    # --- its life ----------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """It takes commands. Raises Unavailable, and then nothing is left of it."""
        try:
            async with self._changing:  # whoever takes it down waits until it is up
                await self._put_up()
            self._spawn(self._watch())
            await self._race(self.driver.wait_ready(self._limits.starts_s), within_s=self._limits.starts_s + _DECIDES_S)
            self.is_ready = True
            self._rest()
        except TimeoutError as error:
            await self.end("The browser did not start in time.")
            raise Unavailable("The browser did not start in time. Try again when the machine is less busy.") from error
        except OSError as error:
            await self.end("The browser's folder can't be written.")
            raise Unavailable("The folder for browsers in HERMIT_HOME can't be written. Look at the disk.") from error
        except BaseException:
            await self.end("The browser did not start.")
            raise

    async def call(self, work: Callable[[DriverT], Awaitable[T]]) -> T:
        """What ``work`` makes of the driver, with the browser awake. Raises what it raises, and BrowserEnded."""
        async with self.hold():
            connections = self._connections
            try:
                return await self._race(self._work(work))
            except BrowserEnded:
                raise
            except Unavailable as error:  # the connection went: with the browser, or alone
                if why := await self._learn_end(connections):
                    raise BrowserEnded(why) from error
                raise

    async def _work(self, work: Callable[[DriverT], Awaitable[T]]) -> T:
        await self.driver.wait_ready(
            self._limits.reconnects_s + _DECIDES_S
        )  # its connection may have been lost between two calls
        return await work(self.driver)

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """It is awake within. Raises Unavailable or BrowserEnded."""
        self._holds += 1
        try:
            await self._wake()
            yield
        finally:
            self._holds -= 1
            self.idle_since = time.monotonic()
            if not self._holds:
                self._rest()

    async def end(self, why: str) -> None:
        """Nothing of it is left when this returns, as far as the engine answers; again is fine."""
        if self._ending is None:
            if not self._over.done():
                self._over.set_result(why)
            logger.info("the browser of %s ends: %s", self.key, why)
            self._ending = asyncio.create_task(self._take_down())
        await asyncio.shield(self._ending)

    # --- within ------------------------------------------------------------------------------------------------

    async def _put_up(self) -> None:
        parts = self._parts
        self.spec = spec = await asyncio.to_thread(
            helper_folder.make_folder,
            parts.folder,
            self._name,
            self._kind,
            self._image,
            {},
            time_s=self._limits.lives_s,
            max_bytes=MAX_FOLDER_BYTES,
            has_sockets=True,
        )
        assert spec.sockets is not None  # noqa: S101 - it was asked for
        self._gate = await asyncio.to_thread(parts.open_gate, self.key, spec)
        listening = bind_socket(spec.sockets, spec.uid, spec.gid, _SOCKET_NAME)
        self._server = await asyncio.start_unix_server(self._on_relay, sock=listening)
        self._lost_at = time.monotonic()
        self._helper = await asyncio.to_thread(parts.helpers.start_helper, spec)

    async def _take_down(self) -> None:
        """The way out goes first. What fails is logged, and keeps nothing else from going."""
        await self._close_gate()
        await self._keep_last()
        async with self._changing:  # whatever was being put up is up by now
            await self._close_gate()
            if self._server is not None:
                self._server.close()
            for task in self._tasks:
                task.cancel()
            await self._tried("letting go of the driver", self.driver.close())
            if self._helper is not None:
                await self._tried("removing the container", asyncio.to_thread(self._helper.stop))
            folder = asyncio.to_thread(helper_folder.remove_folder, self._parts.folder, self._name)
            await self._tried("removing the folder", folder)
        self._on_end(self)

    async def _keep_last(self) -> None:
        """What somebody needs of it is kept, where it answers; while it is paused, that was done before."""
        if self.is_ready and self._is_attended and not self._is_paused:
            await self._tried("keeping what is needed", self._parts.keep_last(self.key, self.driver))

    async def _close_gate(self) -> None:
        if self._gate is not None:
            await self._tried("closing the gate", asyncio.to_thread(self._gate.close))

    async def _tried(self, what: str, work: Awaitable[object]) -> None:
        try:
            await work
        except Unavailable as error:  # a container that is left is removed at the next start of ours
            logger.warning("%s of the browser of %s: %s", what, self.key, error.message)
        except Exception:  # the others of these are done all the same
            logger.exception("%s of the browser of %s broke", what, self.key)

    async def _on_relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection at a time: a second one is not the relay's, or is a moment too early."""
        self._callers += 1
        if self._callers >= self._limits.most_connections and not self.is_over:
            self._spawn(self.end(f"The browser's connection broke again and again. {AGAIN}"))
        if self._is_attended or self.is_over:
            writer.close()
            return
        self._is_attended, self._connections = True, self._connections + 1
        try:
            await self.driver.attend(reader, writer)
        finally:
            self._is_attended, self._lost_at = False, time.monotonic()
            self._stirred.set()
            writer.close()

    async def _race(self, work: Awaitable[T], *, within_s: float | None = None) -> T:
        """What comes of ``work``, unless the browser ends before. Raises BrowserEnded and TimeoutError."""
        task = asyncio.ensure_future(work)
        either: tuple[asyncio.Future[Any], ...] = (task, self._over)
        try:
            await asyncio.wait(either, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            if self._over.done():
                raise BrowserEnded(self.why_over)
            raise TimeoutError
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
                if not task.cancelled():
                    task.exception()  # looked at, so that nobody is warned of it

    async def _wake(self) -> None:
        async with self._changing:
            if self.is_over or self._helper is None:
                raise BrowserEnded(self.why_over or AGAIN)
            if not self._is_paused:
                return
            try:
                await asyncio.to_thread(self._helper.resume)
            except Unavailable:
                if not await self._look():
                    raise
            else:
                self._is_paused, self._lost_at = False, time.monotonic()
                self._stirred.set()
        if self.is_over:
            raise BrowserEnded(self.why_over)

    def _rest(self) -> None:
        if not self.is_over:
            self._spawn(self._pause())

    async def _pause(self) -> None:
        await asyncio.sleep(self._limits.lingers_s)
        if not self._holds and not self.is_over:
            await self._keep_last()
        async with self._changing:
            if self._holds or self._is_paused or self.is_over or self._helper is None:
                return
            try:
                # A call that comes meanwhile does not wait for tries that fail.
                self._is_paused = await asyncio.to_thread(self._helper.pause, is_wanted=lambda: not self._holds)
            except Unavailable as error:  # it is gone, which the watch notices, or runs on
                logger.warning("the browser of %s is not paused: %s", self.key, error.message)

    async def _watch(self) -> None:
        """Notices that it has ended, or does not come back."""
        while not self.is_over:
            self._stirred.clear()
            pause_s = _PAUSED_LOOK_S if self._is_paused else _LOOK_S if self._is_attended else _SEARCH_S
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stirred.wait(), pause_s)
            try:
                await self._look()
            except Unavailable as error:
                logger.warning("the browser of %s can't be looked at: %s", self.key, error.message)
            except Exception:  # the top of a task: the next look may do better
                logger.exception("a look at the browser of %s broke", self.key)
            lost_s = self._limits.reconnects_s if self.is_ready else self._limits.starts_s
            if not self._is_attended and not self._is_paused and time.monotonic() - self._lost_at > lost_s:
                self._spawn(self.end(f"The browser does not answer any more. {AGAIN}"))
                return

    async def _look(self) -> bool:
        """Whether it has ended. Raises Unavailable."""
        if self._helper is None or self.is_over:
            return self.is_over
        found = await asyncio.to_thread(self._helper.poll)
        if found is None:
            return self.is_over
        why = _REASONS[found] if found in _REASONS else await asyncio.to_thread(self._read_report)
        if not self._over.done():
            self._over.set_result(why)
        self._spawn(self.end(why))
        return True

    async def _learn_end(self, connections: int) -> str:
        """Why it has ended; empty when it is there and has connected again, or goes on for all that we know."""
        since = time.monotonic()
        while not self.is_over and self._connections == connections:
            waited_s = time.monotonic() - since
            if waited_s > (_TELLS_S if self._is_attended else self._limits.reconnects_s + _KEEPS_FROM_KNOWING_S):
                return ""  # its connection is there, so something else failed; or the engine keeps us from knowing
            await asyncio.sleep(_SEARCH_S / 2)
        return self.why_over

    def _read_report(self) -> str:
        """What the relay left of how Chromium ended: a stranger's word."""
        code: object = None
        try:
            assert self.spec is not None  # noqa: S101 - there was a container
            with helper_folder.open_result(self.spec.brought / "ended.json") as file:
                report = json.loads(file.read(_REPORT_BYTES))
            code = report.get("code") if isinstance(report, dict) else None
            logger.info("the browser of %s ended (%r) and said %.500r", self.key, code, report)
        except (OSError, ValueError, RecursionError):
            logger.info("the browser of %s ended and left no word of it", self.key)
        if code == _KILLED or code is None:
            return f"The browser was killed; most likely a page took all of its memory. {AGAIN}"
        return f"The browser ended by itself, as if a page had crashed it. {AGAIN}"

    def _spawn(self, work: Any) -> None:
        task: asyncio.Task[Any] = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
