"""Rows of questions: what agents asked a person, and the one answer. It is given by one compare-and-set."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass

from orchestrator.agents.access_rows import NOT_CLOSED
from orchestrator.core.models import CubicleKey

PENDING, ANSWERED, EXPIRED, CANCELLED = STATUSES = ("pending", "answered", "expired", "cancelled")

AHEAD_S = 3600.0
"""What was asked so long after now was asked by a clock that has gone back since."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question of an agent to its person."""

    id: str
    cubicle: CubicleKey
    turn: int | None
    """The turn that waits for the answer; None when a program asked that runs beside any turn."""
    text: str
    choices: tuple[str, ...]
    free_text: bool
    """Something else than the choices may be answered."""
    status: str
    """``pending``, ``answered``, ``expired`` or ``cancelled``; only the first can change, once."""
    answer: str | None
    asked_at: float
    expires_at: float
    answered_at: float | None
    """When it ended, however it did."""
    answered_by: str | None
    """Who answered, or why nobody will."""


def insert_question(db: sqlite3.Connection, question: Question) -> None:
    """Write a question down before anybody is asked."""
    db.execute(
        "INSERT INTO questions (id, agent, user, turn, text, choices, free_text, status, asked_at, expires_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            question.id,
            question.cubicle.agent,
            question.cubicle.user,
            question.turn,
            question.text,
            _choices(question.choices),
            question.free_text,
            question.status,
            question.asked_at,
            question.expires_at,
        ),
    )


def get_question(db: sqlite3.Connection, question: str) -> Question | None:
    """The question with this id."""
    row = db.execute("SELECT * FROM questions WHERE id = ?", (question,)).fetchone()
    return None if row is None else _question(row)


def list_questions(
    db: sqlite3.Connection, *, status: str | None = None, user: int | None = None, limit: int = 200
) -> list[Question]:
    """The newest questions that match everything given, newest first."""
    rows = db.execute(
        "SELECT * FROM questions WHERE (:status IS NULL OR status = :status) AND "  # noqa: S608 - constants
        f"(:user IS NULL OR (user = :user AND {NOT_CLOSED.format(user=':user')})) "
        "ORDER BY asked_at DESC, id LIMIT :limit",
        {"status": status, "user": user, "limit": limit},
    )
    return [_question(row) for row in rows]


def find_same_question(db: sqlite3.Connection, question: Question) -> Question | None:
    """The open question of this turn that asks exactly the same, if it still may be answered."""
    row = db.execute(
        "SELECT * FROM questions WHERE status = 'pending' AND agent = ? AND user = ? AND turn IS ? AND text = ? "
        "AND choices = ? AND free_text = ? AND expires_at > ?",
        (
            question.cubicle.agent,
            question.cubicle.user,
            question.turn,
            question.text,
            _choices(question.choices),
            question.free_text,
            question.asked_at,
        ),
    ).fetchone()
    return None if row is None else _question(row)


def count_pending(db: sqlite3.Connection, key: CubicleKey) -> int:
    """How many questions of this cubicle are open."""
    row = db.execute(
        "SELECT COUNT(*) FROM questions WHERE status = 'pending' AND agent = ? AND user = ?", (key.agent, key.user)
    ).fetchone()
    return int(row[0])


def list_of_turn(db: sqlite3.Connection, turn: int) -> list[Question]:
    """What was asked in a turn, in order."""
    rows = db.execute("SELECT * FROM questions WHERE turn = ? ORDER BY asked_at, id", (turn,))
    return [_question(row) for row in rows]


def list_pending_of_turn(db: sqlite3.Connection, turn: int) -> list[str]:
    """The turn's open questions."""
    rows = db.execute("SELECT id FROM questions WHERE status = 'pending' AND turn = ?", (turn,))
    return [str(row["id"]) for row in rows]


def list_pending_of_ended_turns(db: sqlite3.Connection) -> list[str]:
    """Open questions that nobody waits for any more; a crash right after a turn's end leaves them."""
    rows = db.execute(
        "SELECT questions.id FROM questions LEFT JOIN turns ON questions.turn = turns.id "
        "WHERE questions.status = 'pending' AND questions.turn IS NOT NULL "
        "AND (turns.id IS NULL OR turns.status IN ('done', 'failed', 'stopped'))"
    )
    return [str(row["id"]) for row in rows]


def list_overdue(db: sqlite3.Connection, now: float) -> list[str]:
    """The open ones whose time is up; one that was asked long after now, by a clock that has gone back since, would
    wait for ever."""
    rows = db.execute(
        "SELECT id FROM questions WHERE status = 'pending' AND (expires_at <= ? OR asked_at > ?)", (now, now + AHEAD_S)
    )
    return [str(row["id"]) for row in rows]


def end_question(
    db: sqlite3.Connection, question: str, status: str, by: str, now: float, *, answer: str | None = None
) -> bool:
    """End an open question; False when it is open no more. One whose time is up can't be answered either."""
    cursor = db.execute(
        "UPDATE questions SET status = :status, answer = :answer, answered_at = :now, answered_by = :by "
        "WHERE id = :id AND status = 'pending' AND (:status != 'answered' OR expires_at > :now)",
        {"status": status, "answer": answer, "now": now, "by": by, "id": question},
    )
    return cursor.rowcount == 1


def _choices(choices: tuple[str, ...]) -> str:
    return json.dumps(choices, ensure_ascii=False)


def _question(row: sqlite3.Row) -> Question:
    fields = dict(row)
    key = CubicleKey(fields.pop("agent"), fields.pop("user"))
    choices = tuple(json.loads(fields.pop("choices")))
    return Question(**{**fields, "free_text": bool(fields["free_text"])}, cubicle=key, choices=choices)
