"""News for whoever is watching: each subscriber has a bounded queue, and a slow one loses the oldest, never the
sender's time.

Events are hints to look again; the rows in the database are the truth.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections import deque
from collections.abc import Iterable
from typing import Any

from orchestrator.core.models import Event

LIVE = frozenset({"delta", "output"})
"""News of what is only coming: each tells all that the one before it told, so a slow watcher gets the newest alone."""
_BACKLOG = 1000


class Subscription:
    """One watcher's queue."""

    def __init__(self, *, is_of_all: bool = False) -> None:
        self.is_of_all = is_of_all
        """It was made for all news."""
        self._kinds: frozenset[str] | None = None
        self._changed = threading.Condition()  # protects all below; notified when there is something to fetch
        self._waiting: deque[Event] = deque()
        self._fetched = 0
        """How many events were fetched or dropped: the number of the one that waits longest."""
        self._newest: dict[tuple[str, Any], int] = {}
        """The numbers of live events that the next one of their kind and turn may replace."""
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        """Nothing will ever come again."""
        return self._is_closed

    def narrow(self, kinds: Iterable[str] | None) -> None:
        """From now on only news of these kinds is wanted; of all kinds with None."""
        self._kinds = None if kinds is None else frozenset(kinds)

    def wants(self, kind: str) -> bool:
        """News of this kind is wanted here."""
        return self._kinds is None or kind in self._kinds

    def put(self, event: Event) -> None:
        """Add an event; when the watcher is too slow its oldest one goes."""
        turn = event.body.get("turn")
        with self._changed:
            if event.kind in LIVE:
                place = self._newest.get((event.kind, turn), -1) - self._fetched
                if place >= 0:  # nobody has fetched it yet
                    self._waiting[place] = event
                    return
                self._newest[event.kind, turn] = self._fetched + len(self._waiting)
            else:
                for kind in LIVE:  # what comes now comes after this
                    self._newest.pop((kind, turn), None)
            self._waiting.append(event)
            if len(self._waiting) > _BACKLOG:
                self._fetch()
            self._changed.notify()

    def get(self, timeout_s: float) -> Event | None:
        """The next event, or None when there was none in time or the broker was closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closed, timeout_s)
            return None if self._is_closed or not self._waiting else self._fetch()

    def close(self) -> None:
        """Whoever waits, waits no longer."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _fetch(self) -> Event:
        event = self._waiting.popleft()
        self._fetched += 1
        if not self._waiting:
            self._newest.clear()
        return event


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
        subscription.narrow(kinds or None)
        with self._lock:
            self._subscribers.add(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Stop listening; again is fine."""
        with self._lock:
            self._subscribers.discard(subscription)

    def clients(self) -> int:
        """How many subscribed to all news: whoever looks on from outside."""
        with self._lock:
            return sum(subscriber.is_of_all for subscriber in self._subscribers)
