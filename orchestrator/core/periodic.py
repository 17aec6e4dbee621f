"""Rounds: one look after another in a thread of its own, for as long as the house stands."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from orchestrator.core.errors import NotFound, OrchestratorError

logger = logging.getLogger(__name__)

_ENDS_WITHIN_S = 30.0


class Periodic:
    """Whatever becomes of one look, the next one is made."""

    def __init__(
        self, name: str, look: Callable[[], object], *, every_s: Callable[[], float], after_failure_s: float = 0.0
    ) -> None:
        """``every_s`` is asked before each look, the first one too, how many seconds it waits. A look that failed for a
        known reason is followed by ``after_failure_s`` more of them."""
        self._name, self._look = name, look
        self._every_s, self._after_failure_s = every_s, after_failure_s
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._go_round, name=name, daemon=True)

    @property
    def is_ending(self) -> bool:
        """A long look breaks off."""
        return self._ending.is_set()

    def start(self) -> None:
        """Begin; the first look comes after the first wait."""
        self._thread.start()

    def close(self) -> None:
        """End after the current look. Rounds that never began have nothing to end."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join(_ENDS_WITHIN_S)

    def pause(self, seconds: float) -> None:
        """Wait within a look, but not beyond the end."""
        self._ending.wait(seconds)

    def _go_round(self) -> None:
        while not self._ending.wait(self._every_s()):
            try:
                self._look()
            except NotFound as error:
                logger.info("%s: what was looked after has gone: %s", self._name, error.message)
            except OrchestratorError as error:
                logger.warning("%s: %s", self._name, error.message)
                self.pause(self._after_failure_s)
            except Exception:  # the top of a thread: the next look may do better
                logger.exception("%s: a look broke", self._name)


def guarded(what: str, do: Callable[[], object]) -> bool:
    """Whatever happens, the thread goes on: a failure is logged. True when it was done and its answer is true."""
    try:
        return bool(do())
    except OrchestratorError as error:
        logger.warning("%s: %s", what, error.message)
    except Exception:  # the top of a thread: the next look may do better
        logger.exception("%s broke", what)
    return False
