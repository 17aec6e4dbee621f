"""What in a folder is new to the person whose workspace it is: what came or changed since they last looked there.

A visit lasts as long as somebody comes back within half an hour, so that a mark does not vanish when a page is loaded
again. Nothing is decided by it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from orchestrator.core.db.database import Store
from orchestrator.core.models import CubicleKey
from orchestrator.files import folder_look_rows as rows
from orchestrator.files.folder_look_rows import FolderLook

VISIT_S = 1_800.0
_FRESH_S = 60.0
"""A look is not written down again within so long."""
MOST_FOLDERS = 500
"""Of one workspace; those that were looked into longest ago are forgotten."""


class FolderLooks:
    """Everybody's."""

    def __init__(self, store: Store, *, now: Callable[[], float] = time.time) -> None:
        self._store = store
        self._now = now

    def look_into(self, key: CubicleKey, folder: tuple[bytes, ...]) -> float | None:
        """The person opens a folder. Says since when what changed is new to them, in Unix seconds; None at the first
        time, when everything would be."""
        path, now = b"/".join(folder), self._now()
        with self._store.reading() as db:
            known = rows.get_look(db, key, path)
        if known is not None and 0 <= now - known.at < _FRESH_S:
            return known.before
        is_new_visit = known is not None and not 0 <= now - known.at <= VISIT_S
        before = None if known is None else known.at if is_new_visit else known.before
        with self._store.writing() as db:
            rows.set_look(db, key, path, FolderLook(now, before))
            rows.delete_oldest(db, key, MOST_FOLDERS)
        return before

    def get_since(self, key: CubicleKey, folder: tuple[bytes, ...]) -> float | None:
        """The same, without a look: for a page that renders itself again."""
        with self._store.reading() as db:
            known = rows.get_look(db, key, b"/".join(folder))
        return None if known is None else known.before

    def mark_seen(self, key: CubicleKey, *folders: tuple[bytes, ...]) -> None:
        """The person changed something in these folders, so they know what is there."""
        with self._store.writing() as db:
            for folder in set(folders):
                rows.set_seen(db, key, b"/".join(folder), self._now())
