"""Pages that make the browser talk without end: who does is found by counting, and is then listened to less, until it
shows another document. Otherwise every answer would stand in line behind the noise."""

from __future__ import annotations

import time
from collections.abc import Callable

MAX_EVENTS_A_SECOND = 2500
"""Of one page or frame's process. A page that loads five hundred things stays below."""
_LINE_WEIGHT = 8
"""A line of the console counts for so many: a page that loads much is common, one that writes hundreds of lines is
not."""
_LINES = frozenset({"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"})
NOISY_DOMAINS = ("Runtime", "Log", "Network")
"""What tells of the console and of requests."""


class NoiseMeter:
    """Counts events by session; forgets whoever is gone."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._began = now()
        self._counts: dict[str, int] = {}
        self._quieted: set[str] = set()

    def is_too_much(self, session: str, method: str) -> bool:
        """True at the event with which a session becomes too noisy; once, until it is let speak again."""
        now = self._now()
        if now - self._began >= 1:
            self._began, self._counts = now, {}
        self._counts[session] = self._counts.get(session, 0) + (_LINE_WEIGHT if method in _LINES else 1)
        if self._counts[session] <= MAX_EVENTS_A_SECOND or session in self._quieted:
            return False
        self._quieted.add(session)
        return True

    def is_ignored(self, session: str, method: str) -> bool:
        """What a noisy session had on the way before it was listened to less."""
        return session in self._quieted and method in _LINES

    def let_speak(self, session: str) -> bool:
        """It shows something new, or is gone; True where it was listened to less."""
        if session not in self._quieted:
            return False
        self._quieted.discard(session)
        return True
