"""Notifications: each notice of the install becomes a message with its buttons, where the turn that it is about was
asked for; when somebody has dealt with it, wherever that was, the message says how and has no buttons any more.

The rows of the notices are the truth. A mark remembers up to where they were told, in the same transaction as the
messages, so that each is told once and in order, whatever crashes in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from orchestrator.approvals import notification_rows as notice_rows
from orchestrator.approvals.notification_rows import Notice
from orchestrator.approvals.notifications import Notifications
from orchestrator.channels.chat import button_rows as rows
from orchestrator.channels.chat import cursor_rows as marks
from orchestrator.channels.chat.address_book import AddressBook, ChatAddress
from orchestrator.channels.chat.button_rows import TakenButton
from orchestrator.channels.chat.buttons import Buttons
from orchestrator.channels.chat.callbacks import NO_LONGER, ButtonHandler, PressResult
from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.channels.chat.conversation_choice_rows import ChatSpot
from orchestrator.channels.chat.conversation_choices import ConversationChoices
from orchestrator.channels.chat.events import ButtonPress
from orchestrator.channels.chat.message import Message, MessageBody, MessageButton
from orchestrator.channels.chat.outbox import Outbox
from orchestrator.channels.chat.system_text import quote_in_note
from orchestrator.core.errors import Conflict, NotFound
from orchestrator.core.models import CubicleKey, Event, User
from orchestrator.core.text import in_quotes

DEED = "notice"
_MARK = "notices"
_OF_TIMES = "calendar"
_BATCH = 50
_NAME_CHARS = 60
_FIXED_S = 30 * 24 * 3600.0
"""Buttons of a notice that is older are not made again."""
_TITLES = {
    "calendar": "{agent}'s calendar",
    "asset": "{agent}'s downloads",
    "packages": "{agent}'s packages",
    "checkpoint": "{agent}'s files",
    "budget": "{agent}'s budget",
    "memory": "{agent}'s memory",
}


class ChatNotifications:
    """Every notice of every agent that has a bot. For threads that may wait."""

    def __init__(
        self,
        *,
        store: ChannelStore,
        notifications: Notifications,
        address_book: AddressBook,
        outbox: Outbox,
        buttons: Buttons,
        ask_zone: Callable[[CubicleKey], None],
        choices: ConversationChoices,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``ask_zone`` asks a person where they are, if they never were, in the transaction that is open."""
        self._store = store
        self._notifications = notifications
        self._address_book = address_book
        self._outbox = outbox
        self._buttons = buttons
        self._ask_zone = ask_zone
        self._choices = choices
        self._now = now

    @property
    def handlers(self) -> dict[str, ButtonHandler]:
        """What its buttons do."""
        return {DEED: self._on_press}

    def on_event(self, event: Event) -> None:
        """An event of the install; those of notices are acted upon."""
        if event.kind == "notice":
            self.post_due()
            if event.body.get("outcome"):
                self._show_outcome(int(event.body["id"]))

    def post_due(self) -> None:
        """Whatever was not told yet is told, in order."""
        while self._tell_some():
            pass

    def reconcile(self) -> None:
        """After a start, and now and then: what was dealt with in the meantime is shown so, and a button that was used
        up to no effect is made again."""
        self.post_due()
        with self._store.reading() as db:
            subjects = rows.list_subjects(db, (DEED,))
            standing = notice_rows.list_open_since(db.sql, self._now() - _FIXED_S)
        for number in sorted({_parts(subject)[0] for subject in subjects}):
            self._show_outcome(number)
        for notice in standing:
            self._refresh_message(notice)

    # --- telling -----------------------------------------------------------------------------------------------

    def _tell_some(self) -> bool:
        with self._store.writing() as db:
            found = notice_rows.list_after(db.sql, marks.get_cursor(db, _MARK), limit=_BATCH)
            for notice in found:
                self._post_notification(notice)
            if found:
                marks.set_mark(db, _MARK, found[-1].id)
        return len(found) == _BATCH

    def _post_notification(self, notice: Notice) -> None:
        """Where there is no chat, the other surfaces have to do."""
        spot = self._place_of(notice)
        if spot is None or not notice.text.strip():
            return
        body = replace(self._message_body(notice), thread=spot.thread, reply_to=spot.reply_to)
        self._outbox.post_message(Message(notice.cubicle.agent, spot.chat, _ref(notice), body))
        if notice.kind == _OF_TIMES:
            self._ask_zone(notice.cubicle)

    def _message_body(self, notice: Notice) -> MessageBody:
        title = _TITLES.get(notice.kind, "About {agent}").format(agent=self._store.called(notice.cubicle.agent))
        ending = [notice.outcome] if notice.outcome else []
        text = f"{self._conversation_line(notice)}{notice.text}"
        return MessageBody(quote_in_note(title, text, *ending), buttons=self._build_message(notice))

    def _place_of(self, notice: Notice) -> ChatAddress | None:
        return self._address_book.place_of(notice.cubicle, notice.turn, notice.conversation)

    def _conversation_line(self, notice: Notice) -> str:
        """To which conversation it belongs, where the chat writes to another."""
        spot = self._place_of(notice)
        if spot is None or notice.conversation is None:
            return ""
        place = ChatSpot(notice.cubicle, spot.chat, spot.thread)
        found = self._choices.find_elsewhere(place, notice.conversation)
        return "" if found is None else f"In {in_quotes(found.shown_name, _NAME_CHARS)}:\n"

    def _build_message(self, notice: Notice) -> tuple[tuple[MessageButton, ...], ...]:
        owner = self._address_book.owner_of(notice.cubicle)
        if notice.settled_at is not None or owner is None:
            return ()
        agent, ref, person = notice.cubicle.agent, _ref(notice), owner.id_in(self._store.channel) or 0
        made = [
            MessageButton(offer.label, self._buttons.make_button(agent, ref, person, DEED, f"{notice.id}:{offer.do}"))
            for offer in notice.offers
        ]
        return tuple(tuple(made[n : n + 2]) for n in range(0, len(made), 2))

    def _show_outcome(self, number: int) -> None:
        """A message whose notice was dealt with says so."""
        try:
            notice = self._notifications.get(number)
        except NotFound:
            return
        if notice.settled_at is not None:
            self._buttons.retire_buttons(_ref(notice))
            self._outbox.amend_message(_ref(notice), self._message_body(notice))

    def _refresh_message(self, notice: Notice) -> None:
        with self._store.writing() as db:
            if rows.is_posted(db, _ref(notice)) and rows.live_count(db, _ref(notice), self._now()) < len(notice.offers):
                self._buttons.retire_buttons(_ref(notice))
                self._outbox.amend_message(_ref(notice), self._message_body(notice))

    # --- pressing ----------------------------------------------------------------------------------------------

    def _on_press(self, taken: TakenButton, _: ButtonPress, user: User) -> PressResult:
        number, do = _parts(taken.subject)
        try:
            settled = self._notifications.press_button(number, do, by=user, surface=self._store.channel)
        except NotFound as error:
            raise NotFound(NO_LONGER) from error
        except Conflict:
            self._show_outcome(number)
            raise
        self._show_outcome(number)
        return PressResult(settled.outcome)


def _ref(notice: Notice) -> str:
    """Not ``notice:``, which is what the carrier calls its own."""
    return f"house:{notice.id}"


def _parts(subject: str) -> tuple[int, str]:
    number, _, do = subject.partition(":")
    return int(number), do
