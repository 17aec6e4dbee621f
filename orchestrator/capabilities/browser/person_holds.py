"""Who has a browser: its agent, or for a while a person. A hold ends when the person gives it back, ten minutes after
their last input, and half an hour after it began. It is kept in memory alone, as the browser itself ends with us.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from orchestrator.core.errors import Conflict
from orchestrator.core.models import CubicleKey

LEASE_S = 600.0
"""After the last input."""
MOST_S = 1800.0
"""In all."""
_NOT_HELD = "You don't have the browser, or no longer. Take over first."


@dataclass(frozen=True, slots=True)
class PersonHold:
    """A person has a browser."""

    began: float
    renewed: float
    """Both by the clock of the holds, in seconds."""

    @property
    def ends(self) -> float:
        """When, unless it is renewed."""
        return min(self.renewed + LEASE_S, self.began + MOST_S)


class PersonHolds:
    """Those of all cubicles; each is its own person's. Any thread may call."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()  # protects both below
        self._holds: dict[CubicleKey, PersonHold] = {}
        self._changes: dict[CubicleKey, int] = {}

    def take(self, key: CubicleKey) -> bool:
        """The person has it from now on; False where they had it already, which only renews it."""
        with self._lock:
            now, known = self._now(), self._get(key)
            self._holds[key] = PersonHold(now, now) if known is None else replace(known, renewed=now)
            if known is None:
                self._changes[key] = self._changes.get(key, 0) + 1
            return known is None

    def give_back(self, key: CubicleKey) -> PersonHold | None:
        """The agent has it from now on; the hold that ended, if there was one."""
        with self._lock:
            ended = self._holds.pop(key, None)
            if ended is not None:
                self._changes[key] = self._changes.get(key, 0) + 1
            return ended

    def renew(self, key: CubicleKey) -> None:
        """The person did something. Raises Conflict where they do not have it."""
        with self._lock:
            known = self._get(key)
            if known is None:
                raise Conflict(_NOT_HELD)
            self._holds[key] = replace(known, renewed=self._now())

    def left_s(self, key: CubicleKey) -> float | None:
        """How many seconds the person still has it, unless they do something; None where the agent has it."""
        with self._lock:
            known = self._get(key)
            return None if known is None else known.ends - self._now()

    def count_changes(self, key: CubicleKey) -> int:
        """How often it changed hands, ever: what an agent asked for before such a change may mean another page."""
        with self._lock:
            return self._changes.get(key, 0)

    def list_holds(self) -> list[CubicleKey]:
        """Of which cubicles a hold is known, those that have run out too."""
        with self._lock:
            return list(self._holds)

    def _get(self, key: CubicleKey) -> PersonHold | None:
        known = self._holds.get(key)
        return known if known is not None and known.ends > self._now() else None
