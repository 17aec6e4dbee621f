"""One window in which a person watches a browser. It says which pictures it has shown, and a few more may come; a slow
one misses pictures, and none are kept for it.
"""

from __future__ import annotations

import secrets
import threading

MOST_UNSEEN = 3
"""Pictures on their way to one window."""


class ViewWindow:
    """One window. Any thread may call."""

    def __init__(self) -> None:
        self.id = secrets.token_hex(8)
        self._changed = threading.Condition()  # protects all below
        self._sent = self._seen = 0
        self._why = ""

    @property
    def why_over(self) -> str:
        """Why nothing more comes; empty while something does."""
        return self._why

    @property
    def has_sent(self) -> bool:
        """A picture was sent, ever."""
        return self._sent > 0

    def wait_room(self, within_s: float) -> bool:
        """A picture may be sent; False where none may after so many seconds, or nothing more comes."""
        with self._changed:
            self._changed.wait_for(lambda: self._why or self._sent - self._seen < MOST_UNSEEN, within_s)
            return not self._why and self._sent - self._seen < MOST_UNSEEN

    def count_picture(self) -> int:
        """One is sent; its number."""
        with self._changed:
            self._sent += 1
            return self._sent

    def confirm(self, number: int) -> None:
        """All up to this one were shown."""
        with self._changed:
            self._seen = max(self._seen, min(number, self._sent))
            self._changed.notify_all()

    def end(self, why: str) -> None:
        """Nothing more comes; the first reason stays."""
        with self._changed:
            self._why = self._why or why
            self._changed.notify_all()
