"""Rows of memory: facts that last, each of one agent and one person, and the vectors by which they are found.

A fact's words are indexed in the same transaction, and leave the index with its row, whoever deletes that. Every read
names the cubicle, so no search can see another's.
"""

from __future__ import annotations

import hashlib
import sqlite3
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orchestrator.capabilities.memory import fts_rows as fact_words
from orchestrator.capabilities.memory.rank_fusion import Found
from orchestrator.core.models import CubicleKey

AGENT = "agent"
"""Who noted what an agent noted; otherwise it is a person's name."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing to remember, with where it comes from."""

    id: int
    cubicle: CubicleKey
    text: str
    by: str
    """``agent``, or the name of the person who noted it."""
    turn: int | None
    """In which turn; None when a person noted it."""
    at: float


@dataclass(frozen=True, slots=True)
class Pending:
    """A fact that has no vector of the model yet."""

    id: int
    cubicle: CubicleKey
    text: str


def insert_fact(db: sqlite3.Connection, key: CubicleKey, text: str, *, by: str, turn: int | None, now: float) -> int:
    """Write a fact down and index it; its id."""
    cursor = db.execute(
        "INSERT INTO facts (agent, user, text, sha256, noted_by, turn, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (key.agent, key.user, text, _sha256(text), by, turn, now),
    )
    number = int(cursor.lastrowid or 0)
    fact_words.index_fact(db, number, scope_of(key), text)
    return number


def find_same(db: sqlite3.Connection, key: CubicleKey, text: str) -> Fact | None:
    """The fact of this cubicle that says just that; blanks and line breaks make no difference."""
    row = db.execute(
        "SELECT * FROM facts WHERE agent = ? AND user = ? AND sha256 = ?", (key.agent, key.user, _sha256(text))
    ).fetchone()
    return None if row is None else _fact(row)


def get_fact(db: sqlite3.Connection, key: CubicleKey, fact: int) -> Fact | None:
    """This cubicle's fact of that number."""
    row = db.execute(
        "SELECT * FROM facts WHERE agent = ? AND user = ? AND id = ?", (key.agent, key.user, fact)
    ).fetchone()
    return None if row is None else _fact(row)


def of_ids(db: sqlite3.Connection, key: CubicleKey, ids: Iterable[int]) -> list[Fact]:
    """Those of the facts that are this cubicle's, in the order of ``ids``."""
    found = (get_fact(db, key, number) for number in ids)
    return [fact for fact in found if fact is not None]


def noted_times(db: sqlite3.Connection, key: CubicleKey, ids: Iterable[int]) -> dict[int, float]:
    """When each of these was noted; only of those that are this cubicle's."""
    sql = "SELECT at FROM facts WHERE agent = ? AND user = ? AND id = ?"
    rows = {number: db.execute(sql, (key.agent, key.user, number)).fetchone() for number in ids}
    return {number: float(row["at"]) for number, row in rows.items() if row is not None}


def list_facts(db: sqlite3.Connection, key: CubicleKey, *, before: int | None = None, limit: int = -1) -> list[Fact]:
    """The newest facts of a cubicle, newest first; ``before`` is an id to page on from."""
    rows = db.execute(
        "SELECT * FROM facts WHERE agent = ? AND user = ? AND id < ? ORDER BY id DESC LIMIT ?",
        (key.agent, key.user, before or 2**62, limit),
    )
    return [_fact(row) for row in rows]


def count_facts(db: sqlite3.Connection, key: CubicleKey) -> int:
    """How many facts a cubicle has."""
    row = db.execute("SELECT count(*) FROM facts WHERE agent = ? AND user = ?", (key.agent, key.user)).fetchone()
    return int(row[0])


def delete_fact(db: sqlite3.Connection, key: CubicleKey, fact: int) -> bool:
    """The fact is gone, with its words and its vector; False when this cubicle had none of that number."""
    gone = db.execute("DELETE FROM facts WHERE agent = ? AND user = ? AND id = ?", (key.agent, key.user, fact))
    return gone.rowcount == 1


def by_words(db: sqlite3.Connection, key: CubicleKey, match: str, limit: int) -> list[Found]:
    """The facts of a cubicle that a full-text expression (`recall.words.match_of`) finds, the best first."""
    return [Found(*row) for row in fact_words.search_facts(db, scope_of(key), match, limit)]


def scope_of(key: CubicleKey) -> str:
    """The one word that stands for a cubicle in the index."""
    return f"s{hashlib.sha256(f'{key.agent}/{key.user}'.encode()).hexdigest()[:32]}"


# --- vectors ---------------------------------------------------------------------------------------------------


def list_pending(db: sqlite3.Connection, model: str, *, after: int, limit: int) -> list[Pending]:
    """The next facts that have no vector of this model, by number."""
    rows = db.execute(
        "SELECT id, agent, user, text FROM facts WHERE id > ? AND NOT EXISTS "
        "(SELECT 1 FROM fact_vectors WHERE fact_vectors.fact = facts.id AND model = ?) ORDER BY id LIMIT ?",
        (after, model, limit),
    )
    return [Pending(int(row["id"]), CubicleKey(row["agent"], row["user"]), row["text"]) for row in rows]


def keep_vectors(db: sqlite3.Connection, model: str, vectors: Sequence[tuple[int, bytes]]) -> None:
    """Keep the vectors (number of the fact, 32-bit floats), each in the place of the one before. A fact that was
    deleted meanwhile gets none."""
    db.executemany(
        "INSERT INTO fact_vectors (fact, model, vector) SELECT id, ?, ? FROM facts WHERE id = ? "
        "ON CONFLICT (fact) DO UPDATE SET model = excluded.model, vector = excluded.vector",
        [(model, vector, fact) for fact, vector in vectors],
    )


def get_vectors(db: sqlite3.Connection, key: CubicleKey, model: str) -> list[tuple[int, bytes]]:
    """The vectors of a cubicle's facts, by number."""
    rows = db.execute(
        "SELECT fact, vector FROM fact_vectors WHERE model = ? AND fact IN "
        "(SELECT id FROM facts WHERE agent = ? AND user = ?) ORDER BY fact",
        (model, key.agent, key.user),
    )
    return [(int(row["fact"]), row["vector"]) for row in rows]


def _fact(row: sqlite3.Row) -> Fact:
    return Fact(
        id=row["id"],
        cubicle=CubicleKey(row["agent"], row["user"]),
        text=row["text"],
        by=row["noted_by"],
        turn=row["turn"],
        at=row["at"],
    )


def _sha256(text: str) -> str:
    return hashlib.sha256(" ".join(unicodedata.normalize("NFC", text).split()).encode()).hexdigest()
