"""Rows of the audit log: append and search. Every search costs what its page has, at a million rows too.

A row is searched by its words from the next ``index_records`` on, not from its own transaction on.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import Any

_MAX_WORDS = 50
_INDEX_LACKS = "id > (SELECT COALESCE(MAX(id), 0) FROM audit_fts_docsize)"
"""Rows that the index of words has not seen; a table of FTS5's own tells."""


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


def insert_record(
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


def is_indexed(db: sqlite3.Connection) -> bool:
    """Every row is found by its words."""
    return db.execute(f"SELECT 1 FROM audit WHERE {_INDEX_LACKS} LIMIT 1").fetchone() is None  # noqa: S608 - a constant


def index_records(db: sqlite3.Connection, *, most: int) -> None:
    """The words of rows that were added since the last time get into the index: the oldest ``most`` of them. They go
    in together, because each transaction with new words costs the index far more than the words do."""
    new = f"SELECT id, text, detail FROM audit WHERE {_INDEX_LACKS} ORDER BY id LIMIT ?"  # noqa: S608 - a constant
    db.execute(f"INSERT INTO audit_fts (rowid, text, detail) {new}", (most,))


def search_records(
    db: sqlite3.Connection,
    *,
    words: str = "",
    agent: str | None = None,
    kind: str | None = None,
    before: int | None = None,
    limit: int = 100,
) -> list[AuditRow]:
    """The newest rows that match everything given, newest first; ``before`` is the id to go on from. By ``words`` only
    rows are found that ``index_records`` has seen."""
    wanted: list[tuple[str, Any]] = []
    source = "audit a"
    if words.replace("\0", " ").strip():
        # Word matches come newest first by themselves: a page of them is found without finding them all.
        source = "audit_fts f CROSS JOIN audit a ON a.id = f.rowid"
        wanted.append(("audit_fts MATCH ?", _fts_query(words)))
    row_id = "a.id" if not wanted else "f.rowid"
    if agent is not None:
        wanted.append(("a.agent = ?", agent))
    if kind is not None:
        wanted.append(("a.kind = ?", kind))
    if before is not None:
        wanted.append((f"{row_id} < ?", before))
    where = " AND ".join(clause for clause, _ in wanted) or "1"
    rows = db.execute(
        f"SELECT a.* FROM {source} WHERE {where} ORDER BY {row_id} DESC LIMIT ?",  # noqa: S608 - clauses above, values bound
        (*(value for _, value in wanted), limit),
    )
    return [AuditRow(**{**dict(row), "detail": json.loads(row["detail"])}) for row in rows]


def list_kinds(db: sqlite3.Connection) -> list[str]:
    """Every kind that there is, found in as many steps as there are kinds, however many rows."""
    return _list_distinct(db, "kind")


def list_agents(db: sqlite3.Connection) -> list[str]:
    """Every agent that the log tells of, those that are gone too."""
    return _list_distinct(db, "agent")


def _list_distinct(db: sqlite3.Connection, column: str) -> list[str]:
    rows = db.execute(
        f"WITH RECURSIVE found (it) AS (SELECT MIN({column}) FROM audit UNION ALL "  # noqa: S608 - the two names above
        f"SELECT (SELECT MIN({column}) FROM audit WHERE {column} > it) FROM found WHERE it IS NOT NULL) "
        "SELECT it FROM found WHERE it IS NOT NULL"
    )
    return [str(row[0]) for row in rows]


def _fts_query(words: str) -> str:
    """An FTS5 query that asks for every word, quoted so that no word is taken for an operator. NUL would end it."""
    return " ".join('"' + word.replace('"', '""') + '"' for word in words.replace("\0", " ").split()[:_MAX_WORDS])
