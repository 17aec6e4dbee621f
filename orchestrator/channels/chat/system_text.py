"""What the install itself says in a chat: words of its own, and words of others marked as such. Pure.

A note begins with the install's mark, which no agent can write. What an agent or a stranger called something stands in
it as code, on one line, so that nothing in it can be tapped, hide something or pass for ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from orchestrator.channels.chat.agent_text import MARK, caption_text
from orchestrator.channels.chat.rich_text import RichText, TextEntity, utf16_len
from orchestrator.core.text import one_line

NOT_THE_MARK = "◇"
_NOTE_UNITS = 4096
_MOST_CODES = 90
_DOT = re.compile(r"(?<=[^\s'])[.。．｡](?=\S)")
_SCHEME = re.compile("://")
_QUOTED = re.compile("“([^“”]*)”")
_LINE_CHARS, _ENDING_CHARS = 1_500, 400
_SIZES = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB"))
_SPANS = ((86_400, "day", "days"), (3_600, "hour", "hours"), (60, "minute", "minutes"))


@dataclass(frozen=True, slots=True)
class QuotedText:
    """A name or a line that somebody else wrote."""

    text: str
    limit: int = 80


NotePart = str | QuotedText
NoteLine = NotePart | tuple[NotePart, ...]


def system_note(title: str, *lines: NoteLine) -> RichText:
    """A message of the install: its title, and lines below it."""
    return caption_text(laid_out(title, lines), _NOTE_UNITS)


def laid_out(title: str, lines: Iterable[NoteLine]) -> RichText:
    """The same at its full length; without a title only the lines."""
    text, entities = (f"{MARK} {title}", [TextEntity("bold", 0, utf16_len(f"{MARK} {title}"))]) if title else ("", [])
    for n, line in enumerate(lines):
        text += "\n" if title or n else ""
        for part in line if isinstance(line, tuple) else (line,):
            if isinstance(part, QuotedText) and (words := show_foreign(part)).strip():
                if len(entities) < _MOST_CODES:
                    entities.append(TextEntity("code", utf16_len(text), utf16_len(words)))
                text += words
            elif isinstance(part, str):
                text += part
    return RichText(text, tuple(entities))


def unlink_text(text: str) -> str:
    """The same to the eye, as long, and nothing in it is an address that could be tapped or previewed."""
    return _SCHEME.sub("∶//", _DOT.sub("․", text))


def quote_in_note(title: str, text: str, *endings: str) -> RichText:
    """A text of the install in which words of others stand between “ and ”: those are code, whatever they hold, and of
    the rest nothing can be tapped. The endings are bold."""
    lines = [_with_quotes(line) for line in text.replace(MARK, NOT_THE_MARK).splitlines()]
    body = caption_text(laid_out(title, lines), _NOTE_UNITS - sum(utf16_len(ending) + 3 for ending in endings))
    entities = list(body.entities)
    words = body.text
    for ending in endings:
        plain = unlink_text(one_line(ending.replace(MARK, NOT_THE_MARK), _ENDING_CHARS))
        words += f"\n\n{plain}"
        entities.append(TextEntity("bold", utf16_len(words) - utf16_len(plain), utf16_len(plain)))
    return RichText(words, tuple(entities))


def _with_quotes(line: str) -> NoteLine:
    """Whoever writes such a text lets no sign of a quote stand within one (``text.in_quotes``)."""
    parts: list[NotePart] = []
    for n, part in enumerate(_QUOTED.split(line)):
        words = one_line(part, _LINE_CHARS)
        if n % 2 and words.strip():
            parts += ["“", QuotedText(part, _LINE_CHARS), "”"]
        else:
            parts.append(f"“{words}”" if n % 2 else unlink_text(words))
    return tuple(parts)


def show_foreign(theirs: QuotedText) -> str:
    """The words of others as they stand in a note: one line, nothing hidden, without our mark."""
    words = one_line(theirs.text, theirs.limit).replace(MARK, NOT_THE_MARK).strip()
    return words or "(no name)"


def format_clock(at: float, zone: str, now: float) -> str:
    """``14:05 CET``, with the day when that is not today's: ``Tue 7 Oct, 14:05 CET``."""
    try:
        place = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):  # zones come and go with the host's packages
        place = ZoneInfo("UTC")
    then, today = (datetime.fromtimestamp(time, UTC).astimezone(place) for time in (at, now))
    day = "" if then.date() == today.date() else f"{then:%a} {then.day} {then:%b}, "
    return f"{day}{then:%H:%M %Z}"


def format_ago(at: float, now: float) -> str:
    """``just now``, ``3 minutes ago``."""
    span = format_duration(now - at)
    return "just now" if span == "a moment" else f"{span} ago"


def format_duration(seconds: float) -> str:
    """``a moment``, ``3 minutes``, ``2 days``."""
    for size, one, many in _SPANS:
        if seconds >= size:
            count = int(seconds // size)
            return f"{count:,} {one if count == 1 else many}"
    return "a moment"


def format_size(count: int) -> str:
    """``17 bytes``, ``1.2 MB``."""
    for unit, name in _SIZES:
        if count >= unit:
            return f"{count / unit:.1f} {name}" if count < 10 * unit else f"{count / unit:,.0f} {name}"
    return "1 byte" if count == 1 else f"{count} bytes"


def format_count(count: int, one: str, more: str = "") -> str:
    """``1 file``, ``3 files``."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def with_rest(lines: Iterable[NoteLine], most: int) -> list[NoteLine]:
    """The first lines, and how many more there are."""
    every = list(lines)
    return every if len(every) <= most else [*every[:most], f"… and {len(every) - most:,} more."]
