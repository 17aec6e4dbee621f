"""The Bot API's methods, except those that send files and those that wait for updates."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

from tests.support.bot_api_media import send_file, send_media_group
from tests.support.bot_api_rules import (
    MAX_TEXT,
    Json,
    check_caption,
    check_entities,
    check_formatting,
    check_markup,
    check_preview,
    check_text,
    refuse,
    units,
    words,
)
from tests.support.bot_api_sending import finish, opening
from tests.support.bot_api_updates import delete_webhook, set_webhook, webhook_info
from tests.support.bot_api_world import Bot, Call, StoredFile, World

MAX_DOWNLOAD = 20 * 1024 * 1024
_ACTIONS = words(
    "typing upload_photo record_video upload_video record_voice upload_voice upload_document choose_sticker "
    "find_location record_video_note upload_video_note"
)
_MEDIA = ("document", "photo", "video", "animation", "audio", "voice")
_SCOPES = {
    "default": set[str](),
    "all_private_chats": set[str](),
    "all_group_chats": set[str](),
    "all_chat_administrators": set[str](),
    "chat": {"chat_id"},
    "chat_administrators": {"chat_id"},
    "chat_member": {"chat_id", "user_id"},
}
_NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same as a current content "
    "and reply markup of the message"
)
_OLD_QUERY = "query is too old and response timeout expired or query ID is invalid"


def send_message(world: World, bot: Bot, call: Call) -> Json:
    """sendMessage."""
    content = _text_content(call.parameters)
    room, message = opening(world, bot, call)
    return finish(world, room, {**message, **content})


def _text_content(given: Json) -> Json:
    text = check_formatting(check_text(given.get("text")), given.get("parse_mode"))
    check_preview(given.get("link_preview_options"))
    content: Json = {"text": check_text(text)}
    entities = check_entities(given.get("entities"), text)
    if entities:
        content["entities"] = entities
    if given.get("link_preview_options"):
        content["link_preview_options"] = given["link_preview_options"]
    return content


def send_draft(world: World, bot: Bot, call: Call) -> bool:
    """sendMessageDraft: nothing is kept but the call."""
    given = call.parameters
    room = world.room_for(bot, given.get("chat_id"))
    if room.chat["type"] != "private":
        refuse("TEXTDRAFT_PEER_INVALID")
    if not given.get("draft_id"):
        refuse("invalid draft_id specified")
    text = check_formatting(given.get("text", ""), given.get("parse_mode"))
    if units(text) > MAX_TEXT:
        refuse("message is too long")
    check_entities(given.get("entities"), text)
    return True


def edit_text(world: World, bot: Bot, call: Call) -> Json:
    """editMessageText."""
    content = _text_content(call.parameters)
    return _edit(world, bot, call, field="text", content=content, old=("text", "entities", "link_preview_options"))


def edit_caption(world: World, bot: Bot, call: Call) -> Json:
    """editMessageCaption."""
    given = call.parameters
    caption = check_formatting(check_caption(given.get("caption")) or "", given.get("parse_mode"))
    entities = check_entities(given.get("caption_entities"), caption)
    content: Json = {"caption": caption} if caption else {}
    if entities:
        content["caption_entities"] = entities
    return _edit(world, bot, call, field="caption", content=content, old=("caption", "caption_entities"))


def edit_markup(world: World, bot: Bot, call: Call) -> Json:
    """editMessageReplyMarkup."""
    return _edit(world, bot, call, field="", content={}, old=())


def _edit(world: World, bot: Bot, call: Call, *, field: str, content: Json, old: tuple[str, ...]) -> Json:
    if "inline_message_id" in call.parameters:
        refuse("MESSAGE_ID_INVALID")
    message = _own_message(world, bot, call)
    markup = check_markup(call.parameters.get("reply_markup"), inline_only=True)
    if field == "text" and "text" not in message:
        refuse("there is no text in the message to edit")
    if field == "caption" and not any(kind in message for kind in _MEDIA):
        refuse("there is no caption in the message to edit")
    edited = {key: value for key, value in message.items() if key not in (*old, "reply_markup")}
    edited |= copy.deepcopy(content) | ({"reply_markup": markup} if markup else {})
    if _visible(edited) == _visible(message):
        refuse(_NOT_MODIFIED)
    message.clear()
    message.update(edited, edit_date=int(time.time()))
    world.changed.notify_all()
    return copy.deepcopy(message)


def _visible(message: Json) -> Json:
    return {key: value for key, value in message.items() if key not in ("edit_date", "link_preview_options")}


def _own_message(world: World, bot: Bot, call: Call) -> Json:
    room = world.room_for(bot, call.parameters.get("chat_id"))
    if "message_id" not in call.parameters:
        refuse("message identifier is not specified")
    message = room.find(call.parameters["message_id"])
    if message is None:
        refuse("message to edit not found")
    is_post = room.chat["type"] == "channel"
    if not is_post and message.get("from", {}).get("id") != bot.user["id"]:
        refuse("message can't be edited")
    if _has_keyboard(world, bot, message):
        refuse("message can't be edited")
    return message


def _has_keyboard(world: World, bot: Bot, message: Json) -> bool:
    """It was sent with a reply keyboard; such messages can't be changed."""
    place = (message["chat"]["id"], message["message_id"])
    sent = (call for call in world.calls if call.is_ok and call.token == bot.token and call.method == "sendMessage")
    return any(
        "inline_keyboard" not in (call.parameters.get("reply_markup") or {"inline_keyboard": ()})
        and (call.parameters["chat_id"], (call.answer or {})["result"]["message_id"]) == place
        for call in sent
    )


def delete_message(world: World, bot: Bot, call: Call) -> bool:
    """deleteMessage."""
    room = world.room_for(bot, call.parameters.get("chat_id"))
    message = room.find(call.parameters.get("message_id"))
    if message is None:
        refuse("message to delete not found")
    is_own = message.get("from", {}).get("id") == bot.user["id"]
    is_admin = room.members.get(bot.user["id"]) == "administrator"
    if room.chat["type"] != "private" and not (is_own or is_admin):
        refuse("message can't be deleted")
    room.messages.remove(message)
    world.changed.notify_all()
    return True


def delete_messages(world: World, bot: Bot, call: Call) -> bool:
    """deleteMessages: what isn't there is passed over."""
    room = world.room_for(bot, call.parameters.get("chat_id"))
    numbers = call.parameters.get("message_ids")
    if not isinstance(numbers, list) or not numbers:
        refuse("message identifiers are not specified")
    if len(numbers) > 100:
        refuse("too many message identifiers specified")
    room.messages[:] = [message for message in room.messages if message["message_id"] not in numbers]
    world.changed.notify_all()
    return True


def chat_action(world: World, bot: Bot, call: Call) -> bool:
    """sendChatAction."""
    world.room_for(bot, call.parameters.get("chat_id"))
    if call.parameters.get("action") not in _ACTIONS:
        refuse("wrong parameter action in request")
    return True


def answer_query(world: World, bot: Bot, call: Call) -> bool:
    """answerCallbackQuery: once for each press, and only while it is young."""
    query_id = call.parameters.get("callback_query_id", "")
    if world.queries.get(query_id, {"gone": True}) is not None or not query_id.startswith(f"{bot.user['id']}0"):
        refuse(_OLD_QUERY)
    if units(call.parameters.get("text", "")) > 200:
        refuse("MESSAGE_TOO_LONG")
    world.queries[query_id] = call.parameters
    return True


def react(world: World, bot: Bot, call: Call) -> bool:
    """setMessageReaction."""
    room = world.room_for(bot, call.parameters.get("chat_id"))
    if room.find(call.parameters.get("message_id")) is None:
        refuse("message to react not found")
    reactions = call.parameters.get("reaction") or []
    if not isinstance(reactions, list):
        refuse("can't parse reaction types JSON object")
    for reaction in reactions:
        if not isinstance(reaction, dict) or reaction.get("type") not in ("emoji", "custom_emoji", "paid"):
            refuse("REACTION_INVALID")
    return True


def get_me(world: World, bot: Bot, call: Call) -> Json:
    """getMe."""
    return copy.deepcopy(bot.user)


def get_file(world: World, bot: Bot, call: Call) -> Json:
    """getFile: up to 20 MB."""
    stored = find_file(world, call.parameters.get("file_id", ""))
    if stored is None:
        refuse("invalid file_id")
    if stored.size > MAX_DOWNLOAD:
        refuse("file is too big")
    name = {"file_id": call.parameters["file_id"], "file_unique_id": stored.unique_id}
    return {**name, "file_size": stored.size, "file_path": stored.path}


def find_file(world: World, file_id: str) -> StoredFile | None:
    """The file of an id; the small size of a photo is the same file here."""
    return world.files.get(file_id.removesuffix("_s"))


def _command_scope(given: Json) -> tuple[str, str]:
    scope = given.get("scope") or {"type": "default"}
    if not isinstance(scope, dict) or str(scope.get("type")) not in _SCOPES:
        refuse("can't parse BotCommandScope: unsupported type specified")
    if set(scope) != {"type"} | _SCOPES[scope["type"]]:
        refuse("can't parse BotCommandScope: wrong fields")
    return " ".join(f"{scope[key]}" for key in sorted(scope, reverse=True)), given.get("language_code", "")


def set_commands(world: World, bot: Bot, call: Call) -> bool:
    """setMyCommands."""
    scope = _command_scope(call.parameters)
    commands = call.parameters.get("commands")
    if not isinstance(commands, list) or len(commands) > 100:
        refuse("can't parse commands JSON object")
    for command in commands:
        if not isinstance(command, dict):
            refuse("can't parse BotCommand: expected an Object")
        name, text = str(command.get("command", "")), str(command.get("description", ""))
        is_plain = name.isascii() and name.replace("_", "a").isalnum() and name == name.lower()
        if not is_plain or not 1 <= len(name) <= 32:
            refuse("BOT_COMMAND_INVALID")
        if not 1 <= len(text) <= 256:
            refuse("BOT_COMMAND_DESCRIPTION_INVALID")
    bot.commands[scope] = commands
    return True


def get_commands(world: World, bot: Bot, call: Call) -> list[Json]:
    """getMyCommands."""
    return bot.commands.get(_command_scope(call.parameters), [])


def delete_commands(world: World, bot: Bot, call: Call) -> bool:
    """deleteMyCommands."""
    bot.commands.pop(_command_scope(call.parameters), None)
    return True


def get_chat(world: World, bot: Bot, call: Call) -> Json:
    """getChat."""
    room = world.room_for(bot, call.parameters.get("chat_id"))
    gifts = dict.fromkeys(
        ("unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription", "gifts_from_channels"), False
    )
    return {**room.chat, "accent_color_id": 0, "max_reaction_count": 11, "accepted_gift_types": gifts}


def get_member(world: World, bot: Bot, call: Call) -> Json:
    """getChatMember."""
    room = world.room_for(bot, call.parameters.get("chat_id"))
    user_id = call.parameters.get("user_id")
    if user_id not in room.users:
        refuse("member not found")
    return member_object(room.users[user_id], room.members.get(user_id, "left"))


def member_object(user: Json, status: str) -> Json:
    """A ChatMember with every field that its status has."""
    member: Json = {"user": copy.deepcopy(user), "status": status}
    if status == "creator":
        return {**member, "is_anonymous": False}
    if status == "kicked":
        return {**member, "until_date": 0}
    if status != "administrator":
        return member
    rights = (
        "can_be_edited is_anonymous can_manage_chat can_delete_messages can_manage_video_chats can_restrict_members "
        "can_promote_members can_change_info can_invite_users can_post_stories can_edit_stories can_delete_stories"
    )
    return {**member, **dict.fromkeys(rights.split(), False)}


def leave(world: World, bot: Bot, call: Call) -> bool:
    """leaveChat."""
    room = world.room_for(bot, call.parameters.get("chat_id"))
    if room.chat["type"] == "private":
        refuse("chat member status can't be changed in private chats")
    room.members[bot.user["id"]] = "left"
    return True


def agree(world: World, bot: Bot, call: Call) -> bool:
    """close and logOut."""
    return True


RUN: dict[str, Callable[[World, Bot, Call], Any]] = {
    "getMe": get_me,
    "close": agree,
    "logOut": agree,
    "setWebhook": set_webhook,
    "deleteWebhook": delete_webhook,
    "getWebhookInfo": webhook_info,
    "sendMessage": send_message,
    "sendMessageDraft": send_draft,
    "editMessageText": edit_text,
    "editMessageReplyMarkup": edit_markup,
    "editMessageCaption": edit_caption,
    "deleteMessage": delete_message,
    "deleteMessages": delete_messages,
    "sendChatAction": chat_action,
    "answerCallbackQuery": answer_query,
    "setMessageReaction": react,
    **{f"send{kind.capitalize()}": send_file for kind in _MEDIA},
    "sendMediaGroup": send_media_group,
    "getFile": get_file,
    "setMyCommands": set_commands,
    "getMyCommands": get_commands,
    "deleteMyCommands": delete_commands,
    "getChat": get_chat,
    "getChatMember": get_member,
    "leaveChat": leave,
}
