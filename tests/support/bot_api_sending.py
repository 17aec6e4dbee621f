"""How a bot's message comes into a chat: who sends it, to whom it replies, under which limits."""

from __future__ import annotations

import copy
import math
import time
from typing import Any

from tests.support.bot_api_rules import Json, Refused, check_markup, refuse, words
from tests.support.bot_api_world import Bot, Call, Room, World

_REPLY_KEYS = words(
    "message_id chat_id allow_sending_without_reply quote quote_parse_mode quote_entities quote_position "
    "checklist_task_id poll_option_id"
)


def opening(world: World, bot: Bot, call: Call) -> tuple[Room, Json]:
    """The chat, and the part of a new message that doesn't depend on what is sent."""
    given = call.parameters
    room = world.room_for(bot, given.get("chat_id"))
    _check_flood(world, room)
    message: Json = {"from": copy.deepcopy(bot.user_as_sender())}
    if room.chat["type"] == "channel":
        message = {"sender_chat": copy.deepcopy(room.chat)}
    markup = check_markup(given.get("reply_markup"))
    if markup:
        message["reply_markup"] = markup
    replied = _replied(room, given)
    if replied:
        message["reply_to_message"] = _without_reply(replied)
    if "message_thread_id" in given:
        message |= _in_topic(room, given["message_thread_id"])
    if given.get("protect_content"):
        message["has_protected_content"] = True
    return room, message


def finish(world: World, room: Room, message: Json) -> Json:
    """Keeps the message; what the bot is answered with is a copy."""
    room.last_sent = time.monotonic()
    kept = room.add(copy.deepcopy(message))
    world.changed.notify_all()
    return copy.deepcopy(kept)


def _in_topic(room: Room, thread: int) -> Json:
    if room.topics is None:
        return {"message_thread_id": thread}
    if thread not in room.topics:
        refuse("message thread not found")
    return {"message_thread_id": thread, "is_topic_message": True}


def _check_flood(world: World, room: Room) -> None:
    if world.chat_pause_s is None:
        return
    left = world.chat_pause_s - (time.monotonic() - room.last_sent)
    if left > 0:
        wait = math.ceil(left)
        raise Refused(429, f"Too Many Requests: retry after {wait}", retry_after=wait)


def _replied(room: Room, given: Json) -> Json | None:
    reply: Any = given.get("reply_parameters")
    if reply is None and "reply_to_message_id" in given:
        lenient = given.get("allow_sending_without_reply", False)
        reply = {"message_id": given["reply_to_message_id"], "allow_sending_without_reply": lenient}
    if reply is None:
        return None
    if not isinstance(reply, dict) or not set(reply) <= _REPLY_KEYS or not isinstance(reply.get("message_id"), int):
        refuse("can't parse reply parameters JSON object")
    found = room.find(reply["message_id"])
    if found is None and not reply.get("allow_sending_without_reply"):
        refuse("message to be replied not found")
    return found


def _without_reply(message: Json) -> Json:
    """A message within a message names no further one."""
    return {key: value for key, value in message.items() if key != "reply_to_message"}
