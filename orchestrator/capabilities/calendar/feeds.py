"""Feeds: each cubicle's calendar for the person's own calendar app, read-only, at an address that is its own key.

The secret is 256 random bits and kept as it is, since the address is to be shown again; whoever had it once loses it by
``renew_url``. How often a feed, and how often a wrong address, is asked for is bounded.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections import deque
from collections.abc import Callable
from datetime import timedelta

from orchestrator.agents import access_rows, deletion_rows
from orchestrator.capabilities.calendar import rows
from orchestrator.capabilities.calendar.input import EntryInput, plan_of, time_of
from orchestrator.capabilities.calendar.recurrence import ics
from orchestrator.capabilities.calendar.rows import CalendarEntry, EntryStatus
from orchestrator.core.db.database import Store
from orchestrator.core.errors import NotFound, TooMany
from orchestrator.core.models import CubicleKey

WINDOW_S = 60.0
MOST_READS = 30
"""Of one feed, within the window."""
MOST_GUESSES = 60
"""Of addresses that are none, by everybody together."""
_SHOWN_AFTER = timedelta(days=30)
"""How long what has ended stays in the feed."""
_NOBODY = CubicleKey("", 0)


class Feeds:
    """The feeds of all cubicles. All methods may be called from any thread."""

    def __init__(self, store: Store, *, install: str, base_url: str, now: Callable[[], float]) -> None:
        """``install`` sets our entries apart from those of other installs, ``base_url`` is where we answer."""
        self._store = store
        self._install = install
        self._base_url = base_url
        self._now = now
        self._asked: dict[CubicleKey, deque[float]] = {}
        self._lock = threading.Lock()  # protects _asked

    def feed_url(self, key: CubicleKey) -> str:
        """The feed's address; made on first use."""
        with self._store.reading() as db:
            secret = rows.get_feed(db, key)
        return self.renew_url(key) if secret is None else self._build_url(secret)

    def renew_url(self, key: CubicleKey) -> str:
        """A new address; nothing is at the one before."""
        secret = secrets.token_urlsafe(32)
        with self._store.writing() as db:
            rows.set_feed(db, key, secret, _hash(secret))
        return self._build_url(secret)

    def read_feed(self, secret: str) -> str:
        """The calendar as iCalendar text. Raises NotFound for a wrong secret, TooMany when asked too often."""
        with self._store.reading() as db:
            key = rows.get_cubicle_of_feed(db, _hash(secret))
            if key is not None and (deletion_rows.is_being_deleted(db, key) or access_rows.is_closed(db, key)):
                key = None
        self._check_pace(key or _NOBODY, MOST_GUESSES if key is None else MOST_READS)
        if key is None:
            raise NotFound("There is no such calendar.")
        with self._store.reading() as db:
            entries = rows.list_entries(db, key.agent, key.user)
        now = time_of(self._now())
        shown = [self._ics_event(entry) for entry in entries if self._is_shown(entry)]
        return ics.write_feed(f"{key.agent} (HermitShell)", shown, now=now)

    def _is_shown(self, entry: CalendarEntry) -> bool:
        if entry.status is EntryStatus.ENDED:
            return entry.settled_at > self._now() - _SHOWN_AFTER.total_seconds()
        return entry.status is EntryStatus.ACTIVE

    def _ics_event(self, entry: CalendarEntry) -> ics.IcsEntry:
        request = EntryInput.from_entry(entry)
        return ics.IcsEntry(
            uid=f"{entry.id}.{self._install}@hermitshell",
            title=entry.title,
            text=entry.prompt,
            plan=plan_of(*request.when),
            changed_at=time_of(entry.changed_at),
            length=request.length or ics.SHOWN_LENGTH,
            color=entry.color,
        )

    def _build_url(self, secret: str) -> str:
        return f"{self._base_url}/ics/{secret}.ics"

    def _check_pace(self, key: CubicleKey, most: int) -> None:
        now = self._now()
        with self._lock:
            asked = self._asked.setdefault(key, deque(maxlen=most))
            if len(asked) == most and 0 <= now - asked[0] < WINDOW_S:
                raise TooMany("This calendar is read too often. Try again in a minute.")
            asked.append(now)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
