"""Long polls: wake those of one cubicle and of no other, never miss a wake-up, and notice who hung up.

A listener waits on two descriptors, its own event and its client's connection. A crab that died is no listener any
more the moment its connection closes, so nobody counts on it.
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
        self._event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poller = select.poll()
        self._poller.register(self._event, select.POLLIN)
        if hang_up is not None:
            self._poller.register(hang_up, select.POLLRDHUP)

    def wait(self, deadline: float) -> bool:
        """Wait for a wake-up that was not seen yet; False when the monotonic ``deadline`` passes or the client
        hangs up.
        """
        left_ms = max(0.0, deadline - time.monotonic()) * 1000
        events = self._poller.poll(left_ms)
        if events != [(self._event, select.POLLIN)]:
            return False
        os.eventfd_read(self._event)
        return True

    def wake_up(self) -> None:
        """Wake this listener, now or when it next waits."""
        os.eventfd_write(self._event, 1)

    def close(self) -> None:
        """Let go of the descriptor."""
        os.close(self._event)


class LongPoll:
    """The listeners of every cubicle."""

    def __init__(self) -> None:
        self._waiters: dict[CubicleKey, set[Waiter]] = {}
        self._lock = threading.Lock()  # protects _waiters, and a waiter from being woken after it was closed

    @contextmanager
    def listening(self, key: CubicleKey, hang_up: int | None = None) -> Iterator[Waiter]:
        """Count as a listener meanwhile; no wake-up from now on is missed."""
        waiter = Waiter(hang_up)
        with self._lock:
            self._waiters.setdefault(key, set()).add(waiter)
        try:
            yield waiter
        finally:
            with self._lock:
                self._waiters[key].discard(waiter)
                if not self._waiters[key]:
                    del self._waiters[key]
                waiter.close()

    def wake_listeners(self, key: CubicleKey) -> bool:
        """Wake whoever listens; False when nobody does."""
        with self._lock:
            waiters = self._waiters.get(key, ())
            for waiter in waiters:
                waiter.wake_up()
            return bool(waiters)

    def wake_all(self) -> None:
        """Wake the listeners of every cubicle."""
        with self._lock:
            for waiters in self._waiters.values():
                for waiter in waiters:
                    waiter.wake_up()
