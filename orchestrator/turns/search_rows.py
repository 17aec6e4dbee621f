"""The full-text index of conversations: turns that have ended and were not cleared, by their words and by whose they
are. Triggers keep it (``migrations``); here it is only asked.

Whose a turn is stands in the index as one more word, so that a search is as quick in an install full of other
conversations, and never sees them. Words are indexed by their English stems, so *hiking* finds *hiked*; a word of
another language stays as it is.

**What fits best comes first.** Any of the words is enough, and BM25 weighs them: a rare one counts more than a common
one. A turn beside another that fits counts more as well, because what is said in one message is often named in the
next. How well that finds things is measured by `bench/recalling.py`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from orchestrator.core.fts_query import list_telling_words
from orchestrator.core.models import CubicleKey

MAX_CHARS = 2_000
MAX_WORDS = 20
"""Of a query: what is beyond is left out, so that no query costs more than a long one does."""
MOST_RANKED = 200
"""So many turns are put in order; who has looked through these asks with other words."""
BEGINS, ENDS = "\x02", "\x03"
"""Around each found word of a passage. Either may be in the text as well, so whoever marks words keeps the balance."""
PASSAGE_WORDS = 28
MOST_PASSAGE_WORDS = 64
"""FTS5 shows no more."""
_SHORTEST_BEGINNING = 3
_MOST_SCORED = 3_000
"""Finding turns is quick, scoring them is not: where more are found, the words that most of them have are left out."""
_NEIGHBOUR = 0.3
"""What a turn's score adds to the one before it and the one after it."""


def find_turns(db: sqlite3.Connection, key: CubicleKey, words: str, *, limit: int) -> list[int]:
    """The newest turns of the cubicle that hold every word, or one that begins with it, newest first."""
    terms = [_fts_term(word) for word in words[:MAX_CHARS].replace("\0", " ").split()[:MAX_WORDS]]
    wanted = " AND ".join(filter(None, terms))
    if not wanted:
        return []
    rows = db.execute(
        "SELECT rowid FROM turn_words WHERE turn_words MATCH ? ORDER BY rowid DESC LIMIT ?",
        (_within(key, wanted), limit),
    )
    return [int(row[0]) for row in rows]


def rank_turns(
    db: sqlite3.Connection,
    key: CubicleKey,
    words: str,
    *,
    conversation: int | None = None,
    since: float = 0.0,
) -> list[int]:
    """The turns that fit the words best, the best first and at most `MOST_RANKED`; of two alike the newer one.

    Args:
        db: the database.
        key: whose turns.
        words: what is looked for, in any form; the last word may be only begun.
        conversation: its turns alone; those of all of the cubicle's for None.
        since: in Unix seconds; what was asked before is left out.
    """
    match, count = _choose_query(db, key, words)
    if not match:
        return []
    # A word that thousands of turns have says nothing of any of them: the newest are as good, and quick to find.
    order = "score" if count <= _MOST_SCORED else "turn_words.rowid"
    score = "-bm25(turn_words, 0.0, 1.0, 1.0)" if count <= _MOST_SCORED else "0.0"
    rows = db.execute(
        f"SELECT turns.id, turns.parent, {score} AS score FROM turn_words "  # noqa: S608 - constants
        "JOIN turns ON turns.id = turn_words.rowid WHERE turn_words MATCH ? "
        f"AND (? IS NULL OR turns.conversation = ?) AND turns.created_at >= ? ORDER BY {order} DESC LIMIT ?",
        (match, conversation, conversation, since, MOST_RANKED),
    )
    scores: dict[int, float] = {}
    parents: dict[int, int] = {}
    for turn, parent, score in rows:
        scores[turn] = score
        if parent is not None:
            parents[turn] = parent
    joint = dict(scores)
    for turn, parent in parents.items():
        if parent in scores:
            joint[turn] += _NEIGHBOUR * scores[parent]
            joint[parent] += _NEIGHBOUR * scores[turn]
    return sorted(joint, key=lambda turn: (-joint[turn], -turn))


def find_passages(
    db: sqlite3.Connection, key: CubicleKey, words: str, turns: Sequence[int], *, length: int = PASSAGE_WORDS
) -> dict[int, tuple[str, str]]:
    """Where the words stand in each of these turns, which were ranked by the same words: so many words of the message
    and of its reply, the found ones marked."""
    terms = _count_terms(db, key, words)
    if not terms or not turns:
        return {}
    rows = db.execute(
        "SELECT rowid, snippet(turn_words, 1, ?, ?, '…', ?), snippet(turn_words, 2, ?, ?, '…', ?) "
        "FROM turn_words WHERE turn_words MATCH ? AND rowid IN (SELECT value FROM json_each(?))",
        (*(BEGINS, ENDS, length) * 2, _within(key, " OR ".join(terms)), json.dumps(list(turns))),
    )
    return {int(row[0]): (str(row[1]), str(row[2])) for row in rows}


def _count_terms(db: sqlite3.Connection, key: CubicleKey, words: str) -> dict[str, int]:
    """Each word that says something, or what begins with it where no turn has it, and how many turns that finds. What
    may be going to be the last word is looked for as well."""
    text = words[:MAX_CHARS].replace("\0", " ")
    counts: dict[str, int] = {}
    telling = list_telling_words(text)
    for word in telling:
        counts[f'"{word}"'] = count = _count(db, _within(key, f'"{word}"'))
        is_begun = word == telling[-1] and text[-1].isalnum()
        if (not count or is_begun) and len(word) >= _SHORTEST_BEGINNING:
            counts[f'"{word}"*'] = _count(db, _within(key, f'"{word}"*'))
    return {term: count for term, count in counts.items() if count}


def _choose_query(db: sqlite3.Connection, key: CubicleKey, words: str) -> tuple[str, int]:
    """The query with the rarest of the terms, as many as may be scored but one at least, and how many turns that finds
    at most; an empty query where nothing is found."""
    counts = _count_terms(db, key, words)
    kept: list[str] = []
    total = 0
    for term in sorted(counts, key=lambda term: counts[term]):
        if kept and total + counts[term] > _MOST_SCORED:
            break
        total += counts[term]
        kept.append(term)
    return (_within(key, " OR ".join(kept)), total) if kept else ("", 0)


def _count(db: sqlite3.Connection, match: str) -> int:
    """How many turns a query finds; one more than may be scored stands for all above that."""
    row = db.execute(
        "SELECT count(*) FROM (SELECT 1 FROM turn_words WHERE turn_words MATCH ? LIMIT ?)", (match, _MOST_SCORED + 1)
    ).fetchone()
    return int(row[0])


def _within(key: CubicleKey, wanted: str) -> str:
    """A query of ours in FTS5's language, for one cubicle's turns. Every word in it is quoted, so that none is taken
    for an operator."""
    whose = f"a{key.agent.encode().hex()}u{key.user}"
    return f'{{whose}} : "{whose}" AND {{prompt reply}} : ({wanted})'


def _fts_term(word: str) -> str:
    """A word, or what begins with it; nothing for a word of signs alone, which the index does not have."""
    if not any(char.isalnum() for char in word):
        return ""
    quoted = '"' + word.replace('"', '""') + '"'
    if sum(char.isalnum() for char in word) < _SHORTEST_BEGINNING:
        return quoted
    return f"({quoted} OR {quoted}*)"
