"""Joining two opinions on which memories belong to a question: by words, and by meaning where there is a model for it.

Scores of different kinds can't be compared, so ranks are (reciprocal rank fusion). When a memory is noted decides only
between what is otherwise alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

RANK_OFFSET = 20
"""How far the second and third may be behind the first: the larger, the closer."""
MEANING_WEIGHT = 1.0
_ALIKE = 0.02
"""Scores within this part of the better one are no reason to prefer it."""
_RECENCY_WEIGHT = 0.02
"""The newest wins over the oldest by as much as a rank or two far down the list."""


@dataclass(frozen=True, slots=True)
class Found:
    """A memory that one way of searching found."""

    id: int
    score: float
    """The higher the better; BM25, which is the lower the better, with its sign turned."""


def fuse_ranks(
    by_words: Sequence[Found], by_meaning: Sequence[Found] = (), *, noted_at: Mapping[int, float], limit: int
) -> list[int]:
    """The ids of the best, the best first. ``noted_at`` has the time of each, in any unit; one without is oldest."""
    points: dict[int, float] = {}
    for found, weight in ((by_words, 1.0), (by_meaning, MEANING_WEIGHT)):
        for id_, rank in _ranks(found).items():
            points[id_] = points.get(id_, 0.0) + weight / (RANK_OFFSET + rank)
    times = {id_: noted_at.get(id_, float("-inf")) for id_ in points}
    newest_first = sorted(points, key=lambda id_: (-times[id_], -id_))
    for place, id_ in enumerate(newest_first):
        points[id_] += _RECENCY_WEIGHT / (RANK_OFFSET + 1 + place)
    return sorted(points, key=lambda id_: (-points[id_], -times[id_], -id_))[: max(0, limit)]


def _ranks(found: Sequence[Found]) -> dict[int, int]:
    """Each one's place from 1; those whose scores are alike share theirs. Only the best score of an id counts."""
    ranks: dict[int, int] = {}
    rank, best = 0, 0.0
    for place, item in enumerate(sorted(found, key=lambda item: -item.score), start=1):
        if rank == 0 or best - item.score > abs(best) * _ALIKE:
            rank, best = place, item.score
        ranks.setdefault(item.id, rank)
    return ranks
