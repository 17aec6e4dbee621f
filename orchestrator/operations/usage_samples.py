"""What running cubicles use, looked at once a minute and kept for a day, for whoever wants to see how it went.

It costs one list of the containers, one question to the engine for each that runs, and one small write, a minute; with
nothing running, the list alone. Nobody is walked through for it: how much of the disk is used is what the disk's own
rounds found.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from orchestrator.agents.cubicles import Cubicles
from orchestrator.core.db.database import Store
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.models import CubicleKey
from orchestrator.core.periodic import Periodic
from orchestrator.operations import usage_sample_rows as rows
from orchestrator.operations.usage_sample_rows import Sample

logger = logging.getLogger(__name__)

PERIOD_S = 60.0
KEPT_S = 24 * 3600


class UsageSamples:
    """Takes them in a thread of its own; anybody may read."""

    def __init__(
        self,
        store: Store,
        cubicles: Cubicles,
        disk_bytes: Callable[[CubicleKey], int | None],
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``disk_bytes`` tells what is known of a workspace already."""
        self._store = store
        self._cubicles = cubicles
        self._disk_bytes = disk_bytes
        self._now = now
        self.running: int | None = None
        """How many cubicles ran at the last look; None where nobody could look."""
        self._rounds = Periodic("samples", self._try_to_look, every_s=lambda: PERIOD_S)

    def start(self) -> None:
        """Begin; the first look is after a minute."""
        self._rounds.start()

    def close(self) -> None:
        """End after the current look."""
        self._rounds.close()

    def list_recent(self, key: CubicleKey, seconds: float) -> list[Sample]:
        """A cubicle's samples of the last so many seconds, oldest first."""
        with self._store.reading() as db:
            return rows.list_samples(db, key, self._now() - min(seconds, KEPT_S))

    def run_once(self) -> None:
        """Look at all that run now; with what is noted of them, what is older than a day is forgotten."""
        running = sorted(self._cubicles.list_running(), key=str)
        self.running = len(running)
        taken = [(key, sample) for key in running if (sample := self._sample_cubicle(key))]
        if not taken:
            return
        with self._store.writing() as db:
            for key, sample in taken:
                rows.insert_sample(db, key, sample)
            rows.delete_samples(db, self._now() - KEPT_S)

    def _sample_cubicle(self, key: CubicleKey) -> Sample | None:
        usage = self._cubicles.get_usage(key)
        if usage is None:  # it ended just now
            return None
        return Sample(int(self._now()), usage.cpu_percent, usage.memory_bytes, usage.pids, self._disk_bytes(key))

    def _try_to_look(self) -> None:
        try:
            self.run_once()
        except OrchestratorError as error:
            self.running = None
            logger.info("what the cubicles use can't be looked at: %s", error.message)
