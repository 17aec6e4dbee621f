"""From a text to scenes: what is shown, for how long, and in which colours. Knows letters and seconds, draws nothing.

The same text and length give the same scenes, always.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass, replace
from typing import TypeVar

Run = TypeVar("Run", str, tuple[str, ...])
MOST_WORDS = 14
"""A scene with more can't be read while it is there."""
SHORTEST_S = 0.9
LONGEST_WORD = 24
"""What is longer is broken, so that it need not be written small."""
_OPENING_S, _WORD_S = 1.3, 0.36
_UNHURRIED = 1.8
"""A text that was shown in less than the video's length divided by this is shown again."""
_SENTENCES = re.compile(r"(?<=[.!?…。！？])[\"'”’)»]*\s+")
_CLAUSES = re.compile(r"(?<=[,;:–—])\s+")
_TITLE = re.compile(r"(?:title|titel|titre|título)\s*[::]\s*(?P<text>\S.*)", re.IGNORECASE)
_HEADING = re.compile(r"#{1,6}\s+(?P<text>\S.*)")
_BULLET = re.compile(r"^(?:[-*•–]|\d{1,2}[.)])\s+(?=\S)")
_MARKS = re.compile(r"(\*\*|__|`)(?=\S)(.+?)(?<=\S)\1")
_DROPPED = {"Cc", "Cf", "Cs", "Co", "Cn"}


@dataclass(frozen=True)
class Scene:
    """What is shown at a time."""

    words: tuple[str, ...]
    is_title: bool
    start: float
    end: float
    number: int
    """Which of the text's scenes it is, from 0: the same when it comes again."""


@dataclass(frozen=True)
class Colours:
    """Of one video: two of the ground, its glow, of the letters, of what stands out."""

    ground: tuple[str, str]
    glow: tuple[str, str]
    ink: str
    accent: str


SCHEMES = (
    Colours(("#0b1026", "#1b2a57"), ("#3a56c5", "#7a3fb0"), "#f4f6ff", "#ffb454"),
    Colours(("#06231f", "#0f4a41"), ("#1f9c7c", "#2e6fae"), "#effcf6", "#ffd166"),
    Colours(("#230b1d", "#571a3f"), ("#c2356b", "#6a3fc0"), "#fff3f8", "#ffc2a1"),
    Colours(("#12131a", "#2a2d3a"), ("#4a5670", "#7b5e57"), "#f7f7f4", "#ff7a59"),
    Colours(("#1c0f05", "#53270c"), ("#c9642a", "#8c2f4f"), "#fff6ea", "#ffd23f"),
    Colours(("#03192e", "#0a4266"), ("#1489b8", "#2b4fb5"), "#eefaff", "#7cf5c4"),
    Colours(("#f6efe4", "#ead9c3"), ("#f4c79a", "#e7a6a1"), "#2a211c", "#c8442b"),
    Colours(("#eef3f8", "#d3e0ee"), ("#a9c8ef", "#c9b8ee"), "#16243a", "#2457d6"),
)


def scenes_of(text: str, seconds: float) -> list[Scene]:
    """The scenes, one after the other, filling the time; empty where there is nothing to read."""
    cards = _fitting(_cards(text), seconds)
    if not cards:
        return []
    wishes = [_OPENING_S + _WORD_S * len(words) for words, _ in cards]
    rounds = max(1, int(seconds / (sum(wishes) * _UNHURRIED)))
    scale = seconds / (sum(wishes) * rounds)
    scenes, at = [], 0.0
    for index in range(rounds * len(cards)):
        number = index % len(cards)
        words, is_title = cards[number]
        length = wishes[number] * scale
        scenes.append(Scene(words, is_title, at, at + length, number))
        at += length
    scenes[-1] = replace(scenes[-1], end=seconds)
    return scenes


def colours_of(text: str) -> Colours:
    """A scheme for the text."""
    return SCHEMES[seed_of(text) % len(SCHEMES)]


def seed_of(text: str) -> int:
    """A number that the text alone decides."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:4], "big")


def _cards(text: str) -> list[tuple[tuple[str, ...], bool]]:
    """The words of each scene, and whether it is a title."""
    cards: list[tuple[tuple[str, ...], bool]] = []
    for line in unicodedata.normalize("NFC", text).splitlines():
        plain = _MARKS.sub(r"\2", _BULLET.sub("", _visible(line), count=1))
        title = _TITLE.fullmatch(plain) or _HEADING.fullmatch(plain)
        if title:
            cards += [(part, True) for part in _parts(title["text"])]
        else:
            cards += [(part, False) for sentence in _SENTENCES.split(plain) for part in _parts(sentence)]
    return [card for card in cards if any(char.isalnum() for word in card[0] for char in word)]


def _visible(line: str) -> str:
    kept = "".join(" " if char.isspace() else char for char in line if char == "\t" or _is_drawn(char))
    return " ".join(kept.split())


def _is_drawn(char: str) -> bool:
    return unicodedata.category(char) not in _DROPPED


def _parts(sentence: str) -> list[tuple[str, ...]]:
    """A sentence in pieces that can be read: by its commas, and where that is not enough in even halves."""
    words = _words(sentence)
    if len(words) <= MOST_WORDS:
        return [words]
    parts: list[tuple[str, ...]] = []
    for clause in _CLAUSES.split(sentence):
        words = _words(clause)
        if parts and len(parts[-1]) + len(words) <= MOST_WORDS:
            parts[-1] += words
        else:
            parts += _even(words, -(-len(words) // MOST_WORDS))
    return parts


def _words(text: str) -> tuple[str, ...]:
    return tuple(piece for word in text.split() for piece in _broken(word))


def _broken(word: str) -> list[str]:
    """A word, or its pieces, with hyphens where it is one of a language."""
    pieces = _even(word, -(-len(word) // LONGEST_WORD))
    return [f"{piece}-" if word.isalpha() else piece for piece in pieces[:-1]] + pieces[-1:]


def _even(whole: Run, count: int) -> list[Run]:
    """So many parts, each as long as the others."""
    ends: list[int] = [round(len(whole) * (index + 1) / count) for index in range(count)]
    return [whole[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


def _fitting(cards: list[tuple[tuple[str, ...], bool]], seconds: float) -> list[tuple[tuple[str, ...], bool]]:
    """As many as the time has room for: the shortest neighbours share a scene, so that nothing is left out."""
    cards = list(cards)
    most = max(1, int(seconds / SHORTEST_S))
    while len(cards) > most:
        at = min(range(len(cards) - 1), key=lambda i: len(cards[i][0]) + len(cards[i + 1][0]))
        cards[at : at + 2] = [(cards[at][0] + cards[at + 1][0], cards[at][1] and cards[at + 1][1])]
    return cards
