"""How many files each person may have on their way at once. A large one holds a thread, and a copy on the host's disk,
for as long as it takes.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

from flask import Flask, current_app

from orchestrator.core.errors import TooMany

MOST = 8
_KEY = "hermitshell.transfers"


class Transfers:
    """Everybody's."""

    def __init__(self) -> None:
        self._under_way: Counter[int] = Counter()
        self._lock = threading.Lock()  # protects _under_way

    def begin_transfer(self, user: int) -> Callable[[], None]:
        """One more for this person; what is returned ends it, once. Raises TooMany."""
        with self._lock:
            if self._under_way[user] >= MOST:
                raise TooMany(f"{MOST} files are on their way for you already. Wait until one has arrived.")
            self._under_way[user] += 1
        ended = threading.Event()

        def end() -> None:
            with self._lock:
                if not ended.is_set():
                    ended.set()
                    self._under_way[user] -= 1

        return end


def attach_transfers(app: Flask) -> None:
    """Requests to ``app`` are counted together."""
    app.extensions[_KEY] = Transfers()


def get_transfers() -> Transfers:
    """Those of the current request's application."""
    found = current_app.extensions[_KEY]
    assert isinstance(found, Transfers)  # noqa: S101 - ``attach_transfers`` put it there
    return found
