"""What a terminal printed and its page has not taken yet, and how fast more may come. This is all of the back-pressure:
who prints waits while the page is behind, the engine then waits for us, and the program inside for the engine."""

from __future__ import annotations

import threading
import time

from orchestrator.core.errors import BadInput

WINDOW_BYTES = 256 * 1024
"""How far a page may be behind."""
PIECE_BYTES = 32 * 1024
RATE = 1024 * 1024
"""Bytes a second that a terminal may print for long: more than anybody reads, and little for the machine."""
BURST_BYTES = 1024 * 1024


class Screen:
    """Bytes by their place in all that was ever printed. Any thread may print, look and confirm."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._start = 0
        self._is_closed = False
        self._changed = threading.Condition()  # protects all of the above

    def append_output(self, data: bytes) -> bool:
        """The page may have this; waits while it has not taken what came before. False when nobody looks any more."""
        with self._changed:
            while len(self._kept) >= WINDOW_BYTES and not self._is_closed:
                self._changed.wait()
            if self._is_closed:
                return False
            self._kept += data
            self._changed.notify_all()
            return True

    def read_after(self, place: int, timeout_s: float) -> bytes | None:
        """What was printed after a place, a piece of it; empty when nothing came in time, None when nothing ever will.
        Raises BadInput for a place that was confirmed, or that nobody has printed at."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            self._check_place(place)
            while True:
                found = bytes(self._kept[place - self._start : place - self._start + PIECE_BYTES])
                if found:
                    return found
                if self._is_closed:
                    return None
                left = deadline - time.monotonic()
                if left <= 0:
                    return b""
                self._changed.wait(left)
                self._check_place(place)

    def confirm_taken(self, place: int) -> None:
        """The page has everything before this place; confirmed already is fine. Raises BadInput."""
        with self._changed:
            if place > self._start + len(self._kept):
                raise BadInput("offset: nothing was printed there yet.")
            done = max(0, place - self._start)
            del self._kept[:done]
            self._start += done
            self._changed.notify_all()

    def close(self) -> None:
        """Nothing more is shown; what is there may still be taken."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _check_place(self, place: int) -> None:
        if not self._start <= place <= self._start + len(self._kept):
            raise BadInput("The place to go on from is no longer there. Open the terminal again.")


class OutputPace:
    """How long to wait after so many bytes. For one thread."""

    def __init__(self) -> None:
        self._left, self._at = float(BURST_BYTES), time.monotonic()

    def delay_for(self, count: int) -> float:
        """Seconds until more may come; mostly none."""
        now = time.monotonic()
        self._left = min(float(BURST_BYTES), self._left + (now - self._at) * RATE) - count
        self._at = now
        return max(0.0, -self._left / RATE)
