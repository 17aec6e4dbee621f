"""Which parameters each Bot API method takes, and how their text becomes values.

Unknown parameters are refused, which the real server doesn't do: a misspelt safeguard must not pass a test.
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.bot_api_rules import Json, Refused, refuse, words
from tests.support.bot_api_world import FILE_FIELDS

_INTEGERS = words(
    "message_id message_thread_id direct_messages_topic_id draft_id user_id offset limit timeout cache_time duration "
    "width height start_timestamp max_connections reply_to_message_id"
)
_BOOLEANS = words(
    "disable_notification protect_content allow_paid_broadcast allow_sending_without_reply disable_web_page_preview "
    "show_caption_above_media disable_content_type_detection has_spoiler supports_streaming show_alert is_big "
    "drop_pending_updates"
)
_OBJECTS = words(
    "entities caption_entities link_preview_options reply_parameters reply_markup suggested_post_parameters media "
    "message_ids commands scope allowed_updates reaction"
)
_SENDING = (
    "chat_id message_thread_id direct_messages_topic_id business_connection_id disable_notification protect_content "
    "allow_paid_broadcast message_effect_id suggested_post_parameters reply_parameters reply_markup "
    "reply_to_message_id allow_sending_without_reply"
)
_CAPTION = "caption parse_mode caption_entities"
_PLACE = "business_connection_id chat_id message_id inline_message_id reply_markup"

METHODS: dict[str, frozenset[str]] = {
    method: words(names)
    for method, names in {
        "getMe": "",
        "close": "",
        "logOut": "",
        "getUpdates": "offset limit timeout allowed_updates",
        "setWebhook": "url certificate ip_address max_connections allowed_updates drop_pending_updates secret_token",
        "deleteWebhook": "drop_pending_updates",
        "getWebhookInfo": "",
        "sendMessage": f"{_SENDING} text parse_mode entities link_preview_options disable_web_page_preview",
        # Telegram does not say that it reads the last one here, and leaves unread what it does not know.
        "sendMessageDraft": "chat_id message_thread_id draft_id text parse_mode entities link_preview_options",
        "editMessageText": f"{_PLACE} text parse_mode entities link_preview_options disable_web_page_preview",
        "editMessageReplyMarkup": _PLACE,
        "editMessageCaption": f"{_PLACE} {_CAPTION} show_caption_above_media",
        "deleteMessage": "chat_id message_id",
        "deleteMessages": "chat_id message_ids",
        "sendChatAction": "business_connection_id chat_id message_thread_id action",
        "answerCallbackQuery": "callback_query_id text show_alert url cache_time",
        "setMessageReaction": "chat_id message_id reaction is_big",
        "sendDocument": f"{_SENDING} {_CAPTION} document thumbnail disable_content_type_detection",
        "sendPhoto": f"{_SENDING} {_CAPTION} photo show_caption_above_media has_spoiler",
        "sendVideo": (
            f"{_SENDING} {_CAPTION} video duration width height thumbnail cover start_timestamp "
            "show_caption_above_media has_spoiler supports_streaming"
        ),
        "sendAnimation": (
            f"{_SENDING} {_CAPTION} animation duration width height thumbnail show_caption_above_media has_spoiler"
        ),
        "sendAudio": f"{_SENDING} {_CAPTION} audio duration performer title thumbnail",
        "sendVoice": f"{_SENDING} {_CAPTION} voice duration",
        "sendMediaGroup": " ".join(name for name in _SENDING.split() if name != "reply_markup") + " media",
        "getFile": "file_id",
        "setMyCommands": "commands scope language_code",
        "getMyCommands": "scope language_code",
        "deleteMyCommands": "scope language_code",
        "getChat": "chat_id",
        "getChatMember": "chat_id user_id",
        "leaveChat": "chat_id",
    }.items()
}
FILE_PARAMETERS = frozenset((*FILE_FIELDS, "certificate"))
_BY_LOWER = {name.lower(): name for name in METHODS}


def known_method(name: str) -> str:
    """The method's own spelling; capitals don't matter, as with the real server."""
    method = _BY_LOWER.get(name.lower())
    if method is None:
        raise Refused(404, "Not Found: method not found")
    return method


def read_parameters(method: str, raw: Json, parts: set[str]) -> Json:
    """The values of a call; `parts` are the names of the files that came with it."""
    unknown = set(raw) - METHODS[method]
    if unknown:
        refuse(f"this test server doesn't know the parameter {min(unknown)!r} of {method}")
    strings = _strings(raw)
    if any("\ud800" <= character <= "\udfff" for value in strings for character in value):
        refuse("strings must be encoded in UTF-8")
    attached = {value.removeprefix("attach://") for value in strings if value.startswith("attach://")}
    stray = parts - attached - (METHODS[method] & FILE_PARAMETERS)
    if stray:
        refuse(f"this test server was sent a file that nothing names: {min(stray)!r}")
    return {name: _value(name, given) for name, given in raw.items()}


def _strings(raw: Json) -> list[str]:
    found: list[str] = []
    for name, given in raw.items():
        found += _leaves(_value(name, given))
    return found


def _leaves(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in _leaves(inner)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in _leaves(inner)]
    return [value] if isinstance(value, str) else []


def _value(name: str, given: Any) -> Any:
    if name in _INTEGERS:
        return _integer(name, given)
    if name == "chat_id":
        return given if isinstance(given, str) and given.startswith("@") else _chat_number(given)
    if name in _BOOLEANS:
        return _boolean(name, given)
    if name in _OBJECTS:
        return _object(name, given)
    if not isinstance(given, str):
        refuse(f"parameter {name} must be a string")
    return given


def _integer(name: str, given: Any) -> int:
    try:
        return int("" if isinstance(given, bool) else given)
    except (TypeError, ValueError):
        refuse(f"invalid {name} specified")


def _chat_number(given: Any) -> int | str:
    if given == "":
        return ""
    try:
        return int(given)
    except (TypeError, ValueError):
        refuse("chat not found")


def _boolean(name: str, given: Any) -> bool:
    if given in (True, "true", "True", "1"):
        return True
    if given not in (False, "false", "False", "0"):
        refuse(f"invalid {name} specified")
    return False


def _object(name: str, given: Any) -> Any:
    if not isinstance(given, str):
        return given
    if not given:
        return None
    try:
        return json.loads(given)
    except ValueError:
        refuse(f"can't parse {name.replace('_', ' ')} JSON object")
