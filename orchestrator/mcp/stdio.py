"""MCP over two streams of bytes: one JSON message a line."""

from __future__ import annotations

from typing import Protocol

from orchestrator.mcp.faults import McpBroken
from orchestrator.mcp.messages import is_answer_to, read_message, too_large, write_message
from orchestrator.mcp.transport import Hear, JsonObject, McpClock, McpRequest

_SLICE_S = 0.25
"""How soon a stop is noticed while nothing comes."""


class ByteStream(Protocol):
    """Standard input and output of a program, wherever it runs. Used by one thread at a time."""

    def read(self, timeout_s: float) -> bytes:
        """What the program wrote: one byte at least, 64 KiB at most; ``b""`` when it ended. Raises TimeoutError when
        nothing came in that time, and OSError."""

    def write(self, data: bytes) -> None:
        """Give it all of this. Raises OSError, TimeoutError among them when the program does not take it within some
        seconds."""

    def close(self) -> None:
        """End the program. Never raises."""


class StdioTransport:
    """A server that is a program."""

    is_http = False
    hears_questions = True

    def __init__(self, stream: ByteStream, max_message: int = 4 << 20) -> None:
        self._stream = stream
        self._max_message = max_message
        self._buffer = bytearray()
        self._looked = 0
        """So far the buffer holds no end of a line."""

    def exchange(self, request: McpRequest, hear: Hear, clock: McpClock) -> JsonObject:
        """As `McpTransport.exchange`. A line that is no JSON object at all counts as a message: programs print
        greetings to where they should not."""
        self.notify(request, clock)
        wanted = request.message["id"]
        while True:
            line = self._next_line(clock)
            if not line.startswith(b"{"):
                hear({})
                continue
            message = read_message(line, self._max_message)
            if is_answer_to(message, wanted):
                return message
            if (reply := hear(message)) is not None:
                self._write(reply)

    def notify(self, request: McpRequest, clock: McpClock) -> None:
        """As `McpTransport.notify`."""
        clock.seconds_left()
        self._write(request.message)

    def close(self) -> None:
        """As `McpTransport.close`."""
        self._buffer.clear()
        self._stream.close()

    def _write(self, message: JsonObject) -> None:
        try:
            self._stream.write(write_message(message) + b"\n")
        except TimeoutError:
            raise McpBroken("The server does not read what it is sent, so it was ended. Try again.") from None
        except OSError:
            raise McpBroken("The server ended. Try again; what it wrote before may say why.") from None

    def _next_line(self, clock: McpClock) -> bytes:
        """The next line that is not empty."""
        while True:
            end = self._buffer.find(b"\n", self._looked)
            if end < 0:
                self._looked = len(self._buffer)
                if self._looked > self._max_message:
                    self._buffer.clear()
                    raise too_large(self._max_message)
                self._buffer += self._read(clock)
                continue
            line = bytes(memoryview(self._buffer)[:end]).strip()
            del self._buffer[: end + 1]
            self._looked = 0
            if line:
                return line
            clock.seconds_left()

    def _read(self, clock: McpClock) -> bytes:
        while True:
            try:
                piece = self._stream.read(min(clock.seconds_left(), _SLICE_S))
            except TimeoutError:
                continue
            except OSError:
                piece = b""
            if not piece:
                raise McpBroken("The server ended. Try again; what it wrote before may say why.")
            return piece
