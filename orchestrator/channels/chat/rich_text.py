"""What a message is before an adapter formats it: plain text, and which stretches of it are bold, code or a quote.
Offsets count UTF-16 units. Pure; knows how stretches may lie, nothing of Markdown, of an app or of sending.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from orchestrator.core.text import chat_safe

STYLES = ("bold", "italic", "strikethrough")
"""They may contain one another, and stand in a quote; never in or around code."""
CODE = ("pre", "code")
"""They contain nothing."""
_ORDER = {"blockquote": 0, "bold": 1, "italic": 2, "strikethrough": 3, "code": 4, "pre": 4}
_BLANK = frozenset(ord(char) for char in map(chr, range(0x10000)) if char.isspace())


@dataclass(frozen=True, slots=True)
class TextEntity:
    """A stretch of a text and what it is."""

    type: str
    """``bold``, ``italic``, ``strikethrough``, ``code``, ``pre`` or ``blockquote``; never a link, whose target would
    hide behind its text."""
    offset: int
    length: int
    url: str | None = None
    """Always None in what is made here."""
    language: str | None = None
    """Of a ``pre``."""

    @property
    def end(self) -> int:
        """The first unit after it."""
        return self.offset + self.length


@dataclass(frozen=True, slots=True)
class RichText:
    """A text with its entities, sorted by where they begin, the outer ones first."""

    text: str
    entities: tuple[TextEntity, ...] = ()

    @property
    def units(self) -> int:
        """Its length as limits count it."""
        return utf16_len(self.text)


def utf16_len(text: str) -> int:
    """The length of the text in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def plain_text(text: str) -> RichText:
    """The text as it is written, made safe to look at."""
    return RichText(chat_safe(text.replace("\r\n", "\n").replace("\r", "\n")).strip("\n").rstrip())


def move_entities(entities: Iterable[TextEntity], by: int) -> tuple[TextEntity, ...]:
    """The entities, so much further on."""
    return tuple(replace(entity, offset=entity.offset + by) for entity in entities)


def clip_entities(entities: Iterable[TextEntity], start: int, end: int) -> Iterator[TextEntity]:
    """What of the entities lies between two places, measured from the first."""
    for entity in entities:
        first, last = max(entity.offset, start), min(entity.end, end)
        if first < last:
            yield replace(entity, offset=first - start, length=last - first)


def normalize_entities(text: str, entities: Iterable[TextEntity]) -> tuple[TextEntity, ...]:
    """The entities as chat apps take them: within the text, none empty or blank at its ends, none within its like, and
    the styles interrupted where there is code.

    The entities given must nest: of any two, one contains the other, or they don't touch.
    """
    units = text.encode("utf-16-le", "surrogatepass")
    ready = [trim for entity in entities if (trim := _trimmed(units, entity))]
    codes = sorted((e for e in ready if e.type in CODE), key=lambda e: e.offset)
    kept = list(codes)
    for kind in ("blockquote", *STYLES):
        outermost = _outermost(e for e in ready if e.type == kind)
        kept += outermost if kind == "blockquote" else _around(units, outermost, codes)
    return tuple(sorted(kept, key=lambda e: (e.offset, -e.length, _ORDER[e.type])))


def _outermost(entities: Iterable[TextEntity]) -> list[TextEntity]:
    found: list[TextEntity] = []
    for entity in sorted(entities, key=lambda e: (e.offset, -e.length)):
        if not found or entity.offset >= found[-1].end:
            found.append(entity)
    return found


def _around(units: bytes, styles: Iterable[TextEntity], codes: list[TextEntity]) -> Iterator[TextEntity]:
    """The styles without the stretches of code."""
    starts = [code.offset for code in codes]
    for style in styles:
        at, n = style.offset, max(bisect_right(starts, style.offset) - 1, 0)
        while n < len(codes) and codes[n].offset < style.end:
            if codes[n].end > at:
                yield from _part(units, style, at, codes[n].offset)
                at = codes[n].end
            n += 1
        yield from _part(units, style, at, style.end)


def _part(units: bytes, style: TextEntity, start: int, end: int) -> Iterator[TextEntity]:
    if start < end and (part := _trimmed(units, replace(style, offset=start, length=end - start))):
        yield part


def _trimmed(units: bytes, entity: TextEntity) -> TextEntity | None:
    """The entity without blanks at its ends; a block keeps the indentation of its first line, so that a quote
    does not begin after the code that it begins with."""
    start, end = max(entity.offset, 0), min(entity.end, len(units) // 2)
    while start < end and _unit(units, end - 1) in _BLANK:
        end -= 1
    first = start
    while first < end and _unit(units, first) in _BLANK:
        if entity.type not in ("pre", "blockquote") or _unit(units, first) == ord("\n"):
            start = first + 1
        first += 1
    return replace(entity, offset=start, length=end - start) if start < end else None


def _unit(units: bytes, n: int) -> int:
    return units[2 * n] | units[2 * n + 1] << 8
