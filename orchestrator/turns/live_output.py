"""What commands that run have printed so far: held in memory alone, for whoever watches, and gone when they end.

Comes from the crab, so from a stranger: it is bounded, it is shown a few times a second at most, and nothing is decided
by it. What a command printed in the end is told apart, in its row.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from orchestrator.core.events import Broker
from orchestrator.core.models import CubicleKey, Event, Step
from orchestrator.core.text import terminal_safe

MOST_CHARS = 20_000
EVERY_S = 0.4
RUNNING = "running"


@dataclass(frozen=True, slots=True)
class _Printed:
    n: int
    text: str
    due_at: float
    """When the next may be shown."""


class LiveOutput:
    """The output of every step that runs, by turn: a cubicle runs one command at a time. For any thread."""

    def __init__(self, broker: Broker, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._broker = broker
        self._clock = clock
        self._printed: dict[int, _Printed] = {}
        self._lock = threading.Lock()  # protects _printed

    def show_output(self, key: CubicleKey, step: Step, text: str) -> None:
        """The step, which runs, has printed this so far."""
        now, text = self._clock(), text[:MOST_CHARS]
        with self._lock:
            known = self._printed.get(step.turn)
            is_due = known is None or known.n != step.n or now >= known.due_at
            due_at = now + EVERY_S if is_due or known is None else known.due_at
            self._printed[step.turn] = _Printed(step.n, text, due_at)
        if is_due and self._broker.is_wanted("output"):
            body = {"turn": step.turn, "n": step.n, "output": terminal_safe(text)}
            self._broker.publish(Event("output", key, body))

    def add_output(self, steps: list[Step]) -> list[Step]:
        """The same steps, with what the one that runs has printed so far."""
        return [replace(step, output=self._so_far(step)) if step.status == RUNNING else step for step in steps]

    def forget_turn(self, turn: int) -> None:
        """Nothing of this turn runs any more. Again is fine."""
        with self._lock:
            self._printed.pop(turn, None)

    def _so_far(self, step: Step) -> str:
        with self._lock:
            printed = self._printed.get(step.turn)
        return printed.text if printed is not None and printed.n == step.n else ""
