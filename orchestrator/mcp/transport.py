"""How messages reach a server and come back: the seam between a session and its wire."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from orchestrator.core.errors import Stopped
from orchestrator.mcp.faults import McpSlow
from orchestrator.web.body import FetchDeadline

JsonObject = dict[str, Any]
Hear = Callable[[JsonObject], JsonObject | None]
"""What a message of the server's is given to that is no answer; what comes back is sent to it."""

_SLICE_S = 0.25
"""How soon a stop is noticed."""


class McpClock(FetchDeadline):
    """The time that is left for one exchange, and whether anybody still waits for it."""

    def __init__(self, total_s: float, should_stop: Callable[[], bool] | None = None) -> None:
        super().__init__(total_s, should_stop or (lambda: False))
        self._total = total_s
        self._until = time.monotonic() + total_s
        self._should_stop = should_stop
        self._paused_at: float | None = None
        self._failure: Exception | None = None

    def fail(self, error: Exception) -> None:
        """Nobody waits any more, for this reason: another thread found it."""
        self._failure = error

    def seconds_left(self) -> float:
        """Seconds. Raises Stopped, McpSlow when there are none, or why it failed."""
        if self._failure is not None:
            raise self._failure
        if self._should_stop is not None and self._should_stop():
            raise Stopped("The call was stopped.")
        left = self._until - (self._paused_at or time.monotonic())
        if left <= 0:
            raise McpSlow(f"The server did not answer within {self._total:,.3g} s. Try again, or give it more time.")
        return left

    def sleep(self, seconds: float) -> None:
        """Wait for so long, or until nobody waits any more. Raises as `seconds_left`."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, self.seconds_left(), _SLICE_S))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The time within does not count: a person is answering."""
        began = self._paused_at = time.monotonic()
        try:
            yield
        finally:
            self._until += time.monotonic() - began
            self._paused_at = None


@dataclass(frozen=True, slots=True)
class McpRequest:
    """One request as it goes out."""

    message: JsonObject
    version: str
    """Of the protocol; empty before one was agreed on."""
    is_modern: bool
    """Without sessions: each request says all about itself."""
    subject: str = ""
    """What it is about: a tool, a URI, a prompt. HTTP of the newest protocol names it in a header."""
    mirrored: Mapping[str, str] = field(default_factory=dict)
    """Headers made of arguments, which a tool's schema asks for."""


class McpTransport(Protocol):
    """One way to one server. Used by one thread at a time."""

    is_http: bool
    """Tools of the newest protocol may ask for arguments in headers, and closing the answer cancels."""

    hears_questions: bool
    """Servers of the older protocols can ask too."""

    def exchange(self, request: McpRequest, hear: Hear, clock: McpClock) -> JsonObject:
        """Send the request and wait for its answer: the message with its ``id``, not yet looked into. Raises McpSlow,
        McpBroken, McpUnauthorized, McpRefused (an HTTP status that says no, as a negative number) and Stopped."""

    def notify(self, request: McpRequest, clock: McpClock) -> None:
        """Send a message that has no answer. Raises McpBroken."""

    def close(self) -> None:
        """End it. Never raises."""
