"""A cubicle's facts as a SQLite file for its agent to read, with their words indexed: ``rag.db``."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.capabilities.memory.rows import Fact
from orchestrator.core.db.published import new_file

_SHAPE = (
    """
    CREATE TABLE facts (
        id INTEGER PRIMARY KEY, text TEXT NOT NULL, noted_by TEXT NOT NULL, turn INTEGER, at TEXT NOT NULL
    )
    """,
    """
    CREATE VIRTUAL TABLE facts_words USING fts5(
        text, content = 'facts', content_rowid = 'id', tokenize = "unicode61 remove_diacritics 2"
    )
    """,
)


def write_facts(path: Path, facts: Iterable[Fact]) -> None:
    """A new file at ``path`` with these facts: table ``facts``, and ``facts_words`` to search it by MATCH."""
    with new_file(path) as db:
        for statement in _SHAPE:
            db.execute(statement)
        db.executemany("INSERT INTO facts VALUES (?, ?, ?, ?, ?)", map(_row, facts))
        db.execute("INSERT INTO facts_words (facts_words) VALUES ('rebuild')")


def _row(fact: Fact) -> tuple[int, str, str, int | None, str]:
    return fact.id, fact.text, fact.by, fact.turn, datetime.fromtimestamp(fact.at, UTC).isoformat(timespec="seconds")
