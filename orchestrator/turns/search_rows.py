"""The full-text index of conversations: turns that have ended and were not cleared, by their words and by whose they
are. Triggers keep it (``migrations``); here it is only asked.

Whose a turn is stands in the index as one more word, so that a search is as quick in an install full of other
conversations, and never sees them.
"""

from __future__ import annotations

import sqlite3

from orchestrator.core.models import CubicleKey

MAX_CHARS = 2_000
MAX_WORDS = 20
"""Of a query: what is beyond is left out, so that no query costs more than a long one does."""
BEGINS, ENDS = "\x02", "\x03"
"""Around each found word of a passage. Either may be in the text as well, so whoever marks words keeps the balance."""
_PASSAGE_WORDS = 28
_SHORTEST_BEGINNING = 3


def find_turns(
    db: sqlite3.Connection,
    key: CubicleKey,
    words: str,
    *,
    conversation: int | None = None,
    limit: int,
    before: int | None = None,
) -> list[int]:
    """The newest turns that hold every word, newest first, of one conversation or of all of the cubicle's; ``before``
    is the id to go on from."""
    match = _fts_query(key, words)
    if match is None:
        return []
    rows = db.execute(
        "SELECT rowid FROM turn_words WHERE turn_words MATCH ? AND rowid < ? AND (? IS NULL OR ? = "
        "(SELECT conversation FROM turns WHERE id = turn_words.rowid)) ORDER BY rowid DESC LIMIT ?",
        (match, before or 2**62, conversation, conversation, limit),
    )
    return [int(row[0]) for row in rows]


def find_passages(
    db: sqlite3.Connection,
    key: CubicleKey,
    words: str,
    *,
    conversation: int | None = None,
    limit: int,
    before: int | None = None,
) -> list[tuple[int, str, str]]:
    """The same turns, each with where the words stand in it: a few words of the message and of its reply, the found
    ones marked. In one query, because the words are what takes time to look up."""
    match = _fts_query(key, words)
    if match is None:
        return []
    rows = db.execute(
        "SELECT rowid, snippet(turn_words, 1, ?, ?, '…', ?), snippet(turn_words, 2, ?, ?, '…', ?) "
        "FROM turn_words WHERE turn_words MATCH ? AND rowid < ? AND (? IS NULL OR ? = "
        "(SELECT conversation FROM turns WHERE id = turn_words.rowid)) ORDER BY rowid DESC LIMIT ?",
        (*(BEGINS, ENDS, _PASSAGE_WORDS) * 2, match, before or 2**62, conversation, conversation, limit),
    )
    return [(int(row[0]), str(row[1]), str(row[2])) for row in rows]


def _fts_query(key: CubicleKey, words: str) -> str | None:
    """The query in FTS5's language; None without a word. Every word is quoted, so that none is taken for an operator.
    NUL would end it."""
    terms = [_fts_term(word) for word in words[:MAX_CHARS].replace("\0", " ").split()[:MAX_WORDS]]
    wanted = " ".join(filter(None, terms))
    whose = f"a{key.agent.encode().hex()}u{key.user}"
    return f'{{whose}} : "{whose}" AND {{prompt reply}} : ({wanted})' if wanted else None


def _fts_term(word: str) -> str:
    """A word, or what begins with it; nothing for a word of signs alone, which the index does not have."""
    if not any(char.isalnum() for char in word):
        return ""
    quoted = '"' + word.replace('"', '""') + '"'
    return f"{quoted}*" if sum(char.isalnum() for char in word) >= _SHORTEST_BEGINNING else quoted
