"""What a message holds, read from Telegram's JSON: text, command, files, what it answers. Pure.

Everything is read leniently: a field of the wrong type counts as missing, half characters are replaced, numbers beyond
what Telegram and a database row can hold are none. Who may speak at all is decided in ``sorting``.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from orchestrator.channels.chat.agent_text import MARK, quote_text
from orchestrator.channels.chat.events import IncomingFile
from orchestrator.channels.telegram.client_types import BotIdentity
from orchestrator.core.text import one_line

Raw = Mapping[str, Any]
"""An object of Telegram's JSON."""

_MOST = 2**53
"""Telegram's ids fit into a double."""
_NAME_CHARS = 64
_ID_CHARS = 500
_TYPE_CHARS = 100


@dataclass(frozen=True, slots=True)
class ParsedText:
    """The words of a message."""

    text: str
    """Without the mention of the bot."""
    command: str = ""
    argument: str = ""
    is_addressed: bool = False
    """It names the bot: by a mention, or as ``/command@bot``."""
    is_for_another: bool = False
    """It is a ``/command@somebody_else``."""


class _Change(NamedTuple):
    """A stretch of the text, in UTF-16 units, that is read as something else."""

    start: int
    end: int
    instead: str


# --- reading leniently ------------------------------------------------------------------------------------------


def object_field(raw: Raw, name: str) -> Raw:
    """The object in this field; an empty one where there is none."""
    value = raw.get(name)
    return value if isinstance(value, dict) else {}


def objects_field(raw: Raw, name: str) -> list[Raw]:
    """The objects of the list in this field."""
    value = raw.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def int_field(raw: Raw, name: str) -> int | None:
    """The whole number in this field."""
    value = raw.get(name)
    return value if type(value) is int and -_MOST < value < _MOST else None


def text_field(raw: Raw, name: str) -> str:
    """The text in this field, every half character replaced; empty where there is none."""
    value = raw.get(name)
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def line_field(raw: Raw, *names: str) -> str:
    """What these fields say, on one line and not too long: what somebody or something is called."""
    return one_line(" ".join(filter(None, (text_field(raw, name).strip() for name in names))), _NAME_CHARS)


# --- the words --------------------------------------------------------------------------------------------------


def message_text(message: Raw, me: BotIdentity) -> ParsedText:
    """The text or caption, or what a place or a contact says in a sentence."""
    name = "text" if "text" in message else "caption"
    units, text = _Units(text_field(message, name)), text_field(message, name)
    if not text:
        return ParsedText(_place(message) or _contact(message))
    entities = list(_entities(message, "entities" if name == "text" else "caption_entities"))
    is_addressed = any(_is_mention(units, entity, me) for entity in entities)
    if name == "text" and entities and (entities[0].type, entities[0].start) == ("bot_command", 0):
        return _command(units, entities[0], me, is_mentioned=is_addressed)
    changes = [change for entity in entities for change in _changes(units, entity, me)]
    return ParsedText(units.changed(changes).strip(), is_addressed=is_addressed)


class _Units:
    """A text whose places are counted in UTF-16 units."""

    def __init__(self, text: str) -> None:
        self._bytes = text.encode("utf-16-le")

    def cut(self, start: int, end: int) -> str:
        """A stretch of it; nothing where that would be outside."""
        return self._bytes[2 * max(start, 0) : 2 * max(end, 0)].decode("utf-16-le", "replace")

    def changed(self, changes: list[_Change]) -> str:
        """The whole, some stretches read as something else; of two that overlap the first counts."""
        pieces, at = [], 0
        for start, end, instead in sorted(changes):
            if start < at:
                continue
            pieces += [self.cut(at, start), instead]
            at = end
            if not instead and (not pieces[-2] or pieces[-2][-1].isspace()) and self.cut(at, at + 1) == " ":
                at += 1  # what is taken out leaves one space behind, not two
        return "".join([*pieces, self.cut(at, len(self._bytes) // 2)])


@dataclass(frozen=True, slots=True)
class _Entity:
    type: str
    start: int
    end: int
    raw: Raw


def _entities(message: Raw, name: str) -> Iterator[_Entity]:
    for raw in objects_field(message, name):
        start, length = int_field(raw, "offset"), int_field(raw, "length")
        if start is not None and length is not None and start >= 0 and length > 0:
            yield _Entity(text_field(raw, "type"), start, start + length, raw)


def _command(units: _Units, entity: _Entity, me: BotIdentity, *, is_mentioned: bool) -> ParsedText:
    name, at, owner = units.cut(1, entity.end).partition("@")
    argument = units.cut(entity.end, _MOST).strip()
    is_mine = bool(at) and _is_my_name(owner, me)
    if at and not is_mine:
        return ParsedText(units.cut(0, _MOST).strip(), is_for_another=True)
    text = f"/{name} {argument}".strip()
    return ParsedText(text, command=name.lower(), argument=argument, is_addressed=is_mine or is_mentioned)


def _is_my_name(username: str, me: BotIdentity) -> bool:
    return bool(me.username) and username.casefold() == me.username.casefold()


def _is_mention(units: _Units, entity: _Entity, me: BotIdentity) -> bool:
    """By the numeric id where Telegram gives one, else by the name, which within Telegram only this bot has."""
    if entity.type == "text_mention":
        return int_field(object_field(entity.raw, "user"), "id") == me.bot
    return entity.type == "mention" and _is_my_name(units.cut(entity.start, entity.end).removeprefix("@"), me)


def _changes(units: _Units, entity: _Entity, me: BotIdentity) -> Iterator[_Change]:
    if _is_mention(units, entity, me):
        yield _Change(entity.start, entity.end, "")
    elif entity.type == "text_link" and (url := text_field(entity.raw, "url")):
        yield _Change(entity.start, entity.end, f"{units.cut(entity.start, entity.end)} ({url})")


def _place(message: Raw) -> str:
    venue = object_field(message, "venue")
    where = object_field(venue or message, "location")
    spots = [where.get(name) for name in ("latitude", "longitude")]
    if not all(type(spot) in (int, float) for spot in spots):
        return ""
    named = ", ".join(filter(None, (line_field(venue, "title"), line_field(venue, "address"))))
    return f"A place: {named + ', ' if named else ''}latitude {spots[0]}, longitude {spots[1]}."


def _contact(message: Raw) -> str:
    contact = object_field(message, "contact")
    phone = line_field(contact, "phone_number")
    return f"A contact: {line_field(contact, 'first_name', 'last_name')}, {phone}." if phone else ""


# --- what it answers --------------------------------------------------------------------------------------------


def quoted_line(message: Raw, sender: int, me: BotIdentity) -> str:
    """From whom it was forwarded, or what it replies to, as a line that says so and the quote."""
    if "forward_origin" in message:
        return f"Forwarded from {_source(object_field(message, 'forward_origin'))}:"
    replied = object_field(message, "reply_to_message")
    chosen = text_field(object_field(message, "quote"), "text")
    text = chosen or text_field(replied, "text") or text_field(replied, "caption")
    author = int_field(object_field(replied, "from"), "id")
    if author == me.bot and not chosen and text.startswith(MARK):
        text = text.partition("\n")[2]  # the line that says who speaks
    text = text or ", ".join(f"{file.kind}: {one_line(file.name, _NAME_CHARS)}" for file in list_files(replied))
    if not text.strip():
        return ""
    whose = (
        "you"
        if author == me.bot
        else "I"
        if author == sender
        else line_field(object_field(replied, "from"), "first_name")
    )
    return f"In reply to what {whose or 'someone'} wrote:\n{quote_text(text)}"


def other_author(message: Raw, sender: int, me: BotIdentity) -> str:
    """Who wrote what the message passes on or replies to; empty where that is its sender or the bot, or nothing."""
    if "forward_origin" in message:
        origin = object_field(message, "forward_origin")
        return "" if int_field(object_field(origin, "sender_user"), "id") == sender else _source(origin)
    author = object_field(object_field(message, "reply_to_message"), "from")
    is_other = int_field(author, "id") not in (me.bot, sender)
    return (line_field(author, "first_name") or "someone") if is_other and quoted_line(message, sender, me) else ""


def _source(origin: Raw) -> str:
    chat = object_field(origin, "sender_chat") or object_field(origin, "chat")
    return (
        line_field(object_field(origin, "sender_user"), "first_name", "last_name")
        or line_field(origin, "sender_user_name")
        or line_field(chat, "title")
        or "somebody"
    )


# --- the files --------------------------------------------------------------------------------------------------


class _FileKind(NamedTuple):
    """How one kind of file is called."""

    field: str
    kind: str
    name: str
    """Where the message gives none."""
    type: str = ""


_FILE_KINDS = (
    # Telegram repeats an animation as a document, so it comes before.
    _FileKind("animation", "animation", "animation.mp4", "video/mp4"),
    _FileKind("document", "document", ""),
    _FileKind("photo", "photo", "photo.jpg", "image/jpeg"),
    _FileKind("voice", "voice", "voice.ogg", "audio/ogg"),
    _FileKind("audio", "audio", ""),
    _FileKind("video", "video", "video.mp4", "video/mp4"),
    _FileKind("video_note", "video note", "video-note.mp4", "video/mp4"),
    _FileKind("sticker", "sticker", "sticker.webp", "image/webp"),
)
_MOVING_STICKERS = {
    "is_video": ("sticker.webm", "video/webm"),
    "is_animated": ("sticker.tgs", "application/x-tgsticker"),
}


def list_files(message: Raw) -> tuple[IncomingFile, ...]:
    """The file that the message carries, if it does; of a photo the largest."""
    for kind in _FILE_KINDS:
        raw = _largest(message) if kind.field == "photo" else object_field(message, kind.field)
        file_id = text_field(raw, "file_id")
        if file_id and len(file_id) <= _ID_CHARS:
            name, type_ = _called(kind, raw)
            return (IncomingFile(file_id, name, kind.kind, max(int_field(raw, "file_size") or 0, 0), type_),)
    return ()


def _called(kind: _FileKind, raw: Raw) -> tuple[str, str]:
    """A file's name and type."""
    if kind.field == "sticker":
        return next((look for flag, look in _MOVING_STICKERS.items() if raw.get(flag) is True), (kind.name, kind.type))
    type_ = text_field(raw, "mime_type")[:_TYPE_CHARS] or kind.type
    return text_field(raw, "file_name") or kind.name or f"{kind.kind}{mimetypes.guess_extension(type_) or ''}", type_


def _largest(message: Raw) -> Raw:
    sizes = objects_field(message, "photo")
    return max(sizes, key=lambda size: (int_field(size, "width") or 0) * (int_field(size, "height") or 0), default={})
