"""Work that is done in order: one thing after the other for each cubicle, several cubicles at a time."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from orchestrator.core.errors import OrchestratorError, Unavailable
from orchestrator.core.models import CubicleKey

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


class SerialWork:
    """A queue for each cubicle, and a few threads for all of them."""

    def __init__(self, name: str, threads: int = 2) -> None:
        """``name`` is what the threads are called."""
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._lock = threading.Lock()  # protects the two below
        self._queues: dict[CubicleKey, deque[tuple[Future[Any], Callable[[], Any]]]] = {}
        self._is_closed = False

    def add(self, key: CubicleKey, work: Callable[[], Result]) -> Future[Result]:
        """Do this after all that was added for the cubicle before. Raises Unavailable once closed."""
        future: Future[Result] = Future()
        with self._lock:
            if self._is_closed:
                raise Unavailable("HermitShell is stopping. Try again when it runs.")
            queue = self._queues.get(key)
            if queue is not None:
                queue.append((future, work))
                return future
            self._queues[key] = deque([(future, work)])
        self._pool.submit(self._drain, key)
        return future

    def await_all(self, key: CubicleKey, timeout_s: float) -> None:
        """All that was added for the cubicle until now is done. Raises TimeoutError, or Unavailable once closed."""
        with self._lock:
            is_idle = key not in self._queues
        if not is_idle:
            self.add(key, _do_nothing).result(timeout_s)

    def close(self) -> None:
        """What was added is done, and nothing more is taken."""
        with self._lock:
            self._is_closed = True
        self._pool.shutdown(wait=True)

    def _drain(self, key: CubicleKey) -> None:
        while True:
            with self._lock:
                queue = self._queues[key]
                if not queue:
                    del self._queues[key]
                    return
                future, work = queue.popleft()
            try:
                future.set_result(work())
            except OrchestratorError as error:
                future.set_exception(error)
            except Exception as error:  # the top of a thread: whoever waits is told
                logger.exception("work for %s failed", key)
                future.set_exception(error)


def _do_nothing() -> None:
    """Comes after all that was added before."""
