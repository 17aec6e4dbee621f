"""Cutting a text where a reader would: between paragraphs, lines, sentences or words, and never within a character.
Entities go along with their piece. Pure; knows nothing of what a text means.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

from orchestrator.channels.chat.rich_text import RichText, TextEntity, clip_entities, normalize_entities, utf16_len

MAX_ENTITIES = 100
"""Of one message; chat apps drop the others silently."""

_JOIN_SEARCH = 64
"""How far back a cut looks for the beginning of what belongs together, such as an emoji of many parts."""
_PLACES = (
    re.compile(r"\n[^\S\n]*\n"),
    re.compile(r"\n"),
    re.compile(r"[.!?…]['\")\]»”’]*\s|[。！？]"),
    re.compile(r"\s"),
)
"""Between paragraphs, lines, sentences, words: the best place first."""
_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)+")


def split_pieces(rich: RichText, limit: int, most: int = MAX_ENTITIES) -> Iterator[RichText]:
    """The text in pieces of at most ``limit`` UTF-16 units and ``most`` entities, none of them blank.

    Each is found from where the last one ended, so that a long text takes no more than its length.
    """
    if limit < 2:
        raise ValueError("a piece needs room for one character")
    text, at, units, n = rich.text, 0, 0, 0
    open_: list[TextEntity] = []
    while at < len(text):
        if blank := _BLANK_LINES.match(text, at):
            at, units = blank.end(), units + blank.end() - at
        window = text[at : reach(text, at, limit)]
        last = units + utf16_len(window)
        while n < len(rich.entities) and rich.entities[n].offset < last:
            open_.append(rich.entities[n])
            n += 1
        near = list(clip_entities(open_, units, last))
        if len(near) > most:
            window = window[: max(reach(window, 0, near[most].offset), 1)]
        end = at + len(window)
        if end < len(text):
            tight = [e for e in open_ if e.length <= limit and e.offset >= units]
            end = at + _cut(text[at : end + 2], len(window), [(e.offset - units, e.end - units) for e in tight])
        after = units + utf16_len(text[at:end])
        if body := text[at:end].rstrip():
            yield RichText(body, normalize_entities(body, clip_entities(open_, units, after))[:most])
        open_ = [entity for entity in open_ if entity.end > after]
        at, units = end, after


def reach(text: str, at: int, limit: int) -> int:
    """How far so many units go from a place on, in whole characters."""
    window = text[at : at + limit]
    if window.isascii():
        return at + len(window)
    for n, char in enumerate(window):
        limit -= 2 if char > "\uffff" else 1
        if limit < 0:
            return at + n
    return at + len(window)


def whole(text: str, at: int, end: int) -> int:
    """The last place up to ``end`` that is not within what is drawn as one character; ``end`` itself where there is
    none nearby."""
    for place in range(end, max(at, end - _JOIN_SEARCH), -1):
        if not _is_within(text, at, place):
            return place
    return end


def _cut(text: str, size: int, tight: list[tuple[int, int]]) -> int:
    """Where the first ``size`` characters of a text are best cut, not within a tight stretch (in units) if possible.

    A whole half of the room is not given up for a better place, but for a block that would be whole in the next piece.
    """
    spots = [_spots(place, text, size) for place in _PLACES]
    free = [_free(text, found, tight) for found in spots]
    for least, choices in ((size // 2, free), (size // 8, free[:2]), (size // 2, spots), (1, free), (1, spots)):
        for found in choices:
            if found and found[-1][0] >= least:
                return found[-1][1]
    return whole(text, 0, size)


def _spots(place: re.Pattern[str], text: str, size: int) -> list[tuple[int, int]]:
    """Where what stays ends, and where the rest begins."""
    found = ((match.start() + len(match[0].rstrip()), match.end()) for match in place.finditer(text))
    return [(end, after) for end, after in found if 0 < end <= size]


def _free(text: str, spots: list[tuple[int, int]], tight: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those of the spots that are not within a tight stretch."""
    if not tight or not spots:
        return spots
    units = [0, *accumulate(2 if char > "\uffff" else 1 for char in text)]
    outer: list[tuple[int, int]] = []
    for start, end in tight:
        if not outer or start >= outer[-1][1]:
            outer.append((start, end))
    starts = [start for start, _ in outer]

    def is_free(place: int) -> bool:
        before = bisect_left(starts, units[place]) - 1
        return before < 0 or units[place] >= outer[before][1]

    return [spot for spot in spots if is_free(spot[0])]


def _is_within(text: str, at: int, place: int) -> bool:
    """The characters before and after this place belong together."""
    if not at < place < len(text):
        return False
    before, after = text[place - 1], text[place]
    if before == "\u200d" or after == "\u200d" or unicodedata.category(after) in ("Mn", "Me", "Mc"):
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":  # skin, spelled flags
        return True
    if "\u1160" <= after <= "\u11ff":  # a Korean syllable's second half
        return True
    if not (_is_flag_letter(before) and _is_flag_letter(after)):
        return False
    run = place
    while run > at and _is_flag_letter(text[run - 1]):
        run -= 1
    return (place - run) % 2 == 1


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"
