"""Server-sent events, read from pieces of a body. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from orchestrator.mcp.faults import McpBroken
from orchestrator.mcp.messages import too_large

_MAX_ID = 1_000
_MAX_RETRY_S = 30.0
_MAX_IDLE_LINES = 100_000
"""Lines without an event in them: a server that is slow sends one now and then."""


@dataclass(frozen=True, slots=True)
class McpEvent:
    """One event."""

    kind: str
    """``message`` where it says nothing else."""
    data: bytes


class McpEventReader:
    """Reads the events of one stream, and remembers where to go on."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.last_id: str | None = None
        self.retry_s = 1.0

    def read(self, pieces: Iterable[bytes]) -> Iterator[McpEvent]:
        """The events with data. Raises McpBroken for one over the bound."""
        kind, size, idle = "", 0, 0
        data: list[bytes] = []
        for line in self._lines(pieces):
            idle += 1
            if idle > _MAX_IDLE_LINES:
                raise McpBroken("The server sent lines without end that say nothing, so it was ended.")
            if not line:
                if data:
                    yield McpEvent(kind or "message", b"\n".join(data))
                    idle = 0
                kind, data, size = "", [], 0
                continue
            name, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if name == b"data":
                size += len(value) + 1
                if size > self._max_bytes:
                    raise too_large(self._max_bytes)
                data.append(value)
            elif name == b"event":
                kind = value.decode("latin-1")[:100]
            else:
                self._note(name, value)

    def _note(self, name: bytes, value: bytes) -> None:
        if name == b"id" and len(value) <= _MAX_ID and value.isascii() and value.decode().isprintable():
            self.last_id = value.decode()
        elif name == b"retry" and value.isdigit() and len(value) < 10:
            self.retry_s = min(int(value) / 1000, _MAX_RETRY_S)

    def _lines(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        buffer, looked = bytearray(), 0
        for piece in pieces:
            buffer += piece
            start = 0
            while (end := buffer.find(b"\n", max(looked, start))) >= 0:
                yield bytes(memoryview(buffer)[start:end]).rstrip(b"\r")
                start = end + 1
            del buffer[:start]
            looked = len(buffer)
            if looked > self._max_bytes + 100:
                raise McpBroken("The server sent a line that is too long, so it was ended.")
