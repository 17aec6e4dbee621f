"""The limits of live browsers, and what they ask of the gate and of the driver."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from orchestrator.core.errors import Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.engine.helpers import HelperKind, HelperSpec
from orchestrator.engine.protocol import HelperEngine

MAX_UPLOAD_BYTES = MAX_DOWNLOAD_BYTES = 100 << 20
MAX_FOLDER_BYTES = 128 << 20
"""What may lie in a browser's folder for downloads before it is ended."""


class BrowserEnded(Unavailable):
    """The browser is gone, and its pages with it; the message says why, and that the next call starts another."""

    code = "browser_ended"


class OpenedGate(Protocol):
    """The way out of one browser's container."""

    def close(self) -> None:
        """Nothing gets out any more; what is under way is cut; again is fine. Called from a thread of its own."""


class Driver(Protocol):
    """Whatever speaks with one browser. It outlives the connections to it, and lives in the browsers' loop."""

    async def attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Reads from this connection until it ends, and raises nothing that comes of it."""

    async def wait_ready(self, within_s: float) -> None:
        """Returns when the browser takes commands, at once or after the next connection. Raises an OrchestratorError
        when it does not within so many seconds."""

    async def close(self) -> None:
        """The browser is gone."""


T = TypeVar("T")
DriverT = TypeVar("DriverT", bound=Driver)


class LiveBrowser(Protocol[DriverT]):
    """One browser, wherever it is; everything of it runs in the browsers' loop."""

    key: CubicleKey
    driver: DriverT
    idle_since: float
    is_ready: bool
    spec: HelperSpec | None
    """Its container, where it has one."""

    @property
    def is_over(self) -> bool:
        """It has ended, or ends."""

    @property
    def why_over(self) -> str:
        """Why it has ended; empty while it lives."""

    @property
    def is_busy(self) -> bool:
        """Somebody needs it."""

    async def start(self) -> None:
        """It takes commands. Raises Unavailable, and then nothing is left of it."""

    async def call(self, work: Callable[[DriverT], Awaitable[T]]) -> T:
        """What ``work`` makes of the driver, with the browser awake. Raises what it raises, and BrowserEnded."""

    def hold(self) -> AbstractAsyncContextManager[None]:
        """It is awake within. Raises Unavailable or BrowserEnded."""

    async def end(self, why: str) -> None:
        """Nothing of it is left when this returns; again is fine."""


async def _keep_nothing(_key: CubicleKey, _driver: object) -> None:
    """Nobody needs anything of it."""


@dataclass(frozen=True, slots=True)
class BrowserLimits:
    """Of the live browsers of one install. Times are in seconds."""

    most: int = 4
    """Alive at once."""
    starts_s: float = 30.0
    """From the container's start until it takes commands."""
    reconnects_s: float = 10.0
    """Without a connection, before it is given up."""
    most_connections: int = 200
    """Of one browser, one after the other; one that calls more often than that is broken, or besieges us."""
    lingers_s: float = 0.5
    """How long it runs on after a call, so that one that follows at once finds it awake."""
    idle_s: float = 600.0
    """Without a call, before it ends."""
    lives_s: float = 8 * 3600.0
    """In all."""


DEFAULT_LIMITS = BrowserLimits()


@dataclass(frozen=True, slots=True)
class RemoteParts(Generic[DriverT]):
    """What browsers at a place of somebody else's are made with, instead of containers. Called in its loop."""

    attend: Callable[[CubicleKey, DriverT], Awaitable[None]]
    """Connects a driver, and returns when its connection has ended. Raises Unavailable where there is none to be had,
    and BrowserEnded where none will help any more."""
    leave: Callable[[CubicleKey, DriverT], Awaitable[None]]
    """Nothing of this cubicle is left there, as far as it answers. Raises Unavailable or BrowserError."""
    clear: Callable[[], None]
    """Nothing is left there of a run that died. Called from a thread of its own, and raises nothing."""


@dataclass(frozen=True, slots=True)
class BrowserParts(Generic[DriverT]):
    """What live browsers are made with."""

    helpers: HelperEngine
    folder: Path
    """Private to them."""
    image: Callable[[], str]
    """Its name; built first where it is missing, which takes minutes. Raises Unavailable."""
    choose_kind: Callable[[str], HelperKind]
    """Which kind of helper browsers of an image are: with Chromium's own sandbox or without. Raises Unavailable."""
    open_gate: Callable[[CubicleKey, HelperSpec], OpenedGate]
    """Listens at ``gate.sock`` in the folder of this helper's sockets, for its user alone. Called from a thread of its
    own. Raises OSError or Unavailable."""
    make_driver: Callable[[CubicleKey], DriverT]
    """A driver for a browser that is being started; called in the browsers' loop."""
    is_awaited: Callable[[CubicleKey], bool] = lambda _: False
    """Somebody will need the pages that are open: it is not ended for being idle. Called from a thread of its own.
    Raises Unavailable."""
    keep_last: Callable[[CubicleKey, DriverT], Awaitable[None]] = _keep_nothing
    """Keeps what it needs of a browser that is about to be paused or ended, while it still answers; in the browsers'
    loop. It bounds its own waits."""
    remote: RemoteParts[DriverT] | None = None
    """Where it is given, browsers are there, and none is in a container."""
