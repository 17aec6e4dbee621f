"""Rows of lessons, their words, and where they were told. Every read names the cubicle."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.core.models import CubicleKey

AGENT = "agent"
"""Who noted what an agent noted; otherwise it is a person's name."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What went wrong once, and what to do then."""

    id: int
    cubicle: CubicleKey
    when: str
    fix: str
    holds: str
    """When it holds; empty for nothing said."""
    by: str
    turn: int | None
    at: float
    is_held: bool
    """It was noted after something of strangers was read, and isn't told before a person keeps it."""
    told: int
    """How often it was told with a failure."""
    helped: int
    """How often the next command went well."""
    failed: int
    """How often it didn't."""


@dataclass(frozen=True, slots=True)
class NewLesson:
    """One that is to be kept."""

    when: str
    fix: str
    holds: str
    by: str
    turn: int | None
    is_held: bool


_COLUMNS = "id, agent, user, about, fix, holds, noted_by, turn, at, is_held, told, helped, failed"


def insert_lesson(db: sqlite3.Connection, key: CubicleKey, new: NewLesson, now: float) -> int:
    """Keep one and index its words; its id."""
    cursor = db.execute(
        "INSERT INTO lessons (agent, user, about, fix, holds, noted_by, turn, at, is_held) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (key.agent, key.user, new.when, new.fix, new.holds, new.by, new.turn, now, new.is_held),
    )
    return int(cursor.lastrowid or 0)


def find_same(db: sqlite3.Connection, key: CubicleKey, when: str, fix: str) -> Lesson | None:
    """The lesson of this cubicle that says just that."""
    row = db.execute(
        f"SELECT {_COLUMNS} FROM lessons WHERE agent = ? AND user = ? AND about = ? AND fix = ?",  # noqa: S608 - constant
        (key.agent, key.user, when, fix),
    ).fetchone()
    return None if row is None else _make_lesson(row)


def get_lesson(db: sqlite3.Connection, key: CubicleKey, lesson: int) -> Lesson | None:
    """The lesson of this number; None when it is none of this cubicle's."""
    row = db.execute(
        f"SELECT {_COLUMNS} FROM lessons WHERE id = ? AND agent = ? AND user = ?",  # noqa: S608 - constant
        (lesson, key.agent, key.user),
    ).fetchone()
    return None if row is None else _make_lesson(row)


def list_lessons(db: sqlite3.Connection, key: CubicleKey, *, limit: int, before: int | None = None) -> list[Lesson]:
    """The newest of a cubicle, newest first; ``before`` is an id to page on from."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM lessons WHERE agent = ? AND user = ? AND id < ? ORDER BY id DESC LIMIT ?",  # noqa: S608 - constant
        (key.agent, key.user, before or 2**62, limit),
    )
    return [_make_lesson(row) for row in rows]


def count_lessons(db: sqlite3.Connection, key: CubicleKey) -> int:
    """How many a cubicle has."""
    row = db.execute("SELECT count(*) FROM lessons WHERE agent = ? AND user = ?", (key.agent, key.user)).fetchone()
    return int(row[0])


def search_lessons(db: sqlite3.Connection, key: CubicleKey, terms: Iterable[str], limit: int) -> list[Lesson]:
    """The lessons of this cubicle with any of these words (letters and figures alone), the best first."""
    wanted = " OR ".join(f'"{term}"' for term in terms)
    if not wanted:
        return []
    whose = f"a{key.agent.encode().hex()}u{key.user}"
    found = db.execute(
        "SELECT rowid FROM lesson_words WHERE lesson_words MATCH ? ORDER BY bm25(lesson_words, 0.0, 1.0, 0.3) LIMIT ?",
        (f'{{whose}} : "{whose}" AND {{about fix}} : ({wanted})', limit),
    )
    lessons = (get_lesson(db, key, int(row[0])) for row in found.fetchall())
    return [lesson for lesson in lessons if lesson is not None]


def keep_lesson(db: sqlite3.Connection, lesson: int) -> None:
    """A person agreed to it: it is told from now on."""
    db.execute("UPDATE lessons SET is_held = 0 WHERE id = ?", (lesson,))


def delete_lesson(db: sqlite3.Connection, lesson: int) -> None:
    """It is forgotten, and its words with it."""
    db.execute("DELETE FROM lessons WHERE id = ?", (lesson,))


def list_told(db: sqlite3.Connection, turn: int, n: int) -> list[int]:
    """Which lessons were told with a step."""
    rows = db.execute("SELECT lesson FROM lesson_uses WHERE turn = ? AND n = ? ORDER BY lesson", (turn, n))
    return [int(row[0]) for row in rows]


def insert_uses(db: sqlite3.Connection, turn: int, n: int, lessons: Iterable[int]) -> None:
    """These are told with a step."""
    for lesson in lessons:
        db.execute("INSERT INTO lesson_uses (turn, n, lesson) VALUES (?, ?, ?)", (turn, n, lesson))
        db.execute("UPDATE lessons SET told = told + 1 WHERE id = ?", (lesson,))


def judge_uses(db: sqlite3.Connection, turn: int, n: int, *, helped: bool) -> None:
    """The step after those with which lessons were told has ended: it says whether they helped."""
    uses = "SELECT lesson FROM lesson_uses WHERE turn = ? AND n < ? AND is_judged = 0"
    db.execute(
        f"UPDATE lessons SET helped = helped + ?, failed = failed + ? WHERE id IN ({uses})",  # noqa: S608 - constant
        (int(helped), int(not helped), turn, n),
    )
    db.execute("UPDATE lesson_uses SET is_judged = 1 WHERE turn = ? AND n < ?", (turn, n))


def _make_lesson(row: sqlite3.Row) -> Lesson:
    return Lesson(
        id=row["id"],
        cubicle=CubicleKey(row["agent"], row["user"]),
        when=row["about"],
        fix=row["fix"],
        holds=row["holds"],
        by=row["noted_by"],
        turn=row["turn"],
        at=row["at"],
        is_held=bool(row["is_held"]),
        told=row["told"],
        helped=row["helped"],
        failed=row["failed"],
    )
