"""What the program inside said, and the verdict. It comes from a cubicle, so nothing of it is shown: it is read as
fixed names and counted against a table, and what is not in the table counts for nothing.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from orchestrator.core.errors import BadInput
from orchestrator.core.strict_json import read_object
from orchestrator.operations.proof.attempts import BY_ID, DONE, LIMITED, NOTHING, REFUSED, TIMEOUT, UNRESOLVED, Attempt

MOST_BYTES = 32 * 1024
_MOST_ITEMS = 200
_BROUGHT = re.compile(r"[A-Za-z0-9-]{8,80}")
_WORDS = {
    DONE: "It worked",
    NOTHING: "There is nothing to be found",
    TIMEOUT: "No answer came",
    UNRESOLVED: "No such name is known here",
    REFUSED: "HermitShell refused",
    LIMITED: "There is a limit, which was read and not reached",
}


class WallVerdict(StrEnum):
    """How an attempt ended. ``UNCLEAR`` is neither: the program was held up, or nobody could tell."""

    HELD = "held"
    NOT_HELD = "not_held"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Heard:
    """What the program said of one attempt."""

    answers: Mapping[str, str]
    """The answer to each try: ``done``, the name of an error, or another of a few words."""
    brought: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """What came of one attempt."""

    attempt: str
    verdict: WallVerdict
    answers: Mapping[str, str]

    @property
    def about(self) -> Attempt:
        """Which attempt it is."""
        return BY_ID[self.attempt]


def read_words(output: bytes, attempt: Attempt) -> Heard | None:
    """What the program said; None for anything but exactly what it says when nobody meddles."""
    try:
        said = read_object(output[: MOST_BYTES + 1], max_items=_MOST_ITEMS) if len(output) <= MOST_BYTES else {}
    except BadInput:
        return None
    answers, brought = said.get("answers"), said.get("brought")
    if said.get("attempt") != attempt.id or not isinstance(answers, dict) or not isinstance(brought, list):
        return None
    if set(answers) != set(attempt.tries) or not all(is_answer(answer) for answer in answers.values()):
        return None
    words = (word for word in brought if isinstance(word, str))
    return Heard(answers, tuple(word for word in words if _BROUGHT.fullmatch(word)))


def judge(attempt: Attempt, heard: Heard | None, *, has_come: bool | None) -> AttemptOutcome:
    """The verdict. What the host knows comes first; ``has_come`` is None where it can't tell."""
    answers = {} if heard is None else heard.answers
    if has_come:
        return AttemptOutcome(attempt.id, WallVerdict.NOT_HELD, answers)
    if heard is None:
        return AttemptOutcome(attempt.id, WallVerdict.UNCLEAR, {})
    counted = {answer for name, answer in answers.items() if name not in attempt.doubted}
    if any(answer == DONE or answer in attempt.passed_by for answer in counted):
        return AttemptOutcome(attempt.id, WallVerdict.NOT_HELD, answers)
    is_known = attempt.stopped_by.issuperset(counted)
    is_sure = is_known and (has_come is False or not attempt.is_watched)
    return AttemptOutcome(attempt.id, WallVerdict.HELD if is_sure else WallVerdict.UNCLEAR, answers)


def is_answer(value: object) -> bool:
    """One of the few words that a try may answer."""
    return isinstance(value, str) and (value in _WORDS or value == "unknown" or _number_of(value) is not None)


def explain_answer(answer: str) -> str:
    """An answer in words."""
    if answer in _WORDS:
        return _WORDS[answer]
    number = _number_of(answer)
    return "Another answer" if number is None else f"{os.strerror(number)} ({answer})"


def _number_of(name: str) -> int | None:
    return next((number for number, code in errno.errorcode.items() if code == name), None)
