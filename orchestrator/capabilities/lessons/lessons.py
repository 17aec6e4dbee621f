"""Lessons: noted by agents and people, searched, and forgotten. Each belongs to one agent and one person.

One that an agent notes after it has read something of strangers waits until its person keeps it: a web page must not
teach an agent what to do next time.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import Any, Final

from orchestrator.approvals import source_rows
from orchestrator.approvals.grant_rows import conversation_of
from orchestrator.approvals.notification_rows import Notice, Offer
from orchestrator.approvals.notifications import Notifications
from orchestrator.capabilities.capability import Caller, Deeds, Outcome
from orchestrator.capabilities.lessons import rows
from orchestrator.capabilities.lessons.capability import (
    ADD,
    MAX_CHARS,
    MOST_FOUND,
    REMOVE,
    SEARCH,
    LessonAdd,
    LessonPick,
    LessonSearch,
)
from orchestrator.capabilities.lessons.rows import AGENT, Lesson, NewLesson
from orchestrator.core.db import audit_rows
from orchestrator.core.db.database import Store
from orchestrator.core.errors import BadInput, NotFound, TooMany
from orchestrator.core.events import Broker
from orchestrator.core.fts_query import list_telling_words
from orchestrator.core.models import CubicleKey, Event, User
from orchestrator.core.text import in_quotes, one_line

MAX_LESSONS: Final = 5_000
"""Of one cubicle."""
KEEP, FORGET = "lesson:keep", "lesson:forget"
_OFFERS: Final = (Offer("Keep it", KEEP), Offer("Forget it", FORGET))


class Lessons:
    """What every agent has learned from its failures."""

    def __init__(
        self,
        store: Store,
        broker: Broker,
        notifications: Notifications,
        *,
        max_lessons: int = MAX_LESSONS,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._broker, self._notifications = store, broker, notifications
        self._max_lessons, self._now = max_lessons, now
        notifications.on_button(KEEP, self._on_keep)
        notifications.on_button(FORGET, self._on_forget)

    @property
    def deeds(self) -> Deeds:
        """What carries out what agents ask for."""
        return {ADD.name: self._add, SEARCH.name: self._search, REMOVE.name: self._remove}

    # --- people

    def list_lessons(self, key: CubicleKey, *, before: int | None = None, limit: int = 50) -> list[Lesson]:
        """The newest of a cubicle, newest first; ``before`` is an id to page on from."""
        with self._store.reading() as db:
            return rows.list_lessons(db, key, limit=limit, before=before)

    def search_lessons(self, key: CubicleKey, words: str, limit: int = MOST_FOUND) -> list[Lesson]:
        """The lessons that fit best, the best first."""
        with self._store.reading() as db:
            return rows.search_lessons(db, key, list_telling_words(words), limit)

    def get_lesson(self, key: CubicleKey, lesson: int) -> Lesson:
        """The lesson of this number; raises NotFound when it is none of this cubicle's."""
        with self._store.reading() as db:
            return _found(rows.get_lesson(db, key, lesson), lesson)

    def add_lesson(self, key: CubicleKey, when: str, fix: str, holds: str = "", *, by: str) -> Lesson:
        """A person notes one; the same twice stays one. Raises BadInput or TooMany."""
        when, fix, holds = _check_text("when", when), _check_text("fix", fix), _check_text("holds", holds)
        if not when or not fix:
            raise BadInput(f"{'fix' if when else 'when'}: write what happens, and what to do then.")
        with self._store.writing() as db:
            return self._note(db, key, NewLesson(when, fix, holds, by, turn=None, is_held=False))[0]

    def keep_lesson(self, key: CubicleKey, lesson: int, *, by: str) -> Lesson:
        """A lesson that waited is told from now on; again is fine. Raises NotFound."""
        with self._store.writing() as db:
            self._keep(db, key, lesson, by)
        return self.get_lesson(key, lesson)

    def remove_lesson(self, key: CubicleKey, lesson: int, *, by: str) -> None:
        """It is forgotten. Raises NotFound."""
        with self._store.writing() as db:
            self._delete(db, key, lesson, by)

    # --- agents

    def _add(self, db: sqlite3.Connection, caller: Caller, asked: LessonAdd) -> Outcome:
        place = conversation_of(db, caller.turn)
        is_held = bool(source_rows.list_sources(db, caller.key, place))
        new = NewLesson(asked.when, asked.fix, asked.holds, AGENT, caller.turn, is_held)
        lesson, is_new = self._note(db, caller.key, new)
        text = f"Noted as lesson {lesson.id}." if is_new else f"That is lesson {lesson.id} already."
        if lesson.is_held:
            text += " It waits until the person keeps it, as this conversation has read what strangers wrote."
        return Outcome(text, lesson_json(lesson))

    def _search(self, db: sqlite3.Connection, caller: Caller, asked: LessonSearch) -> Outcome:
        limit = max(1, min(asked.limit, MOST_FOUND))
        found = (
            rows.search_lessons(db, caller.key, list_telling_words(asked.query), limit)
            if asked.query.strip()
            else rows.list_lessons(db, caller.key, limit=limit)
        )
        told = [lesson for lesson in found if not lesson.is_held]
        nothing = "No lesson fits." if asked.query.strip() else "There are no lessons yet."
        text = "\n".join(f"{lesson.id}. {describe(lesson)}" for lesson in told) or nothing
        return Outcome(text, {"lessons": [lesson_json(lesson) for lesson in told]})

    def _remove(self, db: sqlite3.Connection, caller: Caller, asked: LessonPick) -> Outcome:
        gone = self._delete(db, caller.key, asked.id, AGENT)
        return Outcome(f"Lesson {gone.id} is forgotten.", {"id": gone.id})

    # --- below

    def _note(self, db: sqlite3.Connection, key: CubicleKey, new: NewLesson) -> tuple[Lesson, bool]:
        known = rows.find_same(db, key, new.when, new.fix)
        if known is not None:
            return known, False
        if rows.count_lessons(db, key) >= self._max_lessons:
            raise TooMany(f"There are {self._max_lessons:,} lessons already, which is the most. Forget some first.")
        lesson = _found(rows.get_lesson(db, key, rows.insert_lesson(db, key, new, self._now())), 0)
        who = "the agent" if new.by == AGENT else new.by
        self._write_audit(db, "lesson.added", f"Noted by {who}: {one_line(new.when, 160)}", lesson)
        if lesson.is_held:
            text = (
                f"{key.agent} noted a lesson after it had read what strangers wrote. It isn't used before you keep it. "
                f"When {in_quotes(lesson.when, 200)}: {in_quotes(lesson.fix, 300)}"
            )
            self._notifications.post(key, "lesson", text, turn=new.turn, subject=str(lesson.id), offers=_OFFERS)
        return lesson, True

    def _keep(self, db: sqlite3.Connection, key: CubicleKey, lesson: int, by: str) -> None:
        found = _found(rows.get_lesson(db, key, lesson), lesson)
        if found.is_held:
            rows.keep_lesson(db, lesson)
            self._write_audit(db, "lesson.kept", f"Kept by {by}: {one_line(found.when, 160)}", found)

    def _delete(self, db: sqlite3.Connection, key: CubicleKey, lesson: int, by: str) -> Lesson:
        gone = _found(rows.get_lesson(db, key, lesson), lesson)
        rows.delete_lesson(db, lesson)
        self._write_audit(db, "lesson.removed", f"Forgotten by {by}: {one_line(gone.when, 160)}", gone)
        return gone

    def _write_audit(self, db: sqlite3.Connection, kind: str, text: str, lesson: Lesson) -> None:
        key = lesson.cubicle
        audit_rows.insert_record(
            db, kind, text, now=self._now(), agent=key.agent, user=key.user, turn=lesson.turn, detail={"id": lesson.id}
        )
        self._store.after_commit(
            lambda: self._broker.publish(Event("memory", key, {"id": lesson.id, "change": kind.partition(".")[2]}))
        )

    def _on_keep(self, db: sqlite3.Connection, notice: Notice, by: User) -> str:
        self._keep(db, notice.cubicle, int(notice.subject), by.name)
        return "Kept. It is told when a command fails like that."

    def _on_forget(self, db: sqlite3.Connection, notice: Notice, by: User) -> str:
        self._delete(db, notice.cubicle, int(notice.subject), by.name)
        return "Forgotten."


def describe(lesson: Lesson) -> str:
    """As an agent reads it: in one line."""
    holds = f" It holds for {in_quotes(lesson.holds, 200)}." if lesson.holds else ""
    return f"When {in_quotes(lesson.when, 300)}: {in_quotes(lesson.fix, MAX_CHARS)}.{holds}"


def lesson_json(lesson: Lesson) -> dict[str, Any]:
    """As programs see it."""
    names = ("id", "when", "fix", "holds", "by", "turn", "at", "is_held", "told", "helped", "failed")
    return {name: getattr(lesson, name) for name in names}


def _found(lesson: Lesson | None, number: int) -> Lesson:
    if lesson is None:
        raise NotFound(f"There is no lesson {number}.")
    return lesson


def _check_text(name: str, text: str) -> str:
    line = " ".join(text.split())
    if len(line) > MAX_CHARS:
        raise BadInput(f"{name}: write at most {MAX_CHARS} characters, not {len(line):,}.")
    if not line.isprintable():
        raise BadInput(f"{name}: it holds a character that can't be seen. Leave it out.")
    return line
