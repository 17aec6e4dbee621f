"""Bells: wake the long polls of one cubicle without waking those of all, and never miss a ring in between."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.nouns import CubicleKey


class Bell:
    """One cubicle's bell."""

    def __init__(self) -> None:
        self._condition = threading.Condition()  # protects both counts
        self._rings = 0
        self._listeners = 0

    def ring(self) -> bool:
        """Wake whoever listens; False when nobody does."""
        with self._condition:
            self._rings += 1
            self._condition.notify_all()
            return self._listeners > 0

    @contextmanager
    def listening(self) -> Iterator[Ear]:
        """Count as a listener meanwhile; rings from now on are heard."""
        with self._condition:
            self._listeners += 1
            ear = Ear(self, self._rings)
        try:
            yield ear
        finally:
            with self._condition:
                self._listeners -= 1

    def await_ring(self, heard: int, deadline: float) -> int:
        """The number of rings, once it is above ``heard`` or the monotonic ``deadline`` has passed."""
        with self._condition:
            while self._rings <= heard and (left := deadline - time.monotonic()) > 0:
                self._condition.wait(left)
            return self._rings


class Ear:
    """A listener's memory of how many rings it has heard."""

    def __init__(self, bell: Bell, heard: int) -> None:
        self._bell = bell
        self._heard = heard

    def wait(self, deadline: float) -> bool:
        """Wait for a ring that was not heard yet; False when the monotonic ``deadline`` passes first."""
        now = self._bell.await_ring(self._heard, deadline)
        rang, self._heard = now > self._heard, now
        return rang


class Bells:
    """A bell for each cubicle, made when first needed."""

    def __init__(self) -> None:
        self._bells: dict[CubicleKey, Bell] = {}
        self._lock = threading.Lock()  # protects _bells

    def of(self, key: CubicleKey) -> Bell:
        """The cubicle's bell."""
        with self._lock:
            return self._bells.setdefault(key, Bell())
