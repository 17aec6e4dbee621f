"""The second stream on which servers of the older protocols ask questions: opened beside the calls, read by a thread of
its own, for sessions in which a person answers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

from orchestrator.core.errors import OrchestratorError
from orchestrator.mcp.events import McpEventReader
from orchestrator.mcp.faults import McpBroken
from orchestrator.mcp.messages import read_message
from orchestrator.mcp.transport import Hear, JsonObject, McpClock
from orchestrator.mcp.wire import HttpWire

logger = logging.getLogger(__name__)

_LIFE_S = 24 * 3600.0
_END_S = 2.0
_MAX_IDLE_MESSAGES = 1_000
"""While no call is under way."""


class SideStream:
    """One server's second stream, from `start` to `close`."""

    def __init__(
        self, wire: HttpWire, headers: Mapping[str, str], max_message: int, post: Callable[[JsonObject], None]
    ) -> None:
        """``post`` sends what is answered."""
        self._wire, self._headers, self._max_message, self._post = wire, dict(headers), max_message, post
        self._lock = threading.Lock()
        self._call: tuple[Hear, McpClock] | None = None
        self._idle = 0
        self._ended = threading.Event()
        self._is_open = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mcp-side-stream", daemon=True)

    def start(self, clock: McpClock) -> None:
        """Open it, and wait until it is open or the server has none."""
        self._thread.start()
        self._is_open.wait(clock.seconds_left())

    def begin_call(self, hear: Hear, clock: McpClock) -> Hear:
        """What comes now belongs to this call. Gives what the call itself hears with: one of the two at a time."""

        def hear_alone(message: JsonObject) -> JsonObject | None:
            with self._lock:
                return hear(message)

        with self._lock:
            self._call, self._idle = (hear, clock), 0
        return hear_alone

    def end_call(self) -> None:
        """What comes now belongs to none."""
        with self._lock:
            self._call = None

    def close(self) -> None:
        """End it. Never raises."""
        self._ended.set()
        self._thread.join(_END_S)

    def _run(self) -> None:
        headers = {"Accept": "text/event-stream", **self._headers}
        clock = McpClock(_LIFE_S, self._ended.is_set)
        try:
            with self._wire.send("GET", headers, clock, is_endless=True) as reply:
                self._is_open.set()
                if reply.status == 200 and reply.content_type == "text/event-stream":
                    for event in McpEventReader(self._max_message).read(reply.pieces()):
                        if event.kind == "message" and event.data.strip():
                            self._hear(read_message(event.data, self._max_message))
        except OrchestratorError as error:
            logger.info("mcp: the second stream of %s ended: %s", self._wire.link.host, error.code)
        finally:
            self._is_open.set()

    def _hear(self, message: JsonObject) -> None:
        with self._lock:
            if self._call is None:
                self._idle += 1
                if self._idle > _MAX_IDLE_MESSAGES:
                    raise McpBroken("The server says too much between calls.")
                return
            hear, clock = self._call
            try:
                said = hear(message)
            except Exception as error:
                clock.fail(error)
                raise
        if said is not None:
            self._post(said)
