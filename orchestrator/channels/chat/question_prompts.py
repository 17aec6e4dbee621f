"""Question prompts: what an agent asks its person, as a message with a button for each choice, where its turn was asked
for. It is answered by a button, by a reply, or in private by the next words; and the message says how it ended.

The rows of the questions are the truth. Nothing that an agent writes is an answer, and no words in a group are one but
a reply to the question itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from orchestrator.capabilities.ask.questions import PENDING, Question, Questions
from orchestrator.channels.chat import button_rows as rows
from orchestrator.channels.chat import question_text
from orchestrator.channels.chat.address_book import AddressBook
from orchestrator.channels.chat.button_rows import TakenButton
from orchestrator.channels.chat.buttons import Buttons
from orchestrator.channels.chat.callbacks import NO_LONGER, ButtonHandler, PressResult
from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.channels.chat.conversation_choice_rows import ChatSpot
from orchestrator.channels.chat.conversation_choices import ConversationChoices
from orchestrator.channels.chat.events import ButtonPress, IncomingMessage
from orchestrator.channels.chat.message import AttachedFile, Message, MessageBody, MessageButton
from orchestrator.channels.chat.outbox import Outbox
from orchestrator.channels.chat.replies import build_replies
from orchestrator.channels.chat.temp_files import TempFiles
from orchestrator.core.errors import BadInput, Conflict, NotFound
from orchestrator.core.models import Conversation, CubicleKey, Event, User

CHOICE = "choice"
_GRACE_S = 120.0
"""A press right after the time is up is told so, rather than that the button no longer works; it answers nothing."""
_LOOKED_BACK_S = 7 * 24 * 3600.0
_REF = "question:"


class QuestionPrompts:
    """Every question of every agent that has a bot. For threads that may wait."""

    def __init__(
        self,
        *,
        store: ChannelStore,
        questions: Questions,
        address_book: AddressBook,
        outbox: Outbox,
        buttons: Buttons,
        temp_files: TempFiles,
        handled: Callable[[IncomingMessage], None],
        choices: ConversationChoices,
        now: Callable[[], float] = time.time,
    ) -> None:
        """``handled`` notes that a message had its effect, in the transaction that is open."""
        self._store = store
        self._questions = questions
        self._address_book = address_book
        self._outbox = outbox
        self._buttons = buttons
        self._temp_files = temp_files
        self._handled = handled
        self._choices = choices
        self._now = now

    @property
    def handlers(self) -> dict[str, ButtonHandler]:
        """What its buttons do."""
        return {CHOICE: self._on_press}

    def on_event(self, event: Event) -> None:
        """An event of the install; those of questions are acted upon."""
        if event.kind == "question":
            self.show_question(str(event.body["id"]))

    def reconcile(self) -> None:
        """After a start, and now and then: what is open is asked, what ended in the meantime is shown so."""
        since = self._now() - _LOOKED_BACK_S
        for question in reversed(self._questions.list_questions()):
            if question.asked_at > since:
                self._show_outcome(question)

    def show_question(self, number: str) -> None:
        """The chat shows how this question stands."""
        try:
            self._show_outcome(self._questions.get_question(number))
        except NotFound:
            return

    def open_for(self, key: CubicleKey) -> list[Question]:
        """What waits for this person's answer."""
        pending = self._questions.list_questions(status=PENDING, user=key.user)
        return [question for question in reversed(pending) if question.cubicle == key]

    def prompt_body(self, question: Question, ref: str, reader: User) -> MessageBody:
        """The question for a message ``ref`` of its agent's bot, with buttons for this person."""
        until = question.expires_at + _GRACE_S
        made = [
            MessageButton(
                question_text.button_label(choice),
                self._buttons.make_button(
                    question.cubicle.agent,
                    ref,
                    reader.id_in(self._store.channel) or 0,
                    CHOICE,
                    f"{question.id}:{n}",
                    expires_at=until,
                ),
            )
            for n, choice in enumerate(question.choices)
        ]
        elsewhere = self._elsewhere(question)
        rich = question_text.asked_body(
            question,
            self._called(question),
            reader,
            self._now(),
            conversation="" if elsewhere is None else elsewhere.shown_name,
        )
        return MessageBody(rich, buttons=question_text.in_rows(made), files=self._text_file(question))

    # --- telling -----------------------------------------------------------------------------------------------

    def _show_outcome(self, question: Question) -> None:
        if question.status == PENDING:
            self._post_prompt(question)
        else:
            self._close_prompts(question)

    def _post_prompt(self, question: Question) -> None:
        """Post the question, once; buttons that were pressed to no effect are made again."""
        ref, owner = _ref(question), self._address_book.owner_of(question.cubicle)
        spot = self._address_book.place_of(question.cubicle, question.turn)
        if owner is None or spot is None:
            return
        with self._store.reading() as db:
            is_posted = rows.is_posted(db, ref)
            live = rows.live_count(db, ref, self._now())
        if is_posted and live >= len(question.choices):
            return
        self._buttons.retire_buttons(ref)
        body = replace(self.prompt_body(question, ref, owner), thread=spot.thread, reply_to=spot.reply_to)
        if not self._outbox.post_message(Message(question.cubicle.agent, spot.chat, ref, body)):
            self._outbox.amend_message(ref, body)

    def _close_prompts(self, question: Question) -> None:
        """Every message that asks this says how it ended, once."""
        refs = {_ref(question): None}
        with self._store.reading() as db:
            for n in range(len(question.choices)):
                refs |= {asked.ref: None for asked in rows.list_asking_refs(db, f"{question.id}:{n}", (CHOICE,))}
        for ref in refs:
            self._buttons.retire_buttons(ref)
            shown = self._outbox.body_of(ref)
            owner = self._address_book.owner_of(question.cubicle)
            rich = question_text.ended_body(question, self._called(question), owner)
            if shown is not None and (shown.rich != rich or shown.buttons):
                self._outbox.amend_message(ref, replace(shown, rich=rich, buttons=()))

    def _called(self, question: Question) -> str:
        return self._store.called(question.cubicle.agent)

    def _text_file(self, question: Question) -> tuple[AttachedFile, ...]:
        if not question_text.is_long(question):
            return ()
        path = self._temp_files.write(question_text.whole_text(question).encode("utf-8", "backslashreplace"))
        return (AttachedFile(path, f"{question.cubicle.agent}-asks-{question.id}.txt", "document"),)

    # --- answering ---------------------------------------------------------------------------------------------

    def _on_press(self, taken: TakenButton, _: ButtonPress, user: User) -> PressResult:
        number, place = taken.subject.split(":")
        try:
            question = self._questions.get_question(number)
            answered = self._questions.answer_question(
                number, question.choices[int(place)], by=user, surface=self._store.channel
            )
        except NotFound as error:
            raise NotFound(NO_LONGER) from error
        except Conflict:
            self.show_question(number)
            raise
        self._close_prompts(answered)
        return PressResult(question_text.toast_text(answered))

    def take_reply(self, message: IncomingMessage, user: User) -> list[Message] | None:
        """The message as the answer to a question, where it is one: what is left to reply; None where it is for the
        agent. An answer and the note that the message was handled are one: a crash can't make a prompt of it as well.
        """
        question = self._find_meant(message, user)
        if question is None:
            return None

        def along(_: Question) -> None:
            if message.answers is None:
                for stored in build_replies(
                    message, [MessageBody(question_text.taken_note(question, self._called(question)))]
                ):
                    self._outbox.post_message(stored)
            self._handled(message)

        try:
            answered = self._questions.answer_question(
                question.id, message.text, by=user, surface=self._store.channel, along=along
            )
        except (Conflict, NotFound):
            return None  # it is too late: the agent may read it as a message
        except BadInput as error:
            return build_replies(
                message, [MessageBody(question_text.unfit_note(question, self._called(question), error.message))]
            )
        self._close_prompts(answered)
        return []

    def _find_meant(self, message: IncomingMessage, user: User) -> Question | None:
        """Which question these words answer."""
        if not message.text.strip() or message.files or message.command or message.is_edit:
            return None
        if message.answers is not None:
            return self._replied_to(message)
        if message.quoted or not message.place.is_private:
            return None
        pending = [q for q in self.open_for(CubicleKey(message.agent, user.id)) if self._is_here(q, message)]
        chosen = [question for question in pending if question_text.is_choice(question, message.text)]
        if len(chosen) == 1:
            return chosen[0]
        return pending[0] if len(pending) == 1 and pending[0].free_text else None

    def _replied_to(self, message: IncomingMessage) -> Question | None:
        ref = self._outbox.ref_of(message.agent, message.place.chat, message.answers or 0)
        if ref is None or not ref.startswith(_REF):
            return None
        try:
            found = self._questions.get_question(ref.removeprefix(_REF))
        except NotFound:
            return None
        return found if found.status == PENDING else None

    def _is_here(self, question: Question, message: IncomingMessage) -> bool:
        """It was asked in this chat and topic, in the conversation that the person writes to: words said in one don't
        answer what stands in another."""
        outcome = self._outbox.status_of(_ref(question))
        spot, place = self._address_book.place_of(question.cubicle, question.turn), message.place
        if outcome is None or outcome.state != "sent" or spot is None:
            return False
        return (spot.chat, spot.thread) == (place.chat, place.thread) and self._elsewhere(question) is None

    def _elsewhere(self, question: Question) -> Conversation | None:
        """The conversation in which it was asked, where the chat that it belongs in writes to another."""
        spot = self._address_book.place_of(question.cubicle, question.turn)
        if spot is None:
            return None
        place = ChatSpot(question.cubicle, spot.chat, spot.thread)
        return self._choices.find_elsewhere_of_turn(place, question.turn)


def _ref(question: Question) -> str:
    return f"{_REF}{question.id}"
