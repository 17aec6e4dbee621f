"""What was read once and holds until it is forgotten."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Cache(Generic[K, V]):
    """Thread-safe. Nobody waits for what another thread reads: two may read, and the first value is kept."""

    def __init__(self, *, most: int | None = None) -> None:
        """``most`` values are kept, the latest read."""
        self._most = most
        self._values: OrderedDict[K, V] = OrderedDict()
        self._changes = 0
        self._lock = threading.Lock()  # protects _values and _changes

    def get(self, key: K, read: Callable[[], V]) -> V:
        """The value that is known, or else what ``read`` returns. What was read while something was forgotten may be
        old already: it is returned this once, and not kept. What ``read`` raises is raised."""
        with self._lock:
            if key in self._values:
                return self._values[key]
            changes = self._changes
        value = read()
        with self._lock:
            if changes == self._changes:
                value = self._values.setdefault(key, value)
                if self._most is not None and len(self._values) > self._most:
                    self._values.popitem(last=False)
        return value

    def forget(self, key: K) -> None:
        """It has changed; the next who asks reads it again."""
        with self._lock:
            self._changes += 1
            self._values.pop(key, None)
