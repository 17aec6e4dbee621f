"""What was done in a run, and how people outside saw it: written by many threads while it happens, read afterwards."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Record:
    """The run, seen from outside."""

    said: dict[str, int | None] = field(default_factory=dict)
    """Each case that was said; the turn, where an answer said which."""
    phoned: dict[str, int] = field(default_factory=dict)
    """Each case that was said on Telegram; the number of the message."""
    entered: set[str] = field(default_factory=set)
    """Each case that was put into the calendar by the API."""
    decided: dict[str, list[str]] = field(default_factory=dict)
    """What was answered to a question about a case, and how."""
    faults: Counter[str] = field(default_factory=Counter)
    """Those that really happened."""
    did: list[str] = field(default_factory=list)
    """In words, in order."""
    refunds: list[str] = field(default_factory=list)
    """Days whose sums were seen to sink."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, change: Callable[[], object]) -> None:
        """Change something in here."""
        with self._lock:
            change()
