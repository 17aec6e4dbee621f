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
VOCABULARY = "CREATE VIRTUAL TABLE fact_terms USING fts5vocab(fact_words, row)"
"""How many facts hold a word."""
MOST_SCORED = 5_000
"""Finding facts is quick, scoring them is not: where more are found, the words that most facts have are left out."""
_SCOPE = re.compile(r"[a-z0-9]{1,40}")


def index_fact(db: sqlite3.Connection, fact: int, scope: str, text: str) -> None:
    """Index one fact under its number."""
    db.execute("INSERT INTO fact_words (rowid, text, scope) VALUES (?, ?, ?)", (fact, text, _checked(scope)))


def search_facts(db: sqlite3.Connection, scope: str, match: str, limit: int) -> list[tuple[int, float]]:
    """The facts of ``scope`` that the expression (`recall.words.match_of`) finds, best first, each with how well."""
    expression = _within(scope, match)
    if _found(db, expression) > MOST_SCORED:
        expression = _within(scope, _telling(db, match))
    rows = db.execute(
        "SELECT rowid, -bm25(fact_words, 1.0, 0.0) AS score FROM fact_words WHERE fact_words MATCH ? "
        "ORDER BY score DESC LIMIT ?",
        (expression, limit),
    )
    return [(int(row[0]), float(row[1])) for row in rows]


def _within(scope: str, match: str) -> str:
    return f'{{scope}} : "{_checked(scope)}" AND {{text}} : ({match})'


def _found(db: sqlite3.Connection, expression: str) -> int:
    return int(db.execute("SELECT count(*) FROM fact_words WHERE fact_words MATCH ?", (expression,)).fetchone()[0])


def _telling(db: sqlite3.Connection, match: str) -> str:
    """The rarest words of an expression, as many as may be scored; one at least."""
    terms = match.split(" OR ")
    words = [term.strip('"') for term in terms if not term.endswith("*")]
    counts = {word: _holding(db, word) for word in words}
    kept: list[str] = []
    total = 0
    for word in sorted(words, key=lambda word: counts[word]):
        total += counts[word]
        if kept and total > MOST_SCORED:
            break
        kept.append(word)
    return " OR ".join(f'"{word}"' for word in kept)


def _holding(db: sqlite3.Connection, word: str) -> int:
    row = db.execute("SELECT doc FROM fact_terms WHERE term = ?", (word,)).fetchone()
    return 0 if row is None else int(row[0])


def _checked(scope: str) -> str:
    if not _SCOPE.fullmatch(scope):
        raise ValueError("a scope is one word of small letters and figures")
    return scope
