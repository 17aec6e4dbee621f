"""Waking: gets cubicles going for waiting messages, a few at a time, without making the sender wait."""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from orchestrator.agents.cubicles import Cubicles
from orchestrator.core.errors import OrchestratorError, Unavailable, WallMissing
from orchestrator.core.hooks import CubicleFailed, Hooks
from orchestrator.core.models import CubicleKey

logger = logging.getLogger(__name__)

PATIENCE_S = 30.0
"""How long an engine that does not answer is asked again: it may be restarting."""
_AGAIN_AFTER_S = 1.0
_AT_ONCE = 4


class Waker:
    """Starts cubicles in the background; two calls for the same one start it once."""

    def __init__(self, cubicles: Cubicles, hooks: Hooks) -> None:
        self._cubicles = cubicles
        self._hooks = hooks
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="wake")
        self._waking: set[CubicleKey] = set()
        self._lock = threading.Lock()  # protects _waking, and the pool from being given work after it was closed
        self._closing = threading.Event()

    def wake(self, key: CubicleKey) -> None:
        """See to it that the cubicle runs; returns at once."""
        with self._lock:
            if key in self._waking or self._closing.is_set():
                return
            self._waking.add(key)
            self._pool.submit(self._wake, key)

    def prestart(self, key: CubicleKey) -> None:
        """Have the cubicle up, if it can be, for somebody who is about to write; one that runs is left as it is."""
        with self._lock:
            if key in self._waking or self._closing.is_set():
                return
            self._waking.add(key)
            self._pool.submit(self._prestart, key)

    def is_waking(self, key: CubicleKey) -> bool:
        """The cubicle is being started."""
        with self._lock:
            return key in self._waking

    def close(self) -> None:
        """Finish what is being started, start nothing more."""
        with self._lock:
            self._closing.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _wake(self, key: CubicleKey) -> None:
        try:
            self._persistently(key)
        except OrchestratorError as error:
            self._failed(key, error.message)
        except Exception:  # the top of a thread: whoever waits must be told something
            logger.exception("cubicle %s could not be started", key)
            self._failed(key, "The agent's container could not be started. './hermit doctor' shows what is wrong.")
        finally:
            with self._lock:
                self._waking.discard(key)

    def _prestart(self, key: CubicleKey) -> None:
        try:
            self._cubicles.start(key)
            self._hooks.cubicle_ready.fire(key)
        except OrchestratorError as error:
            logger.info("cubicle %s was not started ahead of a message: %s", key, error.message)
        except Exception:  # the top of a thread: the message itself will tell what is wrong
            logger.exception("cubicle %s could not be started ahead of a message", key)
        finally:
            with self._lock:
                self._waking.discard(key)

    def _persistently(self, key: CubicleKey) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                self._cubicles.ensure_running(key)
            except WallMissing:
                raise
            except Unavailable:
                if time.monotonic() > deadline or self._closing.wait(_AGAIN_AFTER_S):
                    raise
            else:
                self._hooks.cubicle_ready.fire(key)
                return

    def _failed(self, key: CubicleKey, reason: str) -> None:
        if self._closing.is_set():
            return  # the messages stay in the queue for the next start
        self._hooks.cubicle_failed.fire(CubicleFailed(key, reason))
