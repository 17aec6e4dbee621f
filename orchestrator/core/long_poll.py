"""Bells: wake the long polls of one cubicle without waking those of all, never miss a ring, and notice who hung up.

A listener waits on two descriptors, its own bell and its client's connection; a crab that died is no listener any more
the moment its connection closes, so nobody counts on it.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.core.models import CubicleKey


class Waiter:
    """One listener."""

    def __init__(self, hang_up: int | None) -> None:
        """``hang_up`` is the descriptor of the client's connection, where there is one."""
        self._rung = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poller = select.poll()
        self._poller.register(self._rung, select.POLLIN)
        if hang_up is not None:
            self._poller.register(hang_up, select.POLLRDHUP)

    def wait(self, deadline: float) -> bool:
        """Wait for a ring not heard yet; False when the monotonic ``deadline`` passes or the client hangs up."""
        left_ms = max(0.0, deadline - time.monotonic()) * 1000
        events = self._poller.poll(left_ms)
        if events != [(self._rung, select.POLLIN)]:
            return False
        os.eventfd_read(self._rung)
        return True

    def ring(self) -> None:
        """Wake this listener, now or when it next waits."""
        os.eventfd_write(self._rung, 1)

    def close(self) -> None:
        """Let go of the descriptor."""
        os.close(self._rung)


class LongPoll:
    """Every cubicle's bell."""

    def __init__(self) -> None:
        self._ears: dict[CubicleKey, set[Waiter]] = {}
        self._lock = threading.Lock()  # protects _ears, and an ear from being rung after it was closed

    @contextmanager
    def listening(self, key: CubicleKey, hang_up: int | None = None) -> Iterator[Waiter]:
        """Count as a listener meanwhile; rings from now on are heard."""
        ear = Waiter(hang_up)
        with self._lock:
            self._ears.setdefault(key, set()).add(ear)
        try:
            yield ear
        finally:
            with self._lock:
                self._ears[key].discard(ear)
                if not self._ears[key]:
                    del self._ears[key]
                ear.close()

    def ring(self, key: CubicleKey) -> bool:
        """Wake whoever listens; False when nobody does."""
        with self._lock:
            ears = self._ears.get(key, ())
            for ear in ears:
                ear.ring()
            return bool(ears)

    def ring_all(self) -> None:
        """Wake the listeners of every cubicle."""
        with self._lock:
            for ears in self._ears.values():
                for ear in ears:
                    ear.ring()
