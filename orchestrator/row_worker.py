"""A worker: one thread that does what the rows of a noun ask for, one after the other, until the house stops."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Protocol

from orchestrator.errors import OrchestratorError

logger = logging.getLogger(__name__)

_TIDY_S = 6 * 3600.0
_LOOK_S = 30.0
"""It looks for work at least this often, should nobody have told it."""
_ENDS_WITHIN_S = 5.0
"""An errand ends within a second; an image that is being built has no end that could be waited for."""


class Work(Protocol):
    """A noun whose rows say what is to be done."""

    def when_there_is_work(self, wake: Callable[[], None]) -> None:
        """From now on this is called when there is something to do."""

    def reconcile(self) -> None:
        """After a start: what a death left is put right."""

    def do_next(self, is_wanted: Callable[[], bool]) -> bool:
        """Do the next thing, broken off when it is no longer wanted; False when there is nothing."""

    def tidy(self) -> None:
        """What nobody needs any more goes."""


class RowWorker:
    """Does the work of one noun."""

    def __init__(self, name: str, work: Work) -> None:
        self._name, self._task = name, work
        self._work = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)
        work.when_there_is_work(self._work.set)

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
        self._guarded(self._task.reconcile)
        while not self._ending.is_set():
            self._work.clear()
            while not self._ending.is_set() and self._guarded(self._do_next):
                pass
            if time.monotonic() >= tidy_at:
                self._guarded(self._task.tidy)
                tidy_at = time.monotonic() + _TIDY_S
            self._work.wait(_LOOK_S)

    def _do_next(self) -> bool:
        return self._task.do_next(lambda: not self._ending.is_set())

    def _guarded(self, do: Callable[[], bool | None]) -> bool:
        """Whatever happens to one of them, the thread goes on; after a failure it waits a while."""
        try:
            return bool(do())
        except OrchestratorError as error:
            logger.warning("%s: %s", self._name, error.message)
        except Exception:  # the top of a thread: the next one may do better
            logger.exception("%s: something broke", self._name)
        return False
