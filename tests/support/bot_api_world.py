"""What the test's Bot API server remembers: bots, chats, messages, files, updates and every call, behind one lock.

Objects that travel (users, chats, messages, updates) are plain dictionaries in the Bot API's own shape. Only the code
that holds `World.changed` may touch anything here; whoever changes something notifies it.
"""

from __future__ import annotations

import copy
import itertools
import mimetypes
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.support.bot_api_rules import Json, Refused, refuse

UNASKED = frozenset(("chat_member", "message_reaction", "message_reaction_count"))
"""Kinds of updates that a bot gets only when it names them."""

GONE = {"left", "kicked"}
FILE_FIELDS = ("document", "photo", "video", "animation", "audio", "voice", "thumbnail", "cover")
"""The parameters that carry files."""


@dataclass(frozen=True)
class Upload:
    """Bytes that came as a part of a multipart request."""

    filename: str
    content: bytes
    content_type: str


@dataclass
class Call:
    """One request to a method, and its outcome: None while it runs, or when it was broken before it was read."""

    number: int
    token: str
    method: str
    parameters: Json
    uploads: dict[str, Upload]
    at: float
    answer: Json | None = None
    is_faulty: bool = False
    """The test broke this one, or its answer, with `fail_next`."""

    @property
    def is_ok(self) -> bool:
        """It was accepted."""
        return bool(self.answer and self.answer["ok"])

    @property
    def error(self) -> str:
        """The description of the refusal, or nothing."""
        return "" if self.answer is None or self.is_ok else str(self.answer["description"])

    @property
    def has_preview_off(self) -> bool:
        """The call says itself that no link preview may be made."""
        options = self.parameters.get("link_preview_options")
        is_disabled = isinstance(options, dict) and options.get("is_disabled") is True
        return is_disabled or self.parameters.get("disable_web_page_preview") is True

    @property
    def named_files(self) -> list[str]:
        """Files that came as a string, an id or something for Telegram to fetch, and not as bytes."""
        media = self.parameters.get("media")
        holders = [self.parameters] + ([item for item in media if isinstance(item, dict)] if media else [])
        given = [holder.get(name) for holder in holders for name in (*FILE_FIELDS, "media")]
        return [one for one in given if isinstance(one, str) and not one.startswith("attach://")]

    @property
    def parse_modes(self) -> list[str]:
        """Every parse mode that the call names, in its media and its reply too."""
        media = self.parameters.get("media")
        reply = self.parameters.get("reply_parameters")
        named = [self.parameters.get("parse_mode")]
        named += [item.get("parse_mode") for item in media if isinstance(item, dict)] if isinstance(media, list) else []
        named += [reply.get("quote_parse_mode")] if isinstance(reply, dict) else []
        return [mode for mode in named if mode]


@dataclass
class StoredFile:
    """A file that Telegram holds; `size` may be claimed larger than the bytes are."""

    file_id: str
    unique_id: str
    path: str
    name: str
    mime: str
    content: bytes
    size: int


@dataclass
class Webhook:
    """Where a bot wants its updates sent; empty means long polling."""

    url: str = ""
    secret: str = ""
    last_error: str = ""
    last_error_at: int = 0


@dataclass
class Bot:
    """One bot with what is waiting for it."""

    token: str
    user: Json
    next_update_id: int
    is_revoked: bool = False
    updates: list[Json] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)
    webhook: Webhook = field(default_factory=Webhook)
    poll_number: int = 0
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    """Of messages: all private chats of a bot take theirs from here."""
    commands: dict[tuple[str, str], list[Json]] = field(default_factory=dict)

    def user_as_sender(self) -> Json:
        """The bot as messages name it, without what only getMe tells."""
        return {name: self.user[name] for name in ("id", "is_bot", "first_name", "username")}

    def wants(self, update: Json) -> bool:
        """The bot asked for this kind of update, or never said."""
        kind = next(key for key in update if key != "update_id")
        return kind in self.allowed if self.allowed else kind not in UNASKED


@dataclass
class Room:
    """One chat as one bot sees it (private), or as all see it (groups and channels)."""

    chat: Json
    members: dict[int, str] = field(default_factory=dict)
    users: dict[int, Json] = field(default_factory=dict)
    messages: list[Json] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    last_sent: float = float("-inf")
    is_blocked: bool = False
    topics: dict[int, Json] | None = None
    """The notes that topics were opened, by their numbers; None where there are no topics."""

    def add(self, message: Json) -> Json:
        """The message as it is kept, with its number and date."""
        kept = {"message_id": next(self.numbers), "date": int(time.time()), "chat": copy.deepcopy(self.chat), **message}
        self.messages.append(kept)
        return kept

    def find(self, message_id: int | None) -> Json | None:
        """The message of that number, if it is still there."""
        return next((kept for kept in self.messages if kept["message_id"] == message_id), None)


class World:
    """Everything that the server knows."""

    def __init__(self) -> None:
        self.changed = threading.Condition(threading.RLock())  # over all below, between requests and the test
        self.bots: dict[str, Bot] = {}
        self.rooms: dict[tuple[str, int], Room] = {}
        self.files: dict[str, StoredFile] = {}
        self.calls: list[Call] = []
        self.queries: dict[str, Json | None] = {}
        self.fetched: list[StoredFile] = []
        self.is_closing = False
        self.is_offline = False
        self.chat_pause_s: float | None = None
        self._numbers = 0

    def number(self) -> int:
        """A number that nothing else has."""
        self._numbers += 1
        return self._numbers

    def authorize(self, token: str) -> Bot:
        """The bot of this token, or 401."""
        bot = self.bots.get(token)
        if bot is None or bot.is_revoked:
            raise Refused(401, "Unauthorized")
        return bot

    def room_key(self, token: str, chat_id: int) -> tuple[str, int]:
        """Private chats belong to one bot, all others are shared."""
        return (token if chat_id > 0 else "", chat_id)

    def room_for(self, bot: Bot, chat_id: int | str | None) -> Room:
        """The chat that a call names, if this bot may speak there."""
        if chat_id is None or chat_id == "":
            refuse("chat_id is empty")
        room = self._named(chat_id) if isinstance(chat_id, str) else self.rooms.get(self.room_key(bot.token, chat_id))
        if room is None:
            refuse("chat not found")
        if room.is_blocked:
            raise Refused(403, "Forbidden: bot was blocked by the user")
        kind = room.chat["type"]
        if kind != "private" and room.members.get(bot.user["id"], "left") in GONE:
            if bot.user["id"] not in room.members:
                refuse("chat not found")
            raise Refused(403, f"Forbidden: bot was kicked from the {kind} chat")
        return room

    def _named(self, name: str) -> Room | None:
        rooms = (room for room in self.rooms.values() if room.chat["type"] != "private")
        return next((room for room in rooms if name == f"@{room.chat.get('username')}"), None)

    def keep_file(self, kind: str, name: str, content: bytes, *, mime: str = "", size: int | None = None) -> StoredFile:
        """Stores bytes under a fresh id."""
        number = self.number()
        guessed = mimetypes.guess_type(name)[0] or "application/octet-stream"
        ending = name.rsplit(".", 1)[-1] if "." in name else "bin"
        safe = ending if ending.isalnum() and ending.isascii() else "bin"
        stored = StoredFile(
            file_id=f"FAKE_{kind}_{number:06d}_AgAD",
            unique_id=f"AQAD{number:06d}",
            path=f"{kind}s/file_{number}.{safe}",
            name=name,
            mime=mime or guessed,
            content=content,
            size=len(content) if size is None else size,
        )
        self.files[stored.file_id] = stored
        return stored

    def push(self, bot: Bot, update: Json, *, is_repeat: bool = False) -> Json:
        """Puts an update in the bot's queue; with `is_repeat` its old number stays."""
        numbered = copy.deepcopy(update)
        if not is_repeat:
            numbered = {"update_id": bot.next_update_id, **{k: v for k, v in numbered.items() if k != "update_id"}}
            bot.next_update_id += 1
        if bot.wants(numbered):
            bot.updates.append(numbered)
            self.changed.notify_all()
        return numbered

    def push_to_members(self, room: Room, update: Json) -> None:
        """Every bot in a group or channel gets the update."""
        for bot in self.bots.values():
            if room.members.get(bot.user["id"], "left") not in GONE:
                self.push(bot, update)

    def wait_for(self, holds: Callable[[], Any], timeout_s: float) -> bool:
        """Waits until the claim holds; False when the time is over or the server ends."""
        with self.changed:
            self.changed.wait_for(lambda: self.is_closing or holds(), timeout_s)
            return bool(holds())
