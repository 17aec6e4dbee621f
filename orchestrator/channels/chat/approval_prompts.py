"""Approval prompts: each open question of an agent becomes a message with Approve and Deny, where its turn was asked
for; when it is decided, wherever that was, the message says how it ended and has no such buttons any more. A reply to
it is a no with words.

The rows of the approvals are the truth. This looks at them whenever it is told to, and after a start at all that are
open or still shown as open. Nothing but a pressed button, or another surface's decision, agrees.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from orchestrator.agents.users import Users
from orchestrator.approvals.answers import (
    MAX_NOTE_CHARS,
    NOTHING,
    DecisionDetails,
    describe_allowance,
    note_of,
    too_late,
)
from orchestrator.approvals.approvals import Approvals
from orchestrator.approvals.grant_rows import GrantScope
from orchestrator.capabilities.approval_kind import host_of
from orchestrator.channels.chat import approval_kinds
from orchestrator.channels.chat import button_rows as rows
from orchestrator.channels.chat import contact_rows as chats
from orchestrator.channels.chat.address_book import AddressBook
from orchestrator.channels.chat.approval_text import ApprovalQuestion, asked_body, ended_body
from orchestrator.channels.chat.button_rows import TakenButton
from orchestrator.channels.chat.buttons import Buttons
from orchestrator.channels.chat.callbacks import NO_LONGER, ButtonHandler, PressResult
from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.channels.chat.conversation_choice_rows import ChatSpot
from orchestrator.channels.chat.conversation_choices import ConversationChoices
from orchestrator.channels.chat.events import ButtonPress, IncomingMessage, turn_origin
from orchestrator.channels.chat.message import AttachedFile, Message, MessageBody, MessageButton
from orchestrator.channels.chat.outbox import Outbox
from orchestrator.channels.chat.replies import build_replies
from orchestrator.channels.chat.temp_files import TempFiles
from orchestrator.channels.chat.text_pages import is_readable, page_text, split_pages
from orchestrator.core.errors import Conflict, Forbidden, NotFound
from orchestrator.core.models import Approval, ApprovalStatus, Event, User
from orchestrator.turns.queue import Turns

APPROVE, DENY, ALWAYS, AGAIN = "approve", "deny", "always", "again"
HOUR, CONVERSATION, READ, PAGE = "hour", "conversation", "read", "page"
DECIDING = (APPROVE, DENY, ALWAYS, HOUR, CONVERSATION)
_REF = "approval:"
_READING = ":read"
_YES = frozenset({"yes", "y", "ok", "okay", "yep", "sure", "approve", "approved", "go", "go ahead", "do it", "👍"})
"""A reply that agrees decides nothing, and is no reason for a no either."""
_GRACE_S = 120.0
"""A press right after the time is up is told so, rather than that the button no longer works; it decides nothing."""
_AGAIN_S = 7 * 24 * 3600.0


Choices = list[tuple[tuple[str, str, str], ...]]
"""Rows of buttons to be made: label, kind, subject."""
Rows = tuple[tuple[MessageButton, ...], ...]


class ApprovalPrompts:
    """Every question of every agent that has a bot. For threads that may wait."""

    def __init__(
        self,
        *,
        store: ChannelStore,
        approvals: Approvals,
        turns: Turns,
        users: Users,
        outbox: Outbox,
        buttons: Buttons,
        temp_files: TempFiles,
        choices: ConversationChoices,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._approvals = approvals
        self._turns = turns
        self._choices = choices
        self._users = users
        self._address_book = AddressBook(store, users)
        self._outbox = outbox
        self._buttons = buttons
        self._temp_files = temp_files
        self._now = now

    @property
    def handlers(self) -> dict[str, ButtonHandler]:
        """What its buttons do."""
        return {
            APPROVE: self._on_approve,
            DENY: self._on_deny,
            ALWAYS: self._on_approve,
            HOUR: self._on_approve,
            CONVERSATION: self._on_approve,
            READ: self._on_read,
            PAGE: self._turn_page,
            AGAIN: self._on_again,
        }

    def on_event(self, event: Event) -> None:
        """An event of the install; those of approvals are acted upon."""
        if event.kind == "approval":
            self.show_approval(str(event.body["id"]))

    def reconcile(self) -> None:
        """After a start, and now and then: what is open is asked, what was decided in the meantime is shown so."""
        with self._store.reading() as db:
            shown = rows.list_subjects(db, DECIDING)
        for approval in {*shown, *(one.id for one in self._approvals.list_approvals(status=ApprovalStatus.PENDING))}:
            self.show_approval(approval)
        self._buttons.forget_old()  # last: what nobody knows any more can't be shown as ended

    def show_approval(self, approval: str) -> None:
        """The chat shows how this approval stands."""
        try:
            found = self._approvals.get(approval)
        except NotFound:
            return
        if found.status is ApprovalStatus.PENDING:
            self._post_prompt(found)
        else:
            self._close_prompts(found)

    def prompt_body(self, approval: Approval, agent: str, ref: str, person: int, reader: User) -> MessageBody:
        """The question for a message ``ref`` of this agent's bot, with buttons for this person."""
        question = self._question_of(approval, reader)
        made = self._build_prompt(approval, agent, ref, person, _first_choices(question))
        return MessageBody(asked_body(question, self._now()), buttons=made, files=self._text_file(question))

    def _build_prompt(self, approval: Approval, agent: str, ref: str, person: int, rows_of: Choices) -> Rows:
        until = approval.expires_at + _GRACE_S
        return tuple(
            tuple(
                MessageButton(label, self._buttons.make_button(agent, ref, person, kind, subject, expires_at=until))
                for label, kind, subject in row
            )
            for row in rows_of
        )

    # --- telling -----------------------------------------------------------------------------------------------

    def _post_prompt(self, approval: Approval) -> None:
        """Post the question, once; buttons that were pressed to no effect are made again."""
        ref, now = f"approval:{approval.id}", self._now()
        user, spot = (
            self._address_book.owner_of(approval.cubicle),
            self._address_book.place_of(approval.cubicle, approval.turn),
        )
        if user is None or spot is None:
            return
        with self._store.reading() as db:
            is_posted, live = rows.is_posted(db, ref), rows.list_live_kinds(db, ref, now)
        needed = {kind for row in _first_choices(self._question_of(approval, user)) for _, kind, _ in row}
        is_read = self._outbox.body_of(f"{ref}{_READING}") is not None
        if is_posted and live >= needed - ({READ} if is_read else set()):
            return
        self._buttons.retire_buttons(ref)
        plain = self.prompt_body(approval, approval.cubicle.agent, ref, user.id_in(self._store.channel) or 0, user)
        body = replace(plain, thread=spot.thread, reply_to=spot.reply_to)
        if not self._outbox.post_message(Message(approval.cubicle.agent, spot.chat, ref, body)):
            self._outbox.amend_message(ref, body)

    def _close_prompts(self, approval: Approval, *, pressed: TakenButton | None = None) -> None:
        """Every message that asks this says how it ended."""
        with self._store.reading() as db:
            messages = {asking.ref: asking for asking in rows.list_asking_refs(db, approval.id, DECIDING)}
        if pressed is not None and pressed.ref not in messages:
            messages[pressed.ref] = rows.AskedMessage(approval.cubicle.agent, pressed.ref, pressed.person)
        for stored in tuple(messages.values()):
            read = f"{stored.ref}{_READING}"
            if read not in messages and self._outbox.body_of(read) is not None:
                messages[read] = replace(stored, ref=read)
        for stored in messages.values():
            self._outbox.amend_message(stored.ref, self._ended_body(approval, stored))
            self._buttons.retire_buttons(stored.ref, kinds=(*DECIDING, READ, PAGE))

    def _ended_body(self, approval: Approval, stored: rows.AskedMessage) -> MessageBody:
        reader = self._users.of_identity(self._store.channel, stored.person) or self._address_book.owner_of(
            approval.cubicle
        )
        question = self._question_of(approval, reader)
        buttons: tuple[tuple[MessageButton, ...], ...] = ()
        if stored.ref.endswith(_READING):
            return MessageBody(ended_body(question, self._now()))
        if approval.status is ApprovalStatus.EXPIRED and stored.ref == f"approval:{approval.id}":
            self._buttons.retire_buttons(stored.ref)
            until = self._now() + _AGAIN_S
            again = self._buttons.make_button(
                stored.agent, stored.ref, stored.person, AGAIN, approval.id, expires_at=until
            )
            buttons = ((MessageButton("Ask again", again),),)
        return MessageBody(ended_body(question, self._now()), buttons=buttons, files=self._text_file(question))

    def _question_of(self, approval: Approval, reader: User | None) -> ApprovalQuestion:
        owner = self._address_book.owner_of(approval.cubicle)
        zone = "UTC" if reader is None else reader.time_zone
        named = "somebody who was removed" if owner is None else owner.name
        is_own = reader is not None and owner is not None and reader.id == owner.id
        where, called = self._conversation_of(approval) if is_own else "", self._store.called(approval.cubicle.agent)
        return ApprovalQuestion(approval, named, zone, where, called)

    def _conversation_of(self, approval: Approval) -> str:
        """In which conversation it was asked, where the chat that it belongs in writes to another."""
        key, spot = approval.cubicle, self._address_book.place_of(approval.cubicle, approval.turn)
        if spot is None:
            return ""
        found = self._choices.find_elsewhere_of_turn(ChatSpot(key, spot.chat, spot.thread), approval.turn)
        return "" if found is None else found.shown_name

    def _text_file(self, question: ApprovalQuestion) -> tuple[AttachedFile, ...]:
        if not question.is_long:
            return ()
        path = self._temp_files.write(question.shown.encode("utf-8", "backslashreplace"))
        return (AttachedFile(path, question.file_name, "document"),)

    # --- deciding ----------------------------------------------------------------------------------------------

    def _on_approve(self, taken: TakenButton, _: ButtonPress, user: User) -> PressResult:
        scope = None if taken.kind == APPROVE else GrantScope(taken.kind)
        return self._decide_approval(taken, user, DecisionDetails(scope=scope), approve=True)

    def _on_deny(self, taken: TakenButton, _: ButtonPress, user: User) -> PressResult:
        return self._decide_approval(taken, user, NOTHING, approve=False)

    def take_reply(self, message: IncomingMessage, user: User) -> list[Message] | None:
        """A reply to an open question as a no with words: what is left to reply; None where the message is for the
        agent. The same message again is the same no."""
        asked_about = self._replied_to(message)
        words = message.text.strip()
        if asked_about is None or not words or message.files or message.command or message.is_edit:
            return None
        if asked_about.status is not ApprovalStatus.PENDING:
            return [] if note_of(asked_about) == words else None
        if words.casefold().rstrip(".!") in _YES:
            return build_replies(message, [MessageBody(approval_kinds.PRESS_TO_AGREE)])
        try:
            said = DecisionDetails(note=words[:MAX_NOTE_CHARS])
            decided = self._approvals.decide(
                asked_about.id, approve=False, by=user, surface=self._store.channel, said=said
            )
        except (Conflict, NotFound):
            return None
        self._close_prompts(decided)
        return []

    def _replied_to(self, message: IncomingMessage) -> Approval | None:
        ref = None
        if message.answers is not None:
            ref = self._outbox.ref_of(message.agent, message.place.chat, message.answers)
        if ref is None or not ref.startswith(_REF):
            return None
        try:
            return self._approvals.get(ref.removeprefix(_REF).removesuffix(_READING))
        except NotFound:
            return None

    def _on_read(self, taken: TakenButton, press: ButtonPress, user: User) -> PressResult:
        """The first page, as a message of its own."""
        approval = self._open_approval(taken.subject)
        ref = f"{taken.ref}{_READING}"
        body = replace(
            self._post_page(approval, press.agent, replace(taken, ref=ref), user, 1), thread=press.place.thread
        )
        if not self._outbox.post_message(Message(press.agent, press.place.chat, ref, body)):
            self._outbox.amend_message(ref, body)
        return PressResult("It's below, one page at a time.")

    def _turn_page(self, taken: TakenButton, press: ButtonPress, user: User) -> PressResult:
        number, page = taken.subject.split(":")
        self._buttons.retire_buttons(taken.ref)
        return PressResult("", self._post_page(self._open_approval(number), press.agent, taken, user, int(page)))

    def _open_approval(self, number: str) -> Approval:
        """The question, while it is open; else its messages say how it ended. Raises Conflict."""
        approval = self._approvals.get(number)
        if approval.status is not ApprovalStatus.PENDING:
            self._close_prompts(approval)
            raise Conflict(too_late(approval))
        return approval

    def _post_page(self, approval: Approval, agent: str, taken: TakenButton, user: User, page: int) -> MessageBody:
        question = self._question_of(approval, user)
        ways = [(label, PAGE, f"{approval.id}:{to}") for label, to in (("Back", page - 1), ("Next page", page + 1))]
        count = len(split_pages(question))
        turning = tuple(way for way, to in zip(ways, (page - 1, page + 1), strict=True) if 1 <= to <= count)
        rows_of = [*([turning] if turning else []), *(_choices(approval) if page == count else ())]
        return MessageBody(
            page_text(question, page), buttons=self._build_prompt(approval, agent, taken.ref, taken.person, rows_of)
        )

    def _decide_approval(self, taken: TakenButton, user: User, said: DecisionDetails, *, approve: bool) -> PressResult:
        try:
            decided = self._approvals.decide(
                taken.subject, approve=approve, by=user, surface=self._store.channel, said=said
            )
        except NotFound as error:
            raise NotFound(NO_LONGER) from error
        except Conflict as error:
            self._close_prompts(self._approvals.get(taken.subject), pressed=taken)
            raise Conflict(error.message) from error
        self._close_prompts(decided, pressed=taken)
        return PressResult(approval_kinds.toast_text(decided))

    def _on_again(self, taken: TakenButton, press: ButtonPress, user: User) -> PressResult:
        """The person asks the agent to try once more; the question comes again, about what the agent wants then."""
        approval = self._approvals.get(taken.subject)
        key = approval.cubicle
        if user.id != key.user:
            raise Forbidden("Only the person it was for can ask again.")
        origin = turn_origin(self._store.channel, press)
        with self._store.writing() as db:
            chats.give_origin(db, press.bot, press.update, origin)
        self._submit_again(approval, press, user, origin)
        body = MessageBody(
            ended_body(self._question_of(approval, user), self._now()),
            files=self._text_file(self._question_of(approval, user)),
        )
        return PressResult(f"{self._store.called(key.agent)} was asked to try again.", body)

    def _submit_again(self, approval: Approval, press: ButtonPress, user: User, origin: str) -> None:
        """In the conversation where it was asked; where that is gone, in the one that the person writes to."""
        submit = partial(
            self._turns.submit,
            approval.cubicle,
            approval_kinds.kind_of(approval).again.format(text=approval.text),
            source=self._store.channel,
            origin=origin,
        )
        try:
            asked_in = None if approval.turn is None else self._turns.get(approval.turn).conversation
            submit(conversation=self._choices.enter(press, user) if asked_in is None else asked_in)
        except NotFound:
            submit(conversation=self._choices.enter(press, user))


def _first_choices(question: ApprovalQuestion) -> Choices:
    """What is offered with the question: of a long text to read it first, and where that is too long only to deny."""
    approval = question.approval
    if not question.is_long:
        return _choices(approval)
    deny = ("Deny", DENY, approval.id)
    return [(("Read it to approve", READ, approval.id), deny) if is_readable(question) else (deny,)]


def _choices(approval: Approval) -> Choices:
    """Yes, no, and yes for longer where there is a name for it."""
    number = approval.id
    rows_of: Choices = [(("Approve", APPROVE, number), ("Deny", DENY, number))]
    if describe_allowance(approval)[1]:
        rows_of.append((("Approve for an hour", HOUR, number), ("… this conversation", CONVERSATION, number)))
    if host_of(approval):
        rows_of.append(((approval_kinds.always_label(approval), ALWAYS, number),))
    return rows_of
