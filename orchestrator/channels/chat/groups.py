"""Groups: where a bot was taken along to, and whether it listens there. The operator says so, group by group; in all
others it hears nothing. Being able to write somewhere is no permission to."""

from __future__ import annotations

from orchestrator.channels.chat import button_rows
from orchestrator.channels.chat import contact_rows as rows
from orchestrator.channels.chat.access_context import MOST_CARDS, AccessContext, check_operator, parts_of
from orchestrator.channels.chat.button_rows import TakenButton
from orchestrator.channels.chat.callbacks import ButtonHandler, PressResult
from orchestrator.channels.chat.contact_rows import KnownChat
from orchestrator.channels.chat.events import ButtonPress, MembershipChange, Sender
from orchestrator.channels.chat.message import Message, MessageBody, MessageButton
from orchestrator.channels.chat.system_text import QuotedText, system_note
from orchestrator.core.errors import Conflict
from orchestrator.core.models import User
from orchestrator.core.text import one_line

ENABLE_GROUP, IGNORE_GROUP = "enable group", "ignore group"
_DAY_S = 24 * 3600.0
_ENABLE = ("Enable", ENABLE_GROUP)
_LISTENS = "People you allowed can talk to it there by mentioning it. Everyone in the group sees the answers."
_LISTENS_THEN = f"Then {_LISTENS[0].lower()}{_LISTENS[1:]}"
_ABOUT = {
    "asked": (
        "{agent} was added to a group",
        f"It ignores everything there until you enable it. {_LISTENS_THEN}",
    ),
    "enabled": (
        "{agent} listens in a group",
        _LISTENS,
    ),
    "ignored": ("{agent} ignores a group", "It is in the group but ignores everything there."),
}
_TOASTS = {"enabled": "Enabled.", "ignored": "It ignores everything there."}
_CHOICES = {
    "asked": (_ENABLE, ("Ignore", IGNORE_GROUP)),
    "enabled": (("Stop listening", IGNORE_GROUP),),
    "ignored": (_ENABLE,),
}


class Groups:
    """The groups of every bot. For threads that may wait."""

    def __init__(self, access_context: AccessContext) -> None:
        self._access_context = access_context
        self._store, self._outbox, self._buttons = access_context.store, access_context.outbox, access_context.buttons
        self._users, self._now = access_context.users, access_context.now

    @property
    def handlers(self) -> dict[str, ButtonHandler]:
        """What its buttons do."""
        return {ENABLE_GROUP: self._set_group, IGNORE_GROUP: self._set_group}

    def is_enabled(self, agent: str, chat: int) -> bool:
        """The operator let the bot into this group."""
        with self._store.reading() as db:
            return rows.is_enabled(db, agent, chat)

    def on_membership(self, membership: MembershipChange) -> None:
        """The bot came into a chat or left it. A group is listened to when the operator says so, and not before."""
        agent, place = membership.agent, membership.place
        with self._store.writing() as db:
            old = rows.get_chat(db, agent, place.chat)
            state = _state_after(membership, old)
            is_ours = (
                old is not None
                or not place.is_private
                or self._users.of_identity(self._store.channel, place.chat) is not None
            )
            if not is_ours or (old is not None and old.state == state):
                return
            chat = KnownChat(agent, place.chat, _title(membership), state, self._now())
            rows.put_chat(db, chat)
            if state == "asked":
                self._ask_about_group(chat, membership)

    def _ask_about_group(self, chat: KnownChat, membership: MembershipChange) -> None:
        now, operator = self._now(), self._access_context.operator_chat(chat.agent)
        ref = f"group:{chat.agent}:{chat.chat}:{membership.update}"
        with self._store.reading() as db:
            cards = button_rows.posted_since(db, f"group:{chat.agent}:", now - _DAY_S)
        if operator is None or cards >= MOST_CARDS:
            return  # /groups shows it all the same
        body = self.group_body(chat, ref, operator, by=membership.sender)
        self._outbox.post_message(Message(chat.agent, operator, ref, body))

    def group_body(self, chat: KnownChat, ref: str, reader: int, *, by: Sender | None = None) -> MessageBody:
        """A group, how it stands, and the button to change that."""
        agent, subject = chat.agent, f"{chat.agent}:{chat.chat}"
        title, what = (words.format(agent=self._access_context.store.called(agent)) for words in _ABOUT[chat.state])
        who = (
            ()
            if by is None
            else (("Added by ", QuotedText(by.name), f" ({self._access_context.store.traits.label} id {by.id})."),)
        )
        made = tuple(
            MessageButton(label, self._buttons.make_button(agent, ref, reader, kind, subject))
            for label, kind in _CHOICES[chat.state]
        )
        return MessageBody(
            system_note(title, ("Group: ", QuotedText(chat.title or "(no title)"), "."), *who, what), buttons=(made,)
        )

    def _set_group(self, taken: TakenButton, press: ButtonPress, user: User) -> PressResult:
        check_operator(user)
        agent, number = parts_of(taken.subject)
        state, now = "enabled" if taken.kind == ENABLE_GROUP else "ignored", self._now()
        with self._store.writing() as db:
            if rows.set_chat_state(db, agent, number, state, now):
                text = f"Group {number} was {state} by {user.name}."
                self._access_context.write_audit("group", text, agent=agent, user=user.id)
        with self._store.reading() as db:
            chat = rows.get_chat(db, agent, number)
        if chat is None or chat.state != state:
            raise Conflict("The bot is no longer in this group.")
        self._buttons.retire_buttons(taken.ref)
        return PressResult(_TOASTS[state], self.group_body(chat, taken.ref, press.sender.id))


def _title(membership: MembershipChange) -> str:
    place = membership.place
    return one_line(membership.sender.name if place.is_private else place.title, 200)


def _state_after(membership: MembershipChange, old: KnownChat | None) -> str:
    if not membership.is_in:
        return "closed"
    if membership.place.is_private:
        return "open"
    return "asked" if old is None or old.state == "closed" else old.state
