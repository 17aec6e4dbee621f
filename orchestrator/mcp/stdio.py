"""MCP over two streams of bytes: one JSON message a line."""

from __future__ import annotations

from typing import Protocol

from orchestrator.mcp.transport import Hear, JsonObject, McpClock, McpRequest


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

    mirrors_arguments = False

    def __init__(self, stream: ByteStream, max_message: int = 4 << 20) -> None:
        raise NotImplementedError

    def exchange(self, request: McpRequest, hear: Hear, clock: McpClock) -> JsonObject:
        """As `McpTransport.exchange`."""
        raise NotImplementedError

    def notify(self, request: McpRequest, clock: McpClock) -> None:
        """As `McpTransport.notify`."""
        raise NotImplementedError

    def close(self) -> None:
        """As `McpTransport.close`."""
        raise NotImplementedError
