"""What an app's pages remember, kept on the host: an opaque origin has no storage of its own. Written by the app's
pages alone, through their ticket; bounded in size, number and pace, and given back to the same app only.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable

from orchestrator.apps.previews import storage_rows as rows
from orchestrator.apps.previews.shim_loader import MAX_STORED_BYTES
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, TooLarge, TooMany
from orchestrator.core.models import CubicleKey
from orchestrator.core.strict_json import read_object

MOST_APPS = 100
MOST_KEYS = 2_000
_GAP_S = 0.1
"""Between two writes of one app; its pages wait longer by themselves."""
_REMEMBERED = 10_000


class AppStorage:
    """Every app's."""

    def __init__(self, store: Store, *, now: Callable[[], float] = time.time) -> None:
        self._store = store
        self._now = now
        self._written_at: dict[tuple[CubicleKey, str], float] = {}
        self._lock = threading.Lock()  # protects _written_at

    def get_values(self, key: CubicleKey, app: str) -> dict[str, str]:
        """What the app has stored."""
        with self._store.reading() as db:
            found = json.loads(rows.get_stored(db, key, app))
        return {str(name): str(value) for name, value in found.items()}

    def put_values(self, key: CubicleKey, app: str, body: bytes) -> None:
        """Keep a JSON object of texts; raises BadInput, TooLarge, or TooMany when it is written too fast or by too many
        apps."""
        if len(body) > MAX_STORED_BYTES * 2:
            raise TooLarge("This is more than an app can store.")
        values = read_object(body)
        if len(values) > MOST_KEYS or not all(isinstance(value, str) for value in values.values()):
            raise BadInput("Send one object of texts.")
        stored = json.dumps(values, ensure_ascii=False)
        if len(stored.encode()) > MAX_STORED_BYTES * 2:
            raise TooLarge("This is more than an app can store.")
        self._check_pace(key, app)
        with self._store.writing() as db:
            was_kept = rows.set_stored(db, key, app, stored, now=self._now(), most_apps=MOST_APPS)
        if not was_kept:
            raise TooMany("Too many apps of this agent keep something already.")

    def _check_pace(self, key: CubicleKey, app: str) -> None:
        now = time.monotonic()
        with self._lock:
            if now - self._written_at.get((key, app), -_GAP_S) < _GAP_S:
                raise TooMany("This app stores too often.")
            if len(self._written_at) > _REMEMBERED:
                self._written_at.clear()
            self._written_at[key, app] = now
