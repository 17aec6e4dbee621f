"""Which tools fit some words: BM25 over names and descriptions. Pure."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

MOST_FOUND = 8
_K, _B = 1.2, 0.75
_NAME_WEIGHT = 3
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ENDINGS = ("ing", "ies", "es", "ed", "s", "y", "e")
_MOST_CHARS = 8_000


@dataclass(frozen=True, slots=True)
class FindableTool:
    """One that may be found."""

    server: str
    name: str
    words: str
    """What its server says of it."""


def find_tools(tools: Sequence[FindableTool], wanted: str) -> list[FindableTool]:
    """Those that fit best, the best first; those that fit not at all are left out."""
    counted = [_count_words(tool) for tool in tools]
    if not counted:
        return []
    average = sum(map(Counter.total, counted)) / len(counted) or 1.0
    asked = set(_split(wanted))
    holding = {word: sum(1 for one in counted if word in one) for word in asked}
    scored = []
    for tool, words in zip(tools, counted, strict=True):
        length = _K * (1 - _B + _B * words.total() / average)
        score = sum(
            math.log(1 + (len(counted) - holding[word] + 0.5) / (holding[word] + 0.5))
            * (words[word] * (_K + 1) / (words[word] + length))
            for word in asked
            if words[word]
        )
        if score:
            scored.append((-score, tool.server, tool.name, tool))
    return [tool for _, _, _, tool in sorted(scored, key=lambda one: one[:3])[:MOST_FOUND]]


def _count_words(tool: FindableTool) -> Counter[str]:
    words = Counter(_split(tool.words[:_MOST_CHARS]))
    for word in _split(f"{tool.server} {tool.name}"):
        words[word] += _NAME_WEIGHT
    return words


def _split(text: str) -> list[str]:
    return [_stem(word) for word in _WORD.findall(_CAMEL.sub(" ", text).lower().replace("_", " "))]


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
