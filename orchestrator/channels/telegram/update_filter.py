"""Which updates count: from everything that Telegram sends, only what an allowed person did, where they may. Pure.

The numeric id of the sender decides, never a name or a chat. Whoever is not allowed is a :class:`StrangerMessage`, of
whom nothing that they wrote is kept. Everything that is not named here is nothing: a kind of update that Telegram
invents tomorrow has no effect.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from orchestrator.channels.chat.events import (
    ButtonPress,
    ChatPlace,
    IncomingEvent,
    IncomingMessage,
    MembershipChange,
    Sender,
    StrangerMessage,
)
from orchestrator.channels.telegram.client_types import BotIdentity
from orchestrator.channels.telegram.update_parser import (
    Raw,
    int_field,
    line_field,
    list_files,
    message_text,
    object_field,
    other_author,
    quoted_line,
    text_field,
)
from orchestrator.core.models import User

_NOBODY = frozenset({777000, 1087968824, 136817688})
"""Telegram itself, which brings a linked channel's posts; anonymous administrators; whoever writes as a channel."""
_NOT_THEIR_OWN = ("sender_chat", "via_bot", "business_connection_id", "sender_business_bot", "is_automatic_forward")
"""With one of these the words are somebody else's, or meant for somebody else, whatever ``from`` says."""
_UNREADABLE = frozenset(
    {
        *("poll", "dice", "game", "story", "checklist", "invoice"),
        *("giveaway", "giveaway_winners", "paid_media", "venue", "location", "contact"),
    }
)
"""What a person sends and nobody here can read, answered with a word about that. (A place or a contact that is
complete was read.)"""
_IN = frozenset({"creator", "administrator", "member"})
_SIX_DIGITS = re.compile(r"[0-9]{6}")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8}){0,2}")
_MOST_DATA = 256


@dataclass(frozen=True, slots=True)
class UpdateRules:
    """For which bot it is sorted, and who and what is allowed there."""

    agent: str
    me: BotIdentity
    users: Callable[[int], User | None]
    """Who has this numeric Telegram id."""
    groups_enabled: Callable[[int], bool]
    """The operator let the bot into this group."""


def sort_update(
    update: object,
    *,
    agent: str,
    me: BotIdentity,
    users: Callable[[int], User | None],
    groups_enabled: Callable[[int], bool],
) -> IncomingEvent | None:
    """What an update comes to; None when it is nothing to us. Never raises, whatever the JSON is."""
    update_id = update_number(update)
    if update_id is None or not isinstance(update, dict):
        return None
    kind = next((name for name in _BY_KIND if name in update), "")
    if not kind:
        return None
    return _BY_KIND[kind](UpdateRules(agent, me, users, groups_enabled), update_id, object_field(update, kind))


def update_number(update: object) -> int | None:
    """The number by which an update is acknowledged."""
    found = int_field(update, "update_id") if isinstance(update, dict) else None
    return found if found is not None and found >= 0 else None


# --- who and where ----------------------------------------------------------------------------------------------


def _sender(raw: Raw) -> Sender | None:
    """The person who did it; None for bots, channels and whoever has no face."""
    user = object_field(raw, "from")
    found = int_field(user, "id")
    if found is None or found <= 0 or found in _NOBODY or user.get("is_bot") is not False:
        return None
    return Sender(found, line_field(user, "first_name", "last_name"), line_field(user, "username"), _language(user))


def _language(user: Raw) -> str:
    code = text_field(user, "language_code").lower()
    return code if _LANGUAGE.fullmatch(code) else ""


def _place(message: Raw) -> ChatPlace | None:
    """A private chat or a group; None for channels and whatever else there may be."""
    chat = object_field(message, "chat")
    found, kind = int_field(chat, "id"), text_field(chat, "type")
    if (
        found is None
        or kind not in ("private", "group", "supergroup")
        or not found
        or (kind == "private") != (found > 0)
    ):
        return None
    number = int_field(message, "message_thread_id") if message.get("is_topic_message") is True else None
    thread = number if number is not None and number > 0 else None
    title = "" if kind == "private" else line_field(chat, "title")
    return ChatPlace(found, kind == "private", title, thread, "" if thread is None else _topic(message))


def _topic(message: Raw) -> str:
    """The topic's name: what replies to nothing else replies to the note that the topic was opened."""
    return line_field(object_field(object_field(message, "reply_to_message"), "forum_topic_created"), "name")


def _where(raw: Raw, sender: Sender) -> ChatPlace | None:
    """A private chat is the sender's own or none."""
    place = _place(raw)
    return None if place is None or (place.is_private and place.chat != sender.id) else place


# --- each kind --------------------------------------------------------------------------------------------------


def _message(rules: UpdateRules, update: int, raw: Raw) -> IncomingEvent | None:
    sender, number_ = _sender(raw), int_field(raw, "message_id")
    if sender is None or number_ is None or any(name in raw for name in _NOT_THEIR_OWN):
        return None
    place = _where(raw, sender)
    if place is None:
        return None
    if rules.users(sender.id) is None:
        digits = text_field(raw, "text").strip() if "forward_origin" not in raw else ""
        is_code = _SIX_DIGITS.fullmatch(digits) is not None
        known = StrangerMessage(rules.agent, rules.me.bot, update, sender, digits if is_code else "")
        return known if place.is_private else None
    if not place.is_private and not rules.groups_enabled(place.chat):
        return None
    return _read(rules, update, raw, (sender, place, number_))


def _read(rules: UpdateRules, update: int, raw: Raw, whose: tuple[Sender, ChatPlace, int]) -> IncomingMessage | None:
    sender, place, number_ = whose
    heard, sent = message_text(raw, rules.me), list_files(raw)
    is_forwarded = "forward_origin" in raw
    album = text_field(raw, "media_group_id")[:_MOST_DATA] if sent else ""
    is_named = heard.is_addressed and not is_forwarded
    is_loose = not place.is_private and not _is_for_us(raw, rules.me, is_named=is_named)
    if is_loose and (not album or is_forwarded):
        return None
    if not place.is_private and heard.is_for_another:
        return None
    if not (heard.text or sent or heard.is_addressed or _UNREADABLE & raw.keys()):
        return None  # somebody came, left, pinned or renamed something
    is_command = bool(heard.command) and not is_forwarded  # what was forwarded is to be read, not to be done
    return IncomingMessage(
        agent=rules.agent,
        bot=rules.me.bot,
        update=update,
        place=place,
        sender=sender,
        message=number_,
        text=heard.text,
        quoted=quoted_line(raw, sender.id, rules.me),
        others=other_author(raw, sender.id, rules.me),
        files=sent,
        album=album,
        command=heard.command if is_command else "",
        argument=heard.argument if is_command else "",
        is_loose=is_loose,
        answers=None if is_forwarded else _answered(raw, rules.me),
    )


def _is_for_us(raw: Raw, me: BotIdentity, *, is_named: bool) -> bool:
    """In a group: the bot is named, or one of its own messages is replied to (that a topic was opened by it isn't
    one)."""
    replied = object_field(raw, "reply_to_message")
    return is_named or (
        int_field(object_field(replied, "from"), "id") == me.bot and "forum_topic_created" not in replied
    )


def _answered(raw: Raw, me: BotIdentity) -> int | None:
    """The message of the bot's own that it replies to (that a topic was opened by it isn't one)."""
    replied = object_field(raw, "reply_to_message")
    is_ours = int_field(object_field(replied, "from"), "id") == me.bot and "forum_topic_created" not in replied
    return int_field(replied, "message_id") if is_ours else None


def _edit(rules: UpdateRules, update: int, raw: Raw) -> IncomingEvent | None:
    found = _message(rules, update, raw)
    if not isinstance(found, IncomingMessage) or found.is_loose:
        return None
    return replace(found, is_edit=True)


def _press(rules: UpdateRules, update: int, raw: Raw) -> ButtonPress | None:
    sender, message = _sender(raw), object_field(raw, "message")
    if sender is None or rules.users(sender.id) is None:
        return None
    place, number_ = _where(message, sender), int_field(message, "message_id")
    query, pressed = text_field(raw, "id"), text_field(raw, "data")
    author = int_field(object_field(message, "from"), "id")
    if place is None or number_ is None or not query or not pressed or author not in (None, rules.me.bot):
        return None
    if not place.is_private and not rules.groups_enabled(place.chat):
        return None
    return ButtonPress(
        rules.agent, rules.me.bot, update, query[:_MOST_DATA], place, number_, sender, pressed[:_MOST_DATA]
    )


def _membership(rules: UpdateRules, update: int, raw: Raw) -> MembershipChange | None:
    """Of groups whoever did it, since the bot has to know where it is; in private only of an allowed person."""
    sender, place, after = _whoever(raw), _place(raw), object_field(raw, "new_chat_member")
    if sender is None or place is None or int_field(object_field(after, "user"), "id") != rules.me.bot:
        return None
    if place.is_private and (place.chat != sender.id or rules.users(sender.id) is None):
        return None
    status = text_field(after, "status")
    is_in = status in _IN or (status == "restricted" and after.get("can_send_messages") is True)
    return MembershipChange(rules.agent, rules.me.bot, update, place, sender, is_in)


def _whoever(raw: Raw) -> Sender | None:
    user = object_field(raw, "from")
    found = int_field(user, "id")
    return (
        None
        if found is None
        else Sender(found, line_field(user, "first_name", "last_name"), line_field(user, "username"))
    )


_BY_KIND: dict[str, Callable[[UpdateRules, int, Raw], IncomingEvent | None]] = {
    "message": _message,
    "edited_message": _edit,
    "callback_query": _press,
    "my_chat_member": _membership,
}
