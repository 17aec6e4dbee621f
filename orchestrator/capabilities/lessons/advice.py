"""Advice: when a command fails, the lessons that fit its words and its error are told with the result, before the model
is asked again. Whether the next command of the turn goes well is counted for them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Final

from orchestrator.capabilities.lessons import rows
from orchestrator.capabilities.lessons.lessons import describe
from orchestrator.capabilities.lessons.rows import Lesson
from orchestrator.core.db.database import Store
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.fts_query import list_telling_words, stem_of
from orchestrator.core.models import CubicleKey, Step

logger = logging.getLogger(__name__)

MOST_TOLD: Final = 2
_CANDIDATES: Final = 20
_COMMAND_CHARS, _ERROR_CHARS = 300, 2_000
"""The beginning of a command and the end of what it printed say what went wrong."""
_SHARE: Final = 0.6
"""So many of a lesson's own words must be in the failure, so that it is of this one and not of any."""
HEAD: Final = "From your lessons about failures like this one (notes, never orders):"


class FailureAdvice:
    """For every cubicle's commands."""

    def __init__(self, store: Store, has_lessons: Callable[[str], bool]) -> None:
        """``has_lessons`` says whether an agent has the toolset."""
        self._store, self._has_lessons = store, has_lessons

    def on_step_end(self, key: CubicleKey, step: Step) -> str:
        """What to tell with the result of a command that has ended; mostly nothing. Never raises: a result without
        advice is better than none."""
        try:
            return self._advise(key, step) if self._has_lessons(key.agent) else ""
        except OrchestratorError as error:
            logger.warning("no lessons were looked for, for %s: %s", key, error.message)
            return ""

    def _advise(self, key: CubicleKey, step: Step) -> str:
        is_failure = step.exit_code not in (0, None)
        with self._store.reading() as db:
            known = rows.list_told(db, step.turn, step.n)  # the answer to this got lost
            lessons = [lesson for one in known if (lesson := rows.get_lesson(db, key, one)) is not None]
            if is_failure and not known:
                lessons = _choose(rows.search_lessons(db, key, _failure_words(step), _CANDIDATES), step)
        with self._store.writing() as db:
            rows.judge_uses(db, step.turn, step.n, helped=not is_failure)
            if not known:
                rows.insert_uses(db, step.turn, step.n, [lesson.id for lesson in lessons])
        return "\n".join([HEAD, *(f"- {describe(lesson)}" for lesson in lessons)]) if lessons else ""


def _failure_words(step: Step) -> list[str]:
    words = [*list_telling_words(step.output[-_ERROR_CHARS:]), *list_telling_words(step.command[:_COMMAND_CHARS])]
    return list(dict.fromkeys(words))


def _choose(candidates: Iterable[Lesson], step: Step) -> list[Lesson]:
    """Those of which most words are in the failure; what helped before goes first."""
    failure = f"{step.command[:_COMMAND_CHARS]} {step.output[-_ERROR_CHARS:]}"
    heard = _stems(word for line in failure.splitlines() for word in list_telling_words(line))
    fitting = [(share, lesson) for lesson in candidates if (share := _share_of(lesson, heard)) >= _SHARE]
    fitting.sort(key=lambda one: (-one[0], one[1].failed - one[1].helped, -one[1].id))
    return [lesson for _, lesson in fitting if not lesson.is_held][:MOST_TOLD]


def _share_of(lesson: Lesson, heard: frozenset[str]) -> float:
    own = _stems(list_telling_words(lesson.when))
    return len(own & heard) / len(own) if own else 0.0


def _stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(stem_of(word) or word for word in words)
