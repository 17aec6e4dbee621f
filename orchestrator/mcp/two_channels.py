"""MCP over HTTP as servers of 2024-11-05 speak it: one endless stream of events for what they say, and an address that
they name for what they are told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from orchestrator.mcp.events import McpEvent, McpEventReader
from orchestrator.mcp.faults import McpBroken, McpRefused
from orchestrator.mcp.messages import is_answer_to, read_message, write_message
from orchestrator.mcp.transport import Hear, JsonObject, McpClock, McpRequest
from orchestrator.mcp.wire import HttpWire
from orchestrator.web.body import FetchDeadline
from orchestrator.web.urls import Link


class _CurrentClock(FetchDeadline):
    """The clock of whatever is under way: the stream outlives each exchange."""

    def __init__(self, clock: McpClock) -> None:
        super().__init__(0.0, lambda: False)
        self.of_now = clock

    def seconds_left(self) -> float:
        return self.of_now.seconds_left()


class TwoChannels:
    """The stream of one server, and where it is written to."""

    def __init__(self, wire: HttpWire, max_message: int) -> None:
        self._wire, self._max_message = wire, max_message
        self._stack = ExitStack()
        self._events: Iterator[McpEvent] = iter(())
        self._clock: _CurrentClock | None = None
        self._target: Link | None = None

    def open(self, clock: McpClock) -> None:
        """Open the stream. Raises McpRefused when there is none, McpBroken, McpSlow."""
        self._clock = _CurrentClock(clock)
        with ExitStack() as stack:
            reply = stack.enter_context(
                self._wire.send("GET", {"Accept": "text/event-stream"}, self._clock, is_endless=True)
            )
            if reply.status != 200 or reply.content_type != "text/event-stream":
                raise McpRefused(-reply.status, "")
            self._events = McpEventReader(self._max_message).read(reply.pieces())
            first = next(self._events, None)
            if first is None or first.kind != "endpoint":
                raise McpBroken("The server did not say where it is written to.")
            self._target = self._wire.resolve(first.data.decode("utf-8", "replace").strip())
            self._stack = stack.pop_all()

    def exchange(self, request: McpRequest, hear: Hear, clock: McpClock) -> JsonObject:
        """As `McpTransport.exchange`."""
        self.notify(request, clock)
        wanted = request.message["id"]
        for event in self._events:
            if event.kind != "message":
                continue
            message = read_message(event.data, self._max_message)
            if is_answer_to(message, wanted):
                return message
            if (said := hear(message)) is not None:
                self._post(said, clock)
        raise McpBroken("The server ended the stream. Try again.")

    def notify(self, request: McpRequest, clock: McpClock) -> None:
        """As `McpTransport.notify`."""
        self._post(request.message, clock)

    def close(self) -> None:
        """End the stream. Never raises."""
        self._stack.close()

    def _post(self, message: JsonObject, clock: McpClock) -> None:
        if self._clock is None:
            raise McpBroken("The stream is not open.")
        self._clock.of_now = clock
        with self._wire.send("POST", {}, clock, body=write_message(message), link=self._target) as reply:
            if not 200 <= reply.status < 300:
                raise McpBroken(f"The server did not take a message (status {reply.status}). Try again.")
