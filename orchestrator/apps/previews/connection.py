"""One connection of a browser to the preview origin: requests in, answers out, by h11. It bounds heads, times and
bodies; what is asked and answered is other modules' business.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import BinaryIO

import h11

MAX_HEAD_BYTES = 32 * 1024
MAX_BODY_BYTES = 64 * 1024 * 1024
IDLE_S = 75.0
READ_S = 30.0
"""For the rest of a head that has begun, and for each piece of a body."""
WRITE_S = 60.0
"""For each piece that a browser takes."""
_PIECE = 64 * 1024
_MOST_REST_BYTES = 1024 * 1024

Headers = Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """The head of a request."""

    method: str
    target: bytes
    """As it came: path and query."""
    headers: tuple[tuple[bytes, bytes], ...]
    """Names in small letters."""

    @property
    def path(self) -> bytes:
        """Without the query."""
        return self.target.partition(b"?")[0]

    @property
    def query(self) -> bytes:
        """Behind the question mark."""
        return self.target.partition(b"?")[2]

    def header(self, name: str) -> str:
        """A header's value, empty where there is none; several of one name are joined."""
        wanted = name.encode("ascii")
        return ", ".join(value.decode("latin-1") for key, value in self.headers if key == wanted)


class PreviewConnection:
    """The connection, used by one task."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._has_begun = False

    async def next_request(self) -> PreviewRequest | None:
        """The next request's head; None when the browser is gone or has been silent. Raises h11.RemoteProtocolError for
        what is no HTTP."""
        if self._has_begun and not await self._is_ready_again():
            return None
        try:
            event = await self._next_event(IDLE_S)
        except TimeoutError:
            return None
        if not isinstance(event, h11.Request):
            return None
        return PreviewRequest(event.method.decode("ascii"), event.target, tuple(event.headers))

    async def read_body(self) -> AsyncIterator[bytes]:
        """The request's body, piece by piece. Raises ValueError when it is too large, TimeoutError, or
        h11.RemoteProtocolError when it breaks off."""
        if self._http.they_are_waiting_for_100_continue:
            await self._send_event(h11.InformationalResponse(status_code=100, headers=[]))
        size = 0
        while True:
            event = await self._next_event(READ_S)
            if isinstance(event, h11.Data):
                size += len(event.data)
                if size > MAX_BODY_BYTES:
                    raise ValueError("the body is too large")
                yield bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return
            else:
                raise h11.RemoteProtocolError("the request broke off")

    async def _is_ready_again(self) -> bool:
        """The answer and the request before are over, so that another can follow. A short rest of the request that
        nobody wanted is heard out: closed on, a browser may lose the answer."""
        rest = 0
        try:
            while self._http.their_state is h11.SEND_BODY and rest <= _MOST_REST_BYTES:
                event = await self._next_event(READ_S)
                rest += len(event.data) if isinstance(event, h11.Data) else 0
        except TimeoutError:
            return False
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        self._has_begun = False
        return True

    async def send_answer(self, status: int, headers: Headers, body: bytes = b"", *, is_head: bool = False) -> None:
        """A whole answer."""
        self._has_begun = True
        found = [*headers, ("Content-Length", str(len(body)))]
        events: list[h11.Event] = [h11.Response(status_code=status, headers=_encoded(found)), h11.EndOfMessage()]
        if body and not is_head:
            events.insert(1, h11.Data(data=body))
        await self._send_event(*events)  # at once: one packet where it is small

    async def answer_file(self, status: int, headers: Headers, file: BinaryIO, offset: int, count: int) -> None:
        """A part of an open file, straight from the disk to the network. A file that became shorter meanwhile ends the
        connection, as its length was said already."""
        await self.begin_answer(status, [*headers, ("Content-Length", str(count))])
        if count:
            self._http.send_with_data_passthrough(h11.Data(data=_Length(count)))  # type: ignore[arg-type]  # h11 takes all that has a length
            loop = asyncio.get_running_loop()
            async with asyncio.timeout(WRITE_S + count / 10_000):  # a pace that every phone has
                sent = await loop.sendfile(self.writer.transport, file, offset, count)
            if sent < count:
                raise ConnectionAbortedError("the file became shorter")
        await self.end_answer()

    async def begin_answer(self, status: int, headers: Headers) -> None:
        """The head of an answer; without a length its body is chunked."""
        self._has_begun = True
        await self._send_event(h11.Response(status_code=status, headers=_encoded(headers)))

    async def send_piece(self, data: bytes) -> None:
        """A piece of the body."""
        await self._send_event(h11.Data(data=data))

    async def end_answer(self) -> None:
        """The answer is complete."""
        await self._send_event(h11.EndOfMessage())

    async def switch_protocol(self, headers: Headers) -> bytes:
        """Agree to another protocol: what the browser sent of it already. From then on ``reader`` and ``writer`` are
        plain streams."""
        await self._send_event(h11.InformationalResponse(status_code=101, headers=_encoded(headers)))
        return self._http.trailing_data[0]

    @property
    def has_answered(self) -> bool:
        """An answer was begun, so that no other can be given."""
        return self._has_begun

    async def _next_event(self, first_s: float) -> object:
        patience_s = first_s
        while (event := self._http.next_event()) is h11.NEED_DATA:
            async with asyncio.timeout(patience_s):
                self._http.receive_data(await self.reader.read(_PIECE))
            patience_s = READ_S
        return event

    async def _send_event(self, *events: h11.Event) -> None:
        data = b"".join(self._http.send(event) or b"" for event in events)
        if not data:
            return
        self.writer.write(data)
        if self.writer.transport.get_write_buffer_size() or self.writer.transport.is_closing():
            async with asyncio.timeout(WRITE_S):
                await self.writer.drain()


def _encoded(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers]


class _Length:
    """Stands for bytes that go out by another way, so that h11 can count them."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __len__(self) -> int:
        return self._length
