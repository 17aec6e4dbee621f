"""The program of a proof where there is no cubicle: it says of each try what walls would answer, unless a test lets one
of the attempts through."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.operations.proof.attempts import ATTEMPTS, BY_ID, Attempt
from tests.support.fakes import NoExec

Said = Callable[[Attempt, dict[str, Any]], bytes]


@dataclass
class WalledPrograms(NoExec):
    """Runs no program, and answers as one."""

    others: dict[str, Said] = field(default_factory=dict)
    """What is said instead, by the attempt."""
    gates: dict[str, threading.Event] = field(default_factory=dict)
    """An attempt is not answered before."""
    made: list[str] = field(default_factory=list)

    def run_program(
        self, container: str, command: tuple[str, ...], *, within_s: float = 60.0, most_bytes: int = 1 << 20
    ) -> bytes:
        """What it says."""
        attempt, given = BY_ID[command[-2]], json.loads(command[-1])
        self.made.append(attempt.id)
        if attempt.id in self.gates:
            assert self.gates[attempt.id].wait(30)
        return self.others.get(attempt.id, say_stopped)(attempt, given)


def say_stopped(attempt: Attempt, _given: Mapping[str, Any]) -> bytes:
    """Every try was stopped."""
    return say(attempt)


def say(attempt: Attempt, *brought: str, **answers: str) -> bytes:
    """What the program prints."""
    all_answers = {name: min(attempt.stopped_by) for name in attempt.tries} | answers
    return json.dumps({"attempt": attempt.id, "answers": all_answers, "brought": brought}).encode()


ALL_HELD = [(attempt.id, "held") for attempt in ATTEMPTS]
