"""The people and chats of the test's Bot API server: what they do becomes updates for the bots.

A person speaks to a bot (its token, in a private chat) or in a `Group` or `Channel`. Every action returns the message
as the bots get it.
"""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Sequence
from typing import Any

from tests.support.bot_api_media import describe
from tests.support.bot_api_methods import member_object
from tests.support.bot_api_rules import Json, units
from tests.support.bot_api_world import Bot, Room, World

ANONYMOUS_ADMIN: Json = {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"}
TELEGRAM: Json = {"id": 777000, "is_bot": False, "first_name": "Telegram"}
_COMMAND = re.compile(r"(?<!\S)/[A-Za-z0-9_]{1,64}(?:@\w+)?")

Piece = tuple[str, str, bytes]
"""One file of an album: kind, name, bytes."""


def commands_in(text: str) -> list[Json]:
    """The bot_command entities that Telegram makes of a text."""
    return [
        {"type": "bot_command", "offset": units(text[: found.start()]), "length": units(found[0])}
        for found in _COMMAND.finditer(text)
    ]


class Group:
    """A group, supergroup or channel with its members; bots join like anybody."""

    def __init__(self, world: World, chat: Json) -> None:
        self.world = world
        self.id: int = chat["id"]
        self.chat = chat
        with world.changed:
            self.room = world.rooms[world.room_key("", self.id)] = Room(chat)

    def adds(self, *newcomers: str | Person, status: str = "member") -> None:
        """Bots (told by my_chat_member) and people come in."""
        for newcomer in newcomers:
            self._set(newcomer, status)

    def removes(self, *leaving: str | Person) -> None:
        """Bots are kicked, people leave."""
        for one in leaving:
            self._set(one, "kicked" if isinstance(one, str) else "left")

    def anonymous_says(self, text: str) -> Json:
        """An anonymous administrator writes: from 1087968824, in the group's own name."""
        return self._put({"from": ANONYMOUS_ADMIN, "sender_chat": self.chat, "text": text})

    def forwards_a_post(self, text: str, channel: Group) -> Json:
        """The linked channel's post arrives by itself, from 777000."""
        return self._put(
            {"from": TELEGRAM, "sender_chat": channel.chat, "is_automatic_forward": True, "text": text},
        )

    def posts(self, text: str) -> Json:
        """A channel post, which has no `from`."""
        return self._put({"sender_chat": self.chat, "text": text}, kind="channel_post")

    def _put(self, message: Json, kind: str = "message") -> Json:
        with self.world.changed:
            kept = self.room.add(_with_commands(message))
            self.world.push_to_members(self.room, {kind: kept})
            self.world.changed.notify_all()
            return copy.deepcopy(kept)

    def _set(self, one: str | Person, status: str) -> None:
        with self.world.changed:
            user = self.world.bots[one].user_as_sender() if isinstance(one, str) else one.user
            before = self.room.members.get(user["id"], "left")
            self.room.members[user["id"]], self.room.users[user["id"]] = status, user
            if isinstance(one, str):
                change = _member_change(self.room, user, user, before, status)
                self.world.push(self.world.bots[one], {"my_chat_member": change})


class Person:
    """Somebody with a Telegram account."""

    def __init__(self, world: World, user: Json) -> None:
        self.world = world
        self.user = user
        self.id: int = user["id"]

    def opens(self, bot: str) -> None:
        """The private chat exists from now on, without a message."""
        with self.world.changed:
            self._room(bot)

    def says(
        self, where: str | Group, text: str, *, reply_to: Json | None = None, topic: Json | None = None, **more: Any
    ) -> Json:
        """Writes a text, perhaps in a topic; `more` goes into the message as it is (forward_origin, entities …)."""
        return self._put(where, {"text": text, **_in_topic(topic), **_reply(reply_to or topic), **more})

    def opens_topic(self, where: str | Group, name: str) -> Json:
        """Opens a topic; the note of that, to which everything in it replies that replies to nothing else."""
        with self.world.changed:
            room = where.room if isinstance(where, Group) else self._room(where)
            room.topics = room.topics or {}
            note = room.add({"from": copy.deepcopy(self.user), "forum_topic_created": {"name": name, "icon_color": 1}})
            note |= {"message_thread_id": note["message_id"], "is_topic_message": True}
            room.topics[note["message_id"]] = note
            self._tell(room, {"message": note})
            return copy.deepcopy(note)

    def deletes_topic(self, where: str | Group, topic: Json) -> None:
        """Nobody can write in it any more."""
        with self.world.changed:
            room = where.room if isinstance(where, Group) else self._room(where)
            (room.topics or {}).pop(topic["message_id"])

    def edits(self, message: Json, text: str) -> Json:
        """Changes an own message."""
        with self.world.changed:
            room = self._home(message)
            kept = room.find(message["message_id"])
            if kept is None:
                raise LookupError("the message is gone")
            kept.pop("entities", None)
            kept.update(_with_commands({"text": text}), edit_date=int(time.time()))
            self._tell(room, {"edited_message": kept})
            return copy.deepcopy(kept)

    def presses(self, message: Json, text: str | None = None, *, data: str | None = None) -> str:
        """Presses the button with this text, or sends callback data that need not be on any button; the query's id."""
        with self.world.changed:
            room = self._home(message)
            kept = room.find(message["message_id"]) or message
            sender = kept["from"]["id"]
            bot = next(bot for bot in self.world.bots.values() if bot.user["id"] == sender)
            pressed = data if data is not None else _button(kept, text)["callback_data"]
            query_id = f"{sender}0{self.world.number():09d}"
            self.world.queries[query_id] = None
            instance = str(abs(hash((sender, room.chat["id"]))))
            query = {"id": query_id, "from": self.user, "message": kept, "chat_instance": instance, "data": pressed}
            self.world.push(bot, {"callback_query": query})
            return query_id

    def sends_document(self, where: str | Group, name: str, content: bytes, **more: Any) -> Json:
        """Sends a file; `size=` claims another size than the bytes have, `caption=` goes with it."""
        return self._send_file(where, ("document", name, content), more)

    def sends_photo(self, where: str | Group, content: bytes = b"\xff\xd8 a picture", **more: Any) -> Json:
        """Sends a photo."""
        return self._send_file(where, ("photo", "photo.jpg", content), more)

    def sends_voice(self, where: str | Group, content: bytes = b"OggS a voice", **more: Any) -> Json:
        """Sends a voice message."""
        return self._send_file(where, ("voice", "voice.oga", content), more)

    def sends_video(self, where: str | Group, content: bytes = b"a video", **more: Any) -> Json:
        """Sends a video."""
        return self._send_file(where, ("video", "video.mp4", content), more)

    def sends_audio(self, where: str | Group, content: bytes = b"ID3 a song", **more: Any) -> Json:
        """Sends music."""
        return self._send_file(where, ("audio", "song.mp3", content), more)

    def sends_sticker(self, where: str | Group, content: bytes = b"RIFF a sticker", **more: Any) -> Json:
        """Sends a sticker."""
        return self._send_file(where, ("sticker", "sticker.webp", content), more)

    def sends_album(self, where: str | Group, pieces: Sequence[Piece], *, caption: str = "") -> list[Json]:
        """Sends several files at once; the caption is on the first."""
        album = str(self.world.number())
        return [
            self._send_file(where, piece, {"media_group_id": album, **({"caption": caption} if at == 0 else {})})
            for at, piece in enumerate(pieces)
        ]

    def sends_location(self, where: str | Group, latitude: float = 46.9, longitude: float = 7.4) -> Json:
        """Sends a place."""
        return self._put(where, {"location": {"latitude": latitude, "longitude": longitude}})

    def sends_contact(self, where: str | Group, phone: str = "+41000000000", name: str = "Ada") -> Json:
        """Sends an address-book entry."""
        return self._put(where, {"contact": {"phone_number": phone, "first_name": name}})

    def blocks(self, bot: str) -> None:
        """The bot can't write here any more, and is told so."""
        self._change(bot, "member", "kicked")

    def unblocks(self, bot: str) -> None:
        """The bot may write again."""
        self._change(bot, "kicked", "member")

    def _change(self, token: str, before: str, after: str) -> None:
        with self.world.changed:
            room, bot = self._room(token), self.world.bots[token]
            room.is_blocked = after == "kicked"
            change = _member_change(room, self.user, bot.user_as_sender(), before, after)
            self.world.push(bot, {"my_chat_member": change})

    def _send_file(self, where: str | Group, piece: Piece, more: Json) -> Json:
        kind, name, content = piece
        size, mime = more.pop("size", None), more.pop("mime", "")
        reply_to = more.pop("reply_to", None)
        with self.world.changed:
            stored = self.world.keep_file(kind, name, content, mime=mime, size=size)
        shown = {kind: describe(kind, stored)}
        if not more.get("caption"):
            more.pop("caption", None)
        return self._put(where, {**shown, **_reply(reply_to), **more})

    def _put(self, where: str | Group, message: Json) -> Json:
        with self.world.changed:
            room = where.room if isinstance(where, Group) else self._room(where)
            kept = room.add({"from": copy.deepcopy(self.user), **_with_commands(message)})
            self._tell(room, {"message": kept})
            self.world.changed.notify_all()
            return copy.deepcopy(kept)

    def _tell(self, room: Room, update: Json) -> None:
        if room.chat["type"] != "private":
            self.world.push_to_members(room, update)
            return
        token = next(token for (token, _), one in self.world.rooms.items() if one is room)
        self.world.push(self.world.bots[token], update)

    def _room(self, token: str) -> Room:
        bot: Bot = self.world.bots[token]
        key = self.world.room_key(bot.token, self.id)
        if key not in self.world.rooms:
            chat = {"id": self.id, "type": "private", "first_name": self.user["first_name"]}
            users = {self.id: self.user, bot.user["id"]: bot.user_as_sender()}
            members = dict.fromkeys(users, "member")
            self.world.rooms[key] = Room(chat, members=members, users=users, numbers=bot.numbers)
        return self.world.rooms[key]

    def _home(self, message: Json) -> Room:
        """The room where a message is; a private one is told by its messages, for two bots may know the same person."""
        chat_id = message["chat"]["id"]
        if chat_id < 0:
            return self.world.rooms["", chat_id]
        rooms = [room for (_, number), room in self.world.rooms.items() if number == chat_id]
        sender = message["from"]["id"]
        if sender != chat_id:
            return next(room for room in rooms if sender in room.members)
        return next(room for room in rooms if _is_in(room, message))


def _is_in(room: Room, message: Json) -> bool:
    kept = room.find(message["message_id"])
    return kept is not None and kept["from"] == message["from"] and kept.get("text") == message.get("text")


def _with_commands(message: Json) -> Json:
    entities = commands_in(message.get("text", ""))
    return {**({"entities": entities} if entities else {}), **message}


def _reply(to: Json | None) -> Json:
    return {} if to is None else {"reply_to_message": {k: v for k, v in to.items() if k != "reply_to_message"}}


def _in_topic(topic: Json | None) -> Json:
    return {} if topic is None else {"message_thread_id": topic["message_id"], "is_topic_message": True}


def _button(message: Json, text: str | None) -> Json:
    rows = message.get("reply_markup", {}).get("inline_keyboard", [])
    buttons: list[Json] = [button for row in rows for button in row]
    for button in buttons:
        if button["text"] == text and "callback_data" in button:
            return button
    raise LookupError(f"no button says {text!r}; there are {[button['text'] for button in buttons]}")


def _member_change(room: Room, by: Json, user: Json, before: str, after: str) -> Json:
    old, new = member_object(user, before), member_object(user, after)
    return {"chat": room.chat, "from": by, "date": int(time.time()), "old_chat_member": old, "new_chat_member": new}
