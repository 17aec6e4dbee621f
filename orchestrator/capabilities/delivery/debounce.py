"""Debounce: when a name in an outbox folder has been quiet for so long that it can be taken. Pure: it is told what
happened and what time it is (monotonic seconds).

A rename says that the file is whole. A close may be one of many, when a program opens the file again for each line: so
a close waits a moment, and longer where closes came in slow succession, unless the command that wrote it has ended.
What can't be taken yet is tried again, ever less often.
"""

from __future__ import annotations

from dataclasses import dataclass

QUIET_S = 1.2
"""How long after a close nothing more may happen."""
LONGEST_QUIET_S = 10.0
_GAPS = 3.0
"""Where closes follow each other, so many times the longest pause between them is waited."""
FIRST_TRY_S, LAST_TRY_S = 0.5, 60.0
MOST = 5_000
"""Names that are waited for in one outbox folder; of more, the outbox folder is looked through instead."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A name to be looked at now."""

    name: bytes
    found_at: float
    """When it was first heard of, in Unix seconds."""
    asked: int | None
    """The turn that asked for it by name."""


@dataclass(slots=True)
class _Waiting:
    found_at: float
    due: float
    heard: float | None = None
    asked: int | None = None
    gap: float = 0.0
    tries: int = 0


class Debouncer:
    """What one outbox folder waits for."""

    def __init__(self) -> None:
        self._waiting: dict[bytes, _Waiting] = {}
        self.is_overrun = False
        """More happened than is remembered: the outbox folder must be looked through."""

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, name: object) -> bool:
        return name in self._waiting

    def on_created(self, name: bytes, now: float, *, at: float) -> None:
        """Something was created, or closed after writing."""
        entry = self._entry(name, now, at)
        if entry is None:
            return
        if entry.heard is not None:
            entry.gap = max(entry.gap, now - entry.heard)
        entry.heard, entry.tries = now, 0
        entry.due = now + min(max(QUIET_S, entry.gap * _GAPS), LONGEST_QUIET_S)

    def on_complete(self, name: bytes, now: float, *, at: float, asked: int | None = None) -> None:
        """It was renamed to this name, found on the disk quiet long since, or asked for: to be looked at at once."""
        entry = self._entry(name, now, at)
        if entry is None:
            return
        entry.due = now
        entry.asked = asked if asked is not None else entry.asked

    def hurry_all(self, now: float) -> None:
        """Whoever wrote has ended: what waits only for quiet is due. What could not be taken waits as before."""
        for entry in self._waiting.values():
            if not entry.tries:
                entry.due = min(entry.due, now)

    def retry_later(self, ready: Ready, now: float, tries: int) -> None:
        """It could not be taken yet; for the ``tries``-th time."""
        entry = self._entry(ready.name, now, ready.found_at)
        if entry is None:
            return
        entry.found_at, entry.tries = min(entry.found_at, ready.found_at), tries
        entry.asked = ready.asked if entry.asked is None else entry.asked
        entry.due = max(entry.due, now + min(FIRST_TRY_S * 2 ** min(tries - 1, 10), LAST_TRY_S))

    def tries_of(self, name: bytes) -> int:
        """How often it was tried in vain."""
        entry = self._waiting.get(name)
        return 0 if entry is None else entry.tries

    def take_due(self, now: float) -> tuple[Ready, int] | None:
        """A name that is due, and how often it was tried; it is waited for no longer."""
        for name, entry in self._waiting.items():
            if entry.due <= now:
                del self._waiting[name]
                return Ready(name, entry.found_at, entry.asked), entry.tries
        return None

    def next_due(self) -> float | None:
        """When the next name is due."""
        return min((entry.due for entry in self._waiting.values()), default=None)

    def oldest_since(self) -> float | None:
        """Since when, in Unix seconds, something is waited for."""
        return min((entry.found_at for entry in self._waiting.values()), default=None)

    def clear_pending(self) -> None:
        """Wait for nothing; what was asked for by name stays."""
        self._waiting = {name: entry for name, entry in self._waiting.items() if entry.asked is not None}
        self.is_overrun = False

    def _entry(self, name: bytes, now: float, at: float) -> _Waiting | None:
        entry = self._waiting.get(name)
        if entry is not None:
            return entry
        if len(self._waiting) >= MOST:
            self.is_overrun = True
            return None
        entry = self._waiting[name] = _Waiting(found_at=at, due=now)
        return entry
