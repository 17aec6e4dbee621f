"""News for whoever is watching: each subscriber has a bounded queue, and a slow one loses the oldest, never the
sender's time.

Events are hints to look again; the rows in the database are the truth.
"""

from __future__ import annotations

import hashlib
import queue
import secrets
import threading
from collections.abc import Iterable
from typing import Any

from orchestrator.core.models import Event

LIVE = frozenset({"delta", "output"})
"""News of what is only coming: each tells all that the one before it told, so a slow watcher gets the newest alone."""
_BACKLOG = 1000


class _Place:
    """A place in a queue for the newest of some live news; empty once it was taken."""

    __slots__ = ("event", "key")

    def __init__(self, key: tuple[str, Any], event: Event) -> None:
        self.key = key
        self.event: Event | None = event


class Subscription:
    """One watcher's queue."""

    def __init__(self, *, is_of_all: bool = False) -> None:
        self.is_of_all = is_of_all
        """It was made for all news."""
        self._kinds: frozenset[str] | None = None
        self._queue: queue.Queue[Event | _Place | None] = queue.Queue(_BACKLOG)
        self._places: dict[tuple[str, Any], _Place] = {}
        self._lock = threading.Lock()  # protects _places and what is in them
        self._is_closed = threading.Event()

    @property
    def is_closed(self) -> bool:
        """Nothing will ever come again."""
        return self._is_closed.is_set()

    def set_kinds(self, kinds: Iterable[str] | None) -> None:
        """From now on only news of these kinds is wanted; of all kinds with None."""
        self._kinds = None if kinds is None else frozenset(kinds)

    def wants(self, kind: str) -> bool:
        """News of this kind is wanted here."""
        return self._kinds is None or kind in self._kinds

    def put(self, event: Event) -> None:
        """Add an event; when the watcher is too slow its oldest one goes."""
        entry = self._placed(event)
        if entry is not None:
            self._enqueue(entry)

    def get(self, timeout_s: float) -> Event | None:
        """The next event, or None when there was none in time or the broker was closed."""
        if self._is_closed.is_set():
            return None
        try:
            entry = self._queue.get(timeout=timeout_s)
        except queue.Empty:
            return None
        return self._taken(entry) if isinstance(entry, _Place) else entry

    def close(self) -> None:
        """Whoever waits, waits no longer."""
        self._is_closed.set()
        self._enqueue(None)

    def _placed(self, event: Event) -> Event | _Place | None:
        """What to queue: None where the event took the place of one that nobody has fetched yet."""
        turn = event.body.get("turn")
        with self._lock:
            if event.kind not in LIVE:
                for kind in LIVE:  # what comes now comes after this
                    self._places.pop((kind, turn), None)
                return event
            place = self._places.get((event.kind, turn))
            if place is not None:
                place.event = event
                return None
            place = _Place((event.kind, turn), event)
            self._places[place.key] = place
        return place

    def _taken(self, place: _Place) -> Event | None:
        """What stood in the place, which is given up."""
        with self._lock:
            if self._places.get(place.key) is place:
                del self._places[place.key]
            event, place.event = place.event, None
        return event

    def _enqueue(self, entry: Event | _Place | None) -> None:
        while True:
            try:
                self._queue.put_nowait(entry)
            except queue.Full:
                self._drop_oldest()
            else:
                return

    def _drop_oldest(self) -> None:
        try:
            dropped = self._queue.get_nowait()
        except queue.Empty:
            return
        if isinstance(dropped, _Place):
            self._taken(dropped)


class Broker:
    """Hands each event to every subscriber who wants its kind."""

    def __init__(self) -> None:
        self._subscribers: set[Subscription] = set()
        self._salt = secrets.token_bytes(16)
        self._count = 0
        self._lock = threading.Lock()  # protects _subscribers and _count

    def publish(self, event: Event) -> None:
        """Tell everybody; returns at once."""
        with self._lock:
            self._count += 1
            subscribers = tuple(self._subscribers)
        for subscriber in subscribers:
            if subscriber.wants(event.kind):
                subscriber.put(event)

    def is_wanted(self, kind: str) -> bool:
        """Somebody listens, so that news of this kind, which only serves watching, is worth making. If nobody does, it
        is taken to have been made."""
        with self._lock:
            is_wanted = any(subscriber.wants(kind) for subscriber in self._subscribers)
            self._count += not is_wanted
        return is_wanted

    @property
    def mark(self) -> str:
        """Another one after any news, and after a restart; how much news there was can't be read from it."""
        with self._lock:
            count = self._count
        return hashlib.sha256(self._salt + str(count).encode()).hexdigest()[:16]

    def close(self) -> None:
        """No news will come any more; everybody who waits is woken."""
        with self._lock:
            subscribers = tuple(self._subscribers)
        for subscriber in subscribers:
            subscriber.close()

    def subscribe(self, *kinds: str) -> Subscription:
        """Begin to listen, to news of these kinds or of all. Whoever subscribes must unsubscribe."""
        subscription = Subscription(is_of_all=not kinds)
        subscription.set_kinds(kinds or None)
        with self._lock:
            self._subscribers.add(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Stop listening; again is fine."""
        with self._lock:
            self._subscribers.discard(subscription)

    def count_clients(self) -> int:
        """How many subscribed to all news: whoever looks on from outside."""
        with self._lock:
            return sum(subscriber.is_of_all for subscriber in self._subscribers)
