"""What a cubicle's requests may hold of the host's memory at once. Each door has one of these."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.core.errors import TooMany

ALLOWANCE = "hermit.bodies"
"""Where a request's WSGI environment holds the allowance of the door that it came through."""

IN_FLIGHT_BYTES = 16 * 1024 * 1024
"""Two of the largest model calls: one that is under way, and one of a crab that was just restarted."""
LARGE_BYTES = 256 * 1024
"""A body above this takes milliseconds to read as JSON, and many times its size in memory."""
_WAIT_S = 15.0


class BodyAllowance:
    """Counts the bytes of one cubicle's requests from before they are read until they are answered."""

    def __init__(self, limit: int = IN_FLIGHT_BYTES, *, wait_s: float = _WAIT_S) -> None:
        """``limit``: bytes at once. ``wait_s``: how long a request waits in seconds for others to be answered."""
        self._limit, self._wait_s = limit, wait_s
        self._held = 0
        self._changed = threading.Condition()  # protects _held
        self._large = threading.Lock()  # held while one large body is received and read

    @contextmanager
    def hold(self, length: int) -> Iterator[None]:
        """Room for a body of so many bytes. Raises TooMany when there is none for too long."""
        deadline = time.monotonic() + self._wait_s
        with self._changed:
            while self._held and self._held + length > self._limit:
                if not self._changed.wait(deadline - time.monotonic()) and time.monotonic() >= deadline:
                    raise TooMany("This cubicle sends too much at once. Wait for the answers to its other requests.")
            self._held += length
        try:
            yield
        finally:
            with self._changed:
                self._held -= length
                self._changed.notify_all()

    @contextmanager
    def reading(self, length: int) -> Iterator[None]:
        """Receive and read a body of so many bytes; large ones one after another. Raises TooMany as ``hold`` does."""
        if length <= LARGE_BYTES:
            yield
            return
        if not self._large.acquire(timeout=self._wait_s):
            raise TooMany("This cubicle sends several large requests at once. Send them one after another.")
        try:
            yield
        finally:
            self._large.release()
