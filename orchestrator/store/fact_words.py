"""The full-text index of memories: one row a fact, found by its words and by whose it is.

Whose it is (the scope, one word such as ``a3u17``) is indexed with the text, so that a search among few facts stays
quick however many others there are, and no search sees another's.
"""

from __future__ import annotations

import re
import sqlite3

TABLE = (
    "CREATE VIRTUAL TABLE fact_words USING fts5("
    "text, scope, tokenize = \"unicode61 remove_diacritics 2\", prefix = '4 5 6')"
)
_SCOPE = re.compile(r"[a-z0-9]{1,40}")


def add(db: sqlite3.Connection, fact: int, scope: str, text: str) -> None:
    """Index one fact under its number."""
    db.execute("INSERT INTO fact_words (rowid, text, scope) VALUES (?, ?, ?)", (fact, text, _checked(scope)))


def remove(db: sqlite3.Connection, fact: int) -> None:
    """The fact is found no more; one that is not there is fine."""
    db.execute("DELETE FROM fact_words WHERE rowid = ?", (fact,))


def search(db: sqlite3.Connection, scope: str, match: str, limit: int) -> list[tuple[int, float]]:
    """The facts of ``scope`` that the expression (`recall.words.match_of`) finds, best first, each with how well."""
    expression = f'{{scope}} : "{_checked(scope)}" AND {{text}} : ({match})'
    rows = db.execute(
        "SELECT rowid, -bm25(fact_words, 1.0, 0.0) AS score FROM fact_words WHERE fact_words MATCH ? "
        "ORDER BY score DESC LIMIT ?",
        (expression, limit),
    )
    return [(int(row[0]), float(row[1])) for row in rows]


def _checked(scope: str) -> str:
    if not _SCOPE.fullmatch(scope):
        raise ValueError("a scope is one word of small letters and figures")
    return scope
