"""An agent's text as messages: in pieces that a chat app takes, under a line that says whose it is, which no agent can
write. Pure; sends nothing and knows no app.
"""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.channels.chat.rich_text import RichText, TextEntity, move_entities, utf16_len
from orchestrator.channels.chat.split import MAX_ENTITIES, reach, split_pieces, whole
from orchestrator.core.text import chat_safe

MESSAGE_UNITS = 4096
"""What most chat apps take in a message, in UTF-16 units; no message of the install itself is longer."""
CAPTION_UNITS = 1024
MAX_PIECES = 8
"""A text of more messages than this is better read as a file."""

MARK = "◆"
"""Begins every line of the install's own; in what others wrote it becomes another, so that only the install writes
it.
"""
_NOT_THE_MARK = "◇"
_HEADER_UNITS = 80
_NAME_UNITS = 60
"""Room for the longest header, with its numbers."""


def split_text(rich: RichText, limit: int = MESSAGE_UNITS) -> list[RichText]:
    """The text in pieces of at most ``limit`` UTF-16 units and a hundred entities; none is blank, and of what can be
    seen nothing is missing. A block of code that is cut goes on as one of its own."""
    return list(split_pieces(rich, limit))


def fits_in(rich: RichText, most: int = MAX_PIECES, limit: int = MESSAGE_UNITS) -> bool:
    """Whether it goes out in so many messages of ``limit`` units, each with its header; otherwise send
    :func:`as_file`."""
    return all(n < most for n, _ in enumerate(_bodies(rich, limit)))


def as_file(rich: RichText) -> bytes:
    """The whole text for a file."""
    return (rich.text + "\n").encode("utf-8", "backslashreplace")


def caption_text(rich: RichText, limit: int = CAPTION_UNITS) -> RichText:
    """The text as it fits under a picture or a file; cut, it ends in ``…``."""
    if utf16_len(rich.text) <= limit and len(rich.entities) <= MAX_ENTITIES:
        return rich
    first = next(split_pieces(rich, limit - 1), RichText(""))
    return RichText(first.text + "…", first.entities)


def add_header(agent_name: str, rich: RichText, part: str = "") -> RichText:
    """The agent's text under the line that says whose it is, which no agent can write: it begins with the install's
    mark and is the first of its message. ``part`` is, say, ``2/3``."""
    line = f"{MARK} {safe_name(agent_name)}{f' ({part})' if part else ''}:"
    units = utf16_len(line)
    body = rich.text.replace(MARK, _NOT_THE_MARK)  # as long, so that no entity moves
    entities = (TextEntity("bold", 0, units), *move_entities(rich.entities, units + 1))
    return RichText(f"{line}\n{body}" if body else line, entities[:MAX_ENTITIES])


def safe_name(called: str) -> str:
    """What an agent is called, within a line of the install's own."""
    name = chat_safe(called).replace(MARK, _NOT_THE_MARK)
    return name.encode("utf-16-le", "replace")[: 2 * _NAME_UNITS].decode("utf-16-le", "ignore")


def agent_messages(agent_name: str, rich: RichText, limit: int = MESSAGE_UNITS) -> list[RichText]:
    """The agent's text as messages of at most ``limit`` units, each with its header and numbered where there are
    several."""
    bodies = list(_bodies(rich, limit))
    several = len(bodies) > 1
    return [add_header(agent_name, body, f"{n}/{len(bodies)}" if several else "") for n, body in enumerate(bodies, 1)]


def _bodies(rich: RichText, limit: int) -> Iterator[RichText]:
    """Pieces that leave room for a header."""
    return split_pieces(rich, limit - _HEADER_UNITS, MAX_ENTITIES - 1)


def quote_text(text: str, limit: int = 500) -> str:
    """What a person replied to, as lines that begin with ``> `` and without empty ones, in at most ``limit`` units."""
    lines = [line.strip() for line in chat_safe(text[: 2 * limit]).splitlines() if line.strip()]
    quoted = "\n".join(f"> {line}" for line in lines)
    if utf16_len(quoted) <= limit and len(text) <= 2 * limit:
        return quoted
    end = whole(quoted, 0, reach(quoted, 0, limit - 1))
    return quoted[:end].rstrip() + "…"
