"""The model of the chaos suite: it answers each case as the case says, unless it is in a bad mood."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from tests.chaos.cases import Cases
from tests.support.scripted_upstream import (
    Gate,
    Reply,
    Request,
    ScriptedUpstream,
    answers,
    cut,
    garbage,
    hangs,
    hangs_up,
    status,
)
from tests.support.scripted_wire import answer_object


class Moods:
    """What is wrong with the model just now; nothing is by default."""

    def __init__(self, model: ScriptedUpstream, cases: Cases) -> None:
        self._cases = cases
        self._lock = threading.Lock()  # protects everything below
        self._mood = ""
        self._gates: list[Gate] = []
        self.answered: list[str] = []
        """The case of each answer whose last byte was handed to the network: it must have been paid for."""
        model.answer(self._decide)

    def turn(self, mood: str) -> None:
        """From now on every call meets this; an empty one heals, and lets go what hangs."""
        with self._lock:
            self._mood = mood
            gates, self._gates = self._gates, []
        for gate in gates:
            gate.open()

    def _decide(self, request: Request) -> Reply:
        with self._lock:
            mood = self._mood
        return self._good(request) if not mood else self._bad(mood)

    def _good(self, request: Request) -> Reply:
        found = self._cases.about(request.json["messages"])
        if found is None:
            return self._noted("", answers("I know of no case."))
        case, step = found
        return self._noted(case.name, case.answer(step))

    def _noted(self, case: str, reply: Reply) -> Reply:
        def noted(request: Request) -> Iterator[bytes | Gate]:
            yield from reply(request)
            with self._lock:
                self.answered.append(case)

        return noted

    def _bad(self, mood: str) -> Reply:
        if mood == "model hangs":
            gate = Gate()
            with self._lock:
                self._gates.append(gate)
            return hangs(gate)
        return _BAD[mood]()


_BAD: dict[str, Callable[[], Reply]] = {
    "model refuses": hangs_up,
    "model cut": lambda: cut(answer_object("this sentence never ends " * 20), at=300),
    "model garbage": garbage,
    "model 429": lambda: status(429, Retry_After="1"),
    "model 5xx": lambda: status(503),
}
