"""The publisher writes what the program knows as a file in a cubicle's ``data/`` that its agent may read and nobody
reads back.

Owns when such a file is made again: a little after something changed (many changes at once make one file), and before
its cubicle starts. What is in it is the builder's business, how it gets into the folder the workspace's. A file that
can't be made now is tried again, and its cubicle works without it.
"""

from __future__ import annotations

import logging
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from orchestrator.agents import deletion_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import NotFound, OrchestratorError
from orchestrator.core.models import CubicleKey
from orchestrator.core.periodic import guarded
from orchestrator.files.workspace import Workspaces

logger = logging.getLogger(__name__)

MAX_BYTES = 1 << 30
"""The largest file that is published."""

Builder = Callable[[CubicleKey, Path], None]
"""Writes the file, which is not there yet, to the path; may raise an error of ours, OSError or one of SQLite's."""


class Publisher:
    """One kind of file, such as ``calendar.db``, for all cubicles. All methods may be called from any thread."""

    def __init__(
        self,
        name: str,
        build: Builder,
        *,
        store: Store,
        workspaces: Workspaces,
        scratch: Path,
        pause_s: float = 0.1,
        retry_s: float = 30.0,
    ) -> None:
        """``scratch``: a folder of the host's own, made if missing; ``pause_s``: how long changes are gathered."""
        self._name = name
        self._build = build
        self._store = store
        self._workspaces = workspaces
        self._scratch = scratch
        self._pause_s = pause_s
        self._retry_s = retry_s
        self._wanted: dict[CubicleKey, float] = {}
        self._is_busy = False
        self._is_closed = False
        self._changed = threading.Condition()  # protects _wanted, _is_busy and _is_closed
        self._one_at_a_time = threading.Lock()  # so that an older file never replaces a newer one
        self._thread = threading.Thread(target=self._loop, name=f"publishing {name}", daemon=True)

    def start(self, keys: Iterable[CubicleKey] = ()) -> None:
        """Begin to work; the files of these cubicles are wanted."""
        self._thread.start()
        for key in keys:
            self.request_publish(key)

    def request_publish(self, key: CubicleKey) -> None:
        """Something changed: the cubicle's file is made again soon. Returns at once."""
        self._want(key, self._pause_s)

    def publish_now(self, key: CubicleKey) -> None:
        """The cubicle's file is made again, now; for before its cubicle starts. Never raises: what can't be is tried
        again."""
        with self._changed:
            self._wanted.pop(key, None)
        try:
            self._make(key)
        except NotFound:  # no folders yet, or no longer: it is made when the cubicle starts
            return
        except (OrchestratorError, OSError, sqlite3.Error) as error:
            logger.warning("%s of %s could not be made: %s", self._name, key, error)
            self._want(key, self._retry_s)

    def wait_until_published(self, timeout_s: float) -> bool:
        """Wait until every file that was wanted is made; False when the time is up before."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._wanted and not self._is_busy, timeout_s)

    def close(self) -> None:
        """Nothing is published any more. What was wanted is made at the next start."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    def _want(self, key: CubicleKey, after_s: float) -> None:
        with self._changed:
            self._wanted.setdefault(key, time.monotonic() + after_s)
            self._changed.notify_all()

    def _make(self, key: CubicleKey) -> None:
        with self._one_at_a_time:
            with self._store.reading() as db:
                if deletion_rows.is_being_deleted(db, key):
                    raise NotFound("This cubicle is being deleted.")
            self._scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self._scratch) as folder:
                path = Path(folder) / self._name
                self._build(key, path)
                with path.open("rb") as file:
                    self._workspaces.publish_file(key, self._name, file, max_bytes=MAX_BYTES)

    def _loop(self) -> None:
        while (key := self._next()) is not None:
            guarded(f"publishing {self._name} of {key}", partial(self.publish_now, key))
            with self._changed:
                self._is_busy = False
                self._changed.notify_all()

    def _next(self) -> CubicleKey | None:
        """The next cubicle whose file is due; None when closed."""
        with self._changed:
            while not self._is_closed:
                key = min(self._wanted, key=self._wanted.__getitem__, default=None)
                left = None if key is None else self._wanted[key] - time.monotonic()
                if key is not None and left is not None and left <= 0:
                    self._is_busy = True
                    return key
                self._changed.wait(left)
            return None
