"""With whom a person shares an app of theirs: somebody else of this install, who sees that one app and nothing else of
the agent. It is the same app with the same memory for both.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable

from orchestrator.apps.previews import share_rows as rows
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, TooMany
from orchestrator.core.models import CubicleKey, User

MOST_GUESTS = 50


class AppShares:
    """Everybody's."""

    def __init__(self, store: Store, *, now: Callable[[], float] = time.time) -> None:
        self._store = store
        self._now = now

    def add_guest(self, key: CubicleKey, app: str, guest: User, *, by: str) -> None:
        """The guest may see the app from now on; again is fine. Raises BadInput for whom it belongs to, TooMany."""
        if guest.id == key.user:
            raise BadInput(f"user: this app is {guest.name}'s own.")
        with self._store.writing() as db:
            if not rows.insert_share(db, key, app, guest.id, now=self._now()):
                return
            if len(rows.list_guests(db, key, app)) > MOST_GUESTS:
                raise TooMany(f"An app can be shared with {MOST_GUESTS} people at most.")
            self._write_audit(key, "app.shared", f"{app} is shared with {guest.name} now, by {by}.", db)

    def remove_guest(self, key: CubicleKey, app: str, guest: User, *, by: str) -> None:
        """The guest may not see the app any more, not even with a page that is open; again is fine."""
        with self._store.writing() as db:
            if rows.delete_share(db, key, app, guest.id):
                self._write_audit(key, "app.unshared", f"{app} is no longer shared with {guest.name}, by {by}.", db)

    def has_guest(self, key: CubicleKey, app: str, guest: int) -> bool:
        """Whether the guest may see the app."""
        with self._store.reading() as db:
            return rows.has_share(db, key, app, guest)

    def list_guests(self, key: CubicleKey, app: str) -> list[int]:
        """Who may see the app beside its owner."""
        with self._store.reading() as db:
            return rows.list_guests(db, key, app)

    def shared_with(self, guest: int) -> list[tuple[CubicleKey, str]]:
        """Which apps of others the guest may see, whether they are still there or not."""
        with self._store.reading() as db:
            return rows.list_shares_of_guest(db, guest)

    def _write_audit(self, key: CubicleKey, kind: str, text: str, db: sqlite3.Connection) -> None:
        audit_rows.insert_record(db, kind, text, now=self._now(), agent=key.agent, user=key.user)
