"""Commands about a person's conversations with an agent: begin one, list them, go on in another.

Names are words of a person or of what they were sent: they stand as such, on one line each. A conversation's number is
the one that the dashboard and the command line have for it. In groups no name is told that was not said there.
"""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.channels.chat.button_rows import TakenButton
from orchestrator.channels.chat.callbacks import ButtonHandler, PressResult
from orchestrator.channels.chat.command_context import ChatCommand, CommandCall, CommandContext, note_reply
from orchestrator.channels.chat.conversation_choice_rows import ChatSpot
from orchestrator.channels.chat.conversation_choices import CurrentConversation
from orchestrator.channels.chat.events import ButtonPress
from orchestrator.channels.chat.message import MessageBody, MessageButton
from orchestrator.channels.chat.system_text import NoteLine, QuotedText, format_ago, show_foreign, system_note
from orchestrator.core.errors import Conflict, NotFound
from orchestrator.core.models import Conversation, CubicleKey, User
from orchestrator.turns.conversations import MOST

SWITCH, OLDER = "conversation", "conversations older"
_PAGE = 8
_NAME_CHARS, _LABEL_CHARS = 60, 40
_TOPIC = "This topic is its own conversation"
_OTHER_TOPICS = "Everything you write here goes to it. For another one, open another topic or write outside of topics."
_ALL = "/conversations lists them all."


def new(call: CommandCall) -> list[MessageBody]:
    """The next message begins a conversation."""
    if call.spot.thread is not None:
        return note_reply(_TOPIC, _OTHER_TOPICS)
    name = call.context.choices.begin_next(call.spot, call.message.argument)
    called: list[NoteLine] = [("It will be called ", QuotedText(name, _NAME_CHARS), ".")] if name else []
    return note_reply(
        "A new conversation",
        "Your next message begins it.",
        *called,
        "Files, memories and the calendar stay shared. /switch takes you back to another conversation.",
    )


def conversations(call: CommandCall) -> list[MessageBody]:
    """All of them, a page at a time, with buttons to go on in another."""
    return [_Listing(call.context, call.spot, call.ref(), call.message.sender.id).build()]


def switch(call: CommandCall) -> list[MessageBody]:
    """What the person writes here goes to the conversation of this name, or of this number."""
    wanted = " ".join(call.message.argument.split())
    if call.spot.thread is not None:
        return note_reply(_TOPIC, _OTHER_TOPICS)
    if not wanted:
        return note_reply("Which conversation?", "Write its name or its number after it: /switch boat", _ALL)
    found = _find_named(call.context.services.conversations.list_conversations(call.key, limit=MOST), wanted)
    if not found:
        return note_reply("No conversation found", ("None is called ", QuotedText(wanted, _NAME_CHARS), "."), _ALL)
    is_private = call.message.place.is_private
    if len(found) > 1:
        lines: list[NoteLine] = [_line(one, call.context.now()) for one in found[:_PAGE]] if is_private else []
        example = f"/switch {found[0].id}" if is_private else "/conversations in our private chat lists the numbers."
        return note_reply(
            f"{len(found)} conversations match", *lines, f"Say more of the name, or send its number: {example}"
        )
    chosen = call.context.choices.choose(call.spot, found[0].id)
    name = QuotedText(chosen.shown_name if is_private else wanted, _NAME_CHARS)
    return note_reply("Switched", ("What you write here now goes to ", name, "."))


COMMANDS = (
    ChatCommand("new", "Begin a new conversation; a name may follow", new),
    ChatCommand("conversations", "Your conversations", conversations, is_private=True),
    ChatCommand("switch", "Go on in another conversation: /switch name", switch),
)


def handlers(context: CommandContext) -> dict[str, ButtonHandler]:
    """What the buttons do: one goes to a conversation, one shows the next page."""

    def go(taken: TakenButton, press: ButtonPress, user: User) -> PressResult:
        spot, number = _pressed(taken, press, user)
        chosen = context.choices.choose(spot, number)
        body = _Listing(context, spot, taken.ref, press.sender.id).build()
        return PressResult(f"You write in “{show_foreign(QuotedText(chosen.shown_name, _NAME_CHARS))}” now.", body)

    def turn_page(taken: TakenButton, press: ButtonPress, user: User) -> PressResult:
        spot, number = _pressed(taken, press, user)
        return PressResult("", _Listing(context, spot, taken.ref, press.sender.id).build(before=number))

    return {SWITCH: go, OLDER: turn_page}


def _pressed(taken: TakenButton, press: ButtonPress, user: User) -> tuple[ChatSpot, int]:
    """Where it was pressed, and the number of the conversation; only for the person themself."""
    agent, owner, number = taken.subject.split(":")
    if int(owner) != user.id or agent != press.agent:
        raise NotFound("These conversations belong to someone else.")
    if press.place.thread is not None:
        raise Conflict(f"{_TOPIC}.")
    return ChatSpot(CubicleKey(agent, user.id), press.place.chat), int(number)


@dataclass(frozen=True, slots=True)
class _Listing:
    """The message with the list."""

    context: CommandContext
    spot: ChatSpot
    ref: str
    person: int

    def build(self, *, before: int | None = None) -> MessageBody:
        """A page of it, from the last used one on or after a conversation."""
        key, current = self.spot.key, self.context.choices.get_current(self.spot)
        found = self.context.services.conversations.list_conversations(key, limit=_PAGE + 1, before=before)
        page, title = found[:_PAGE], f"Your conversations with {self.context.store.called(key.agent)}"
        if not page:
            return MessageBody(
                system_note(
                    "No conversations yet", f"Write to {self.context.store.called(key.agent)}, and there is one."
                )
            )
        lines = [_line(one, self.context.now(), is_current=_is_current(one, current)) for one in page]
        if self.spot.thread is not None:
            return MessageBody(system_note(title, *lines, "", f"{_TOPIC}."))
        buttons = [self._button(_label(one), SWITCH, one.id) for one in page if not _is_current(one, current)]
        buttons += [self._button("Older ones", OLDER, page[-1].id)] if len(found) > _PAGE else []
        begins = ["Your next message begins a new one."] if current.conversation is None else []
        hint = "Tap one to go on in it, or send /switch and its name. /new begins another."
        rich = system_note(title, *begins, *lines, "", hint)
        return MessageBody(rich, buttons=tuple((button,) for button in buttons))

    def _button(self, label: str, kind: str, number: int) -> MessageButton:
        key = self.spot.key
        subject = f"{key.agent}:{key.user}:{number}"
        return MessageButton(label, self.context.buttons.make_button(key.agent, self.ref, self.person, kind, subject))


def _is_current(one: Conversation, current: CurrentConversation) -> bool:
    return current.conversation is not None and current.conversation.id == one.id


def _line(one: Conversation, now: float, *, is_current: bool = False) -> NoteLine:
    used = "you write here" if is_current else f"used {format_ago(one.used_at, now)}"
    return (f"{one.id}  ", QuotedText(one.shown_name, _NAME_CHARS), f" – {used}")


def _label(one: Conversation) -> str:
    return show_foreign(QuotedText(one.shown_name, _LABEL_CHARS))


def _find_named(every: list[Conversation], wanted: str) -> list[Conversation]:
    """The one of this number or name; else those whose names begin so, else those that have it within."""
    if wanted.isascii() and wanted.isdigit():
        numbered = [one for one in every if str(one.id) == wanted.lstrip("0")]
        if numbered:
            return numbered
    words = wanted.casefold()
    names = [(one, one.shown_name.casefold()) for one in every]
    for fits in (str.__eq__, str.startswith, str.__contains__):
        found = [one for one, name in names if fits(name, words)]
        if found:
            return found
    return []
