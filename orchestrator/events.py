"""News for whoever is watching: each subscriber has a bounded queue, and a slow one loses the oldest, never the
sender's time.

Events are hints to look again; the rows in the database are the truth.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable

from orchestrator.nouns import Event

_BACKLOG = 1000


class Subscription:
    """One watcher's queue."""

    def __init__(self) -> None:
        self._kinds: frozenset[str] | None = None
        self._queue: queue.Queue[Event | None] = queue.Queue(_BACKLOG)
        self._is_closed = threading.Event()

    @property
    def is_closed(self) -> bool:
        """Nothing will ever come again."""
        return self._is_closed.is_set()

    def narrow(self, kinds: Iterable[str] | None) -> None:
        """From now on only news of these kinds is wanted; of all kinds with None."""
        self._kinds = None if kinds is None else frozenset(kinds)

    def wants(self, kind: str) -> bool:
        """News of this kind is wanted here."""
        return self._kinds is None or kind in self._kinds

    def put(self, event: Event | None) -> None:
        """Add an event; when the watcher is too slow its oldest one goes."""
        while True:
            try:
                self._queue.put_nowait(event)
            except queue.Full:
                self._drop_oldest()
            else:
                return

    def get(self, timeout_s: float) -> Event | None:
        """The next event, or None when there was none in time or the broker was closed."""
        if self._is_closed.is_set():
            return None
        try:
            return self._queue.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def close(self) -> None:
        """Whoever waits, waits no longer."""
        self._is_closed.set()
        self.put(None)

    def _drop_oldest(self) -> None:
        try:
            self._queue.get_nowait()
        except queue.Empty:
            return


class Broker:
    """Hands each event to every subscriber who wants its kind."""

    def __init__(self) -> None:
        self._subscribers: set[Subscription] = set()
        self._lock = threading.Lock()  # protects _subscribers

    def publish(self, event: Event) -> None:
        """Tell everybody; returns at once."""
        with self._lock:
            subscribers = tuple(self._subscribers)
        for subscriber in subscribers:
            if subscriber.wants(event.kind):
                subscriber.put(event)

    def is_wanted(self, kind: str) -> bool:
        """Somebody listens, so that news of this kind, which only serves watching, is worth making."""
        with self._lock:
            return any(subscriber.wants(kind) for subscriber in self._subscribers)

    def close(self) -> None:
        """No news will come any more; everybody who waits is woken."""
        with self._lock:
            subscribers = tuple(self._subscribers)
        for subscriber in subscribers:
            subscriber.close()

    def subscribe(self, *kinds: str) -> Subscription:
        """Begin to listen, to news of these kinds or of all. Whoever subscribes must unsubscribe."""
        subscription = Subscription()
        subscription.narrow(kinds or None)
        with self._lock:
            self._subscribers.add(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Stop listening; again is fine."""
        with self._lock:
            self._subscribers.discard(subscription)
