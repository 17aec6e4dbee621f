"""How much the browser of one cubicle sent to each host in a task, and how much more it may: after so much a person is
asked again. Normal pages send some 500 bytes with a request.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping

from orchestrator.web.sites import find_site, is_within

MOST_BYTES = 2_000_000
"""To one host, in one turn, after each yes."""
_MARGIN = 65_536
"""What is refused is so much below the limit at most: a piece of a request."""


class SentBytes:
    """Counts, over all gates of one turn. Any thread may call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # protects all below
        self._turn: int | None = None
        self._before: Mapping[str, int] = {}
        """By host: what had gone through the gate of now when the turn began."""
        self._carried: Counter[str] = Counter()
        """What went through gates that are closed, in this turn."""
        self._now: Mapping[str, int] = {}
        self._more: Counter[str] = Counter()
        """By site: how often a person said yes to more."""
        self._files: Counter[str] = Counter()
        """By host: bytes of files that a person agreed to."""

    def begin_turn(self, turn: int | None) -> None:
        """A call belongs to this turn; another one than before begins anew."""
        with self._lock:
            if turn != self._turn:
                self._turn, self._before = turn, self._now
                self._carried.clear()
                self._more.clear()
                self._files.clear()

    def set_usage(self, sent: Mapping[str, int]) -> None:
        """So many bytes went through the gate of now, by host."""
        with self._lock:
            self._now = dict(sent)

    def change_gate(self) -> None:
        """A new gate begins at nothing; what was sent before still counts."""
        with self._lock:
            self._carried = Counter({host: self._sent(host) for host in {*self._now, *self._carried}})
            self._now = self._before = {}

    def most_up(self, host: str) -> int:
        """How many bytes may go to this host through the gate of now, in all."""
        with self._lock:
            return self._most_up(host)

    def is_spent(self, site: str) -> bool:
        """To some host of the site nothing more can be sent."""
        with self._lock:
            hosts = [host for host in self._now if is_within(host, site)]
            return any(self._now[host] > self._most_up(host) - _MARGIN for host in hosts)

    def allow_more(self, site: str) -> None:
        """A person agreed to as much again."""
        with self._lock:
            self._more[site] += 1

    def allow_files(self, host: str, size_bytes: int) -> None:
        """A person agreed that this host gets files, which take so many bytes on their way."""
        with self._lock:
            self._files[host] += size_bytes

    def _sent(self, host: str) -> int:
        return self._carried[host] + self._now.get(host, 0) - self._before.get(host, 0)

    def _most_up(self, host: str) -> int:
        times = 1 + self._more[find_site(host, frozenset(self._more))] if self._more else 1
        return max(0, MOST_BYTES * times + self._files[host] - self._carried[host]) + self._before.get(host, 0)
