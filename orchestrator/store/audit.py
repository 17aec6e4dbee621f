"""Rows of the audit log: append and search."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import Any

_MAX_WORDS = 50


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One thing that happened."""

    id: int
    at: float
    kind: str
    agent: str | None
    user: int | None
    turn: int | None
    text: str
    detail: dict[str, Any]


def add(
    db: sqlite3.Connection,
    kind: str,
    text: str,
    *,
    now: float,
    agent: str | None = None,
    user: int | None = None,
    turn: int | None = None,
    detail: dict[str, Any] | None = None,
) -> None:
    """Append a row: ``text`` is what a person searches for, ``detail`` the exact facts."""
    db.execute(
        "INSERT INTO audit (at, kind, agent, user, turn, text, detail) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (now, kind, agent, user, turn, text, json.dumps(detail or {}, ensure_ascii=False)),
    )


def search(
    db: sqlite3.Connection,
    *,
    words: str = "",
    agent: str | None = None,
    kind: str | None = None,
    before: int | None = None,
    limit: int = 100,
) -> list[AuditRow]:
    """The newest rows that match everything given, newest first; ``before`` is the id to go on from."""
    wanted: list[tuple[str, Any]] = []
    if words.replace("\0", " ").strip():
        wanted.append(("id IN (SELECT rowid FROM audit_fts WHERE audit_fts MATCH ?)", _match(words)))
    if agent is not None:
        wanted.append(("agent = ?", agent))
    if kind is not None:
        wanted.append(("kind = ?", kind))
    if before is not None:
        wanted.append(("id < ?", before))
    where = " AND ".join(clause for clause, _ in wanted) or "1"
    rows = db.execute(
        f"SELECT * FROM audit WHERE {where} ORDER BY id DESC LIMIT ?",  # noqa: S608 - clauses above, values bound
        (*(value for _, value in wanted), limit),
    )
    return [AuditRow(**{**dict(row), "detail": json.loads(row["detail"])}) for row in rows]


def _match(words: str) -> str:
    """An FTS5 query that asks for every word, quoted so that no word is taken for an operator. NUL would end it."""
    return " ".join('"' + word.replace('"', '""') + '"' for word in words.replace("\0", " ").split()[:_MAX_WORDS])
