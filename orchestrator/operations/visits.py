"""When people are here: each visit of a person to the dashboard, and the time before it that they were away.

A visit lasts for as long as its person comes back within half an hour, so what is told about the time before it stays
the same for all of it. Nothing is decided by it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.core.db.database import Store
from orchestrator.core.errors import Unavailable
from orchestrator.operations import visit_rows as rows

logger = logging.getLogger(__name__)

GAP_S = 30 * 60.0
"""Whoever was not here for so long was away."""
_PAUSE_S = 60.0
"""A visit is written down at most so often."""


@dataclass(frozen=True, slots=True)
class Absence:
    """A time that a person was away, in Unix seconds."""

    since: float
    until: float


class Visits:
    """Everybody's visits."""

    def __init__(self, store: Store, *, now: Callable[[], float] = time.time) -> None:
        self._store = store
        self._now = now
        self._marked_at: dict[int, float] = {}

    def mark_visit(self, user: int) -> None:
        """The person is here now. On a disk that is full it is not written down."""
        now = self._now()
        if abs(now - self._marked_at.get(user, 0.0)) < _PAUSE_S:
            return
        try:
            with self._store.writing() as db:
                rows.mark_visit(db, user, now, gap_s=GAP_S)
        except Unavailable as error:
            logger.warning("a visit is not written down: %s", error.message)
        self._marked_at[user] = now

    def find_absence(self, user: int) -> Absence | None:
        """How long the person was away before this visit; None for who was never here before it."""
        with self._store.reading() as db:
            found = rows.get_absence(db, user)
        return None if found is None or found[0] >= found[1] else Absence(*found)
