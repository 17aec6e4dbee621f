"""The worker: one thread that does what installations ask for, one after the other, until the house stops."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from orchestrator.errors import OrchestratorError
from orchestrator.packages.installations import Packages

logger = logging.getLogger(__name__)

_TIDY_S = 6 * 3600.0
_LOOK_S = 30.0
"""It looks for work at least this often, should nobody have told it."""
_ENDS_WITHIN_S = 5.0
"""An errand ends within a second; an image that is being built has no end that could be waited for."""


class Worker:
    """Runs the installations of a house."""

    def __init__(self, packages: Packages) -> None:
        self._packages = packages
        self._work = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="packages", daemon=True)
        packages.when_there_is_work(self._work.set)

    def start(self) -> None:
        """Begin; what a death left under way is taken up first."""
        self._thread.start()

    def close(self) -> None:
        """An errand under way is broken off, and sent again at the next start."""
        self._ending.set()
        self._work.set()
        if self._thread.is_alive():
            self._thread.join(_ENDS_WITHIN_S)

    def _loop(self) -> None:
        tidy_at = 0.0
        self._guarded(self._packages.reconcile)
        while not self._ending.is_set():
            self._work.clear()
            while not self._ending.is_set() and self._guarded(self._do_next):
                pass
            if time.monotonic() >= tidy_at:
                self._guarded(self._packages.tidy)
                tidy_at = time.monotonic() + _TIDY_S
            self._work.wait(_LOOK_S)

    def _do_next(self) -> bool:
        return self._packages.do_next(lambda: not self._ending.is_set())

    def _guarded(self, do: Callable[[], bool | None]) -> bool:
        """Whatever happens to one installation, the thread goes on; after a failure it waits a while."""
        try:
            return bool(do())
        except OrchestratorError as error:
            logger.warning("packages: %s", error.message)
        except Exception:  # the top of a thread: the next installation may do better
            logger.exception("an installation broke")
        return False
