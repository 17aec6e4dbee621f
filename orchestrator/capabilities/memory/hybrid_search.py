"""Finding the facts that a text is about: by their words, and by their meaning where there is a model for that.

It reads one cubicle's facts and no other's, whatever the text says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from orchestrator.capabilities.memory import rows
from orchestrator.capabilities.memory.rank_fusion import Found, fuse_ranks
from orchestrator.capabilities.memory.rows import Fact
from orchestrator.core.db.database import Store
from orchestrator.core.fts_query import match_of
from orchestrator.core.models import CubicleKey

MOST_BY_WORDS = 50
MOST_BY_MEANING = 20


class FindsByMeaning(Protocol):
    """Who knows which facts mean something like a text."""

    def find_nearest(self, key: CubicleKey, query: str, *, turn: int | None, limit: int) -> Sequence[Found]:
        """The nearest facts, or none when that can't be told in time. Never raises."""


class NoMeaning:
    """Where no embedding model is set up."""

    def find_nearest(self, key: CubicleKey, query: str, *, turn: int | None, limit: int) -> Sequence[Found]:  # noqa: ARG002  # the protocol's
        """Nothing."""
        return ()


class Search:
    """Looks through a cubicle's facts."""

    def __init__(self, store: Store, meaning: FindsByMeaning) -> None:
        self._store = store
        self._meaning = meaning

    @property
    def is_quick(self) -> bool:
        """It asks nobody outside, so it may be done within a transaction."""
        return isinstance(self._meaning, NoMeaning)

    def find_best(self, key: CubicleKey, query: str, limit: int, *, turn: int | None = None) -> list[Fact]:
        """The facts that fit best, the best first; for an empty query the newest. ``turn`` bears the cost."""
        if not query.strip():
            with self._store.reading() as db:
                return rows.list_facts(db, key, limit=limit)
        by_meaning = self._meaning.find_nearest(key, query, turn=turn, limit=MOST_BY_MEANING)
        match = match_of(query)
        with self._store.reading() as db:
            by_words = [] if match is None else rows.by_words(db, key, match, MOST_BY_WORDS)
            noted_at = rows.noted_times(db, key, {item.id for item in (*by_words, *by_meaning)})
            known = [item for item in by_meaning if item.id in noted_at]
            return rows.of_ids(db, key, fuse_ranks(by_words, known, noted_at=noted_at, limit=limit))
