"""Idle stop: cubicles with nothing to do are stopped, and woken by their next turn.

A minute's look goes over what runs. Whatever an agent left running inside, such as the server of an app, keeps its
cubicle awake, as it would not come back by itself. What a sleeping one loses is its ``/tmp``; nothing is paused, as a
crab that waits takes memory, and no time of a processor.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from orchestrator.agents.cubicles import Cubicles
from orchestrator.core.db.database import Store
from orchestrator.core.errors import NotFound
from orchestrator.core.models import Container, CubicleKey
from orchestrator.core.periodic import Periodic
from orchestrator.turns import rows

logger = logging.getLogger(__name__)

PERIOD_S = 60.0


class IdleStop:
    """A thread that looks for cubicles to be put to sleep."""

    def __init__(
        self,
        cubicles: Cubicles,
        store: Store,
        *,
        after_s: float,
        is_waking: Callable[[CubicleKey], bool],
        now: Callable[[], float] = time.time,
    ) -> None:
        """``after_s``: how long a cubicle has had no turn before it sleeps, at least a minute; 0 for never."""
        self._cubicles = cubicles
        self._store = store
        self._after_s = after_s
        self._is_waking = is_waking
        self._now = now
        self._rounds = Periodic("hibernation", self.run_once, every_s=lambda: PERIOD_S)

    def start(self) -> None:
        """Begin to look, where it is wanted."""
        if self._after_s:
            self._rounds.start()

    def close(self) -> None:
        """End after the current look."""
        self._rounds.close()

    def run_once(self) -> None:
        """Every cubicle that has been idle for long enough is put to sleep. Raises Unavailable."""
        for container in self._cubicles.list_containers():
            if container.running and self._is_due(container):
                self._put_to_sleep(container)

    def is_idle(self, key: CubicleKey) -> bool:
        """No turn of this cubicle is under way or waits; one that is claimed later is claimed after this answer."""
        with self._store.writing() as db:
            return not rows.list_running(db, key) and rows.get_first_queued(db, key) is None

    def _is_due(self, container: Container) -> bool:
        with self._store.reading() as db:
            active_at = max(container.started_at, rows.get_last_end(db, container.key))
        # A time far ahead is no later than one far behind: the clock has gone back, and it would never sleep.
        return abs(self._now() - active_at) > self._after_s and not self._is_waking(container.key)

    def _put_to_sleep(self, container: Container) -> None:
        key = container.key
        try:
            if self.is_idle(key) and self._cubicles.put_to_sleep(key, is_idle=lambda: self.is_idle(key)):
                logger.info("%s sleeps until its next turn", container.name)
        except NotFound:
            logger.info("%s was deleted before it fell asleep", container.name)
