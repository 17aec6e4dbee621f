"""What a command prints while it runs, told to the host for whoever watches: the newest only, and never in the way.

Posts from a thread of its own, over a connection of its own, that live only while there is something to post: the loop
that reads the output never waits for the door, and what can't be posted is not missed, as the step's end tells it all.
"""

from __future__ import annotations

import _thread  # threading costs 2 ms of start and is not needed for a thread that nobody waits for

from crab.door import Door, DoorRefused

POST_TIMEOUT_S = 10.0


class OutputPoster:
    """Posts to one door, one at a time."""

    __slots__ = ("_is_busy", "_lock", "_next", "_path")

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = _thread.allocate_lock()  # protects the two below, between the loop and the thread
        self._next: tuple[str, dict[str, object]] | None = None
        self._is_busy = False

    def show_output(self, turn: int, n: int, text: str) -> None:
        """The step has printed this so far; returns at once. What waited to be posted is forgotten for it."""
        with self._lock:
            self._next = f"turns/{turn}/steps", {"n": n, "phase": "output", "output": text}
            if self._is_busy:
                return
            self._is_busy = True
        try:
            _thread.start_new_thread(self._post, ())
        except RuntimeError:
            self._is_busy = False  # the limit of processes is reached: the next one tries again

    def drop_output(self) -> None:
        """The command ended: nothing of it need be posted any more."""
        with self._lock:
            self._next = None

    def _post(self) -> None:
        try:
            with Door(self._path, patience_s=0) as door:
                while (waiting := self._take()) is not None:
                    door.post(waiting[0], waiting[1], timeout_s=POST_TIMEOUT_S)
        except (DoorRefused, OSError, MemoryError):
            self._is_busy = False

    def _take(self) -> tuple[str, dict[str, object]] | None:
        with self._lock:
            waiting, self._next = self._next, None
            self._is_busy = waiting is not None
        return waiting
