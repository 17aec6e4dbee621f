"""One browser's DevTools protocol: commands out, answers and events in. Whoever sends is an adversary: a message is
bounded in size, depth and values, an unreadable one is skipped, and nothing that comes in ends the reading but the end
of the connection. The reading never waits for whoever listens."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from orchestrator.browser.faults import BrowserError, BrowserLost, BrowserRefused, BrowserSlow
from orchestrator.browser.fields import Fields, child_of, text_of
from orchestrator.core.errors import BadInput
from orchestrator.core.strict_json import read_object

MAX_MESSAGE_BYTES = 16 << 20
MAX_VALUES = 200_000
"""In one message, however nested."""
MAX_UNANSWERED = 1000
MAX_UNSENT_BYTES = 32 << 20
"""What the browser may leave unread before we hold it for gone."""
CALL_S = 30.0
MAX_MESSAGES_A_SECOND = 5000
MAX_BYTES_A_SECOND = 48 << 20
_PIECE_BYTES = 1 << 16
_ID = re.compile(rb'\s*\{\s*"id"\s*:\s*(\d{1,15})\s*[,}]')
_HALVES = re.compile(rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
"""A whole pair of surrogates, or half of one: what a page may put into any text."""

logger = logging.getLogger(__name__)

EventListener = Callable[[str, Fields, str], None]
"""Method, parameters and session of an event; called in order, and must not wait."""


class BrowserTransport(Protocol):
    """Whole messages, both ways."""

    is_relayed: bool
    """A relay of ours is at the other end, which says ``Relay.ready`` when it has told what is attached and open."""

    async def receive(self) -> tuple[bytes, bool]:
        """The next message and whether it is whole; of one that is too long only the beginning.

        Raises:
            BrowserLost: the connection is over.
        """

    def send(self, message: bytes) -> None:
        """Queue a message.

        Raises:
            BrowserLost: the connection is over, or the other end reads nothing.
        """

    def close(self) -> None:
        """End the connection; once more is fine."""


class PipeTransport:
    """Messages that end in a NUL byte, over a stream: the DevTools pipe, joined to a socket."""

    is_relayed = True

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._buffer = bytearray()
        self._searched = 0

    async def receive(self) -> tuple[bytes, bool]:
        """See ``BrowserTransport``."""
        head = b""
        while True:
            end = self._buffer.find(b"\0", self._searched)
            if end >= 0:
                message = head or bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                self._searched = 0
                return message, not head
            if len(self._buffer) > MAX_MESSAGE_BYTES:
                head = head or bytes(self._buffer[:64])
                self._buffer.clear()
            self._searched = len(self._buffer)
            try:
                piece = await self._reader.read(_PIECE_BYTES)
            except (OSError, ValueError) as error:
                raise BrowserLost("The connection to the browser was lost.") from error
            if not piece:
                raise BrowserLost("The browser has ended, or its connection was closed.")
            self._buffer += piece

    def send(self, message: bytes) -> None:
        """See ``BrowserTransport``."""
        if self._writer.is_closing() or self._writer.transport.get_write_buffer_size() > MAX_UNSENT_BYTES:
            self._writer.close()
            raise BrowserLost("The browser reads nothing any more.")
        self._writer.write(message + b"\0")

    def close(self) -> None:
        """See ``BrowserTransport``."""
        with contextlib.suppress(OSError, RuntimeError):
            self._writer.close()


class MessagePace:
    """How much of one browser is read in a second: a page can make it talk without end, and others have work to do."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._began = now()
        self._messages = self._bytes = 0

    def take(self, size: int) -> float:
        """A message of this many bytes was read; how many seconds to read none."""
        now = self._now()
        if now - self._began >= 1:
            self._began, self._messages, self._bytes = now, 0, 0
        self._messages += 1
        self._bytes += size
        is_much = self._messages > MAX_MESSAGES_A_SECOND or self._bytes > MAX_BYTES_A_SECOND
        return max(0.0, self._began + 1 - now) if is_much else 0.0


class Wire:
    """Commands and events of one browser, over one connection at a time; a newer one takes the place of the older."""

    def __init__(self, on_event: EventListener) -> None:
        self._on_event = on_event
        self._transport: BrowserTransport | None = None
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Fields]] = {}
        self.unreadable = 0
        """Messages that were skipped."""

    @property
    def is_up(self) -> bool:
        """There is a connection."""
        return self._transport is not None

    async def attend(self, transport: BrowserTransport) -> None:
        """Read until the connection ends; then every command that waits fails with ``BrowserLost``."""
        self.drop()
        self._transport = transport
        pace = MessagePace()
        try:
            while self._transport is transport:
                message, is_whole = await transport.receive()
                self._take(message, is_whole=is_whole)
                await asyncio.sleep(pace.take(len(message)))  # with 0, others have their turn nonetheless
        except BrowserLost as lost:
            if self._transport is transport:
                self._fail_all(lost.message)
        finally:
            if self._transport is transport:
                self.drop()
            transport.close()

    def drop(self) -> None:
        """End the connection, if there is one. A browser behind a relay stays, and the relay comes back."""
        old, self._transport = self._transport, None
        if old is not None:
            old.close()
        self._fail_all("The connection to the browser was lost.")

    async def call(
        self, method: str, session: str = "", params: Mapping[str, Any] | None = None, *, within_s: float = CALL_S
    ) -> Fields:
        """The answer to a command.

        Raises:
            BrowserLost: there is no connection, or it ended.
            BrowserSlow: no answer within ``within_s`` seconds.
            BrowserError: the browser refused.
        """
        try:
            return await asyncio.wait_for(self.post(method, session, params), within_s)
        except TimeoutError as error:
            raise BrowserSlow(f"The browser did not answer {method} within {within_s:g} seconds.") from error

    def post(self, method: str, session: str = "", params: Mapping[str, Any] | None = None) -> asyncio.Future[Fields]:
        """Send a command; its answer comes in the future. A future that is given up is forgotten.

        Raises:
            BrowserLost: there is no connection, or too much waits for an answer.
        """
        if self._transport is None:
            raise BrowserLost("No browser is connected.")
        if len(self._waiting) >= MAX_UNANSWERED:
            raise BrowserLost("The browser answers nothing any more.")
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": dict(params or {})}
        if session:
            message["sessionId"] = session
        self._transport.send(json.dumps(message).encode())
        future: asyncio.Future[Fields] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        future.add_done_callback(lambda done: self._settle(number, done))
        return future

    def tell(self, method: str, session: str = "", params: Mapping[str, Any] | None = None) -> None:
        """Send a command whose answer nobody needs, not even that it failed."""
        with contextlib.suppress(BrowserLost):
            self.post(method, session, params)

    def _settle(self, number: int, done: asyncio.Future[Fields]) -> None:
        self._waiting.pop(number, None)
        if not done.cancelled():
            done.exception()  # somebody has looked, so that nobody is warned of it

    def _take(self, body: bytes, *, is_whole: bool) -> None:
        try:
            message = _read(body) if is_whole else None
        except BadInput as error:
            logger.debug("a message of a browser can't be read: %s", error.message)
            message = None
        if message is None:
            self.unreadable += 1
            self._fail_unreadable(body)
            return
        number = message.get("id")
        if isinstance(number, int):
            self._answer(number, message)
        elif method := text_of(message, "method", most=100):
            self._on_event(method, child_of(message, "params"), text_of(message, "sessionId", most=100))

    def _answer(self, number: int, message: Fields) -> None:
        future = self._waiting.pop(number, None)
        if future is None or future.done():
            return
        if "error" in message:
            reason = text_of(message, "error", "message", most=500)
            future.set_exception(BrowserRefused(f"The browser refused: {reason or 'it gave no reason'}."))
        else:
            future.set_result(child_of(message, "result"))

    def _fail_unreadable(self, body: bytes) -> None:
        found = _ID.match(body)
        future = self._waiting.pop(int(found[1]), None) if found else None
        if future is not None and not future.done():
            future.set_exception(BrowserError("The browser's answer is too large or too deeply nested to be read."))

    def _fail_all(self, reason: str) -> None:
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(BrowserLost(reason))


def _read(body: bytes) -> Fields:
    if b"\\ud" in body or b"\\uD" in body:
        body = _HALVES.sub(lambda found: found[1] or rb"\ufffd", body)
    return read_object(body, max_items=MAX_VALUES)
