"""A counter for tests of what can be pressed and commanded: real rules, real rows, real mail, and no network. A message
arrives when the test says so, and somebody presses what is under it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.agents.access import Access
from orchestrator.agents.agents import Agents
from orchestrator.agents.users import Users
from orchestrator.approvals.approvals import Approvals
from orchestrator.approvals.notifications import Notifications
from orchestrator.capabilities.ask.capability import Ask
from orchestrator.capabilities.ask.questions import Question, Questions
from orchestrator.capabilities.capability import Caller
from orchestrator.capabilities.table import TOOLSETS
from orchestrator.channels.chat import contact_rows as chats
from orchestrator.channels.chat.access_context import AccessContext
from orchestrator.channels.chat.access_requests import AccessRequests
from orchestrator.channels.chat.address_book import AddressBook
from orchestrator.channels.chat.approval_prompts import ApprovalPrompts
from orchestrator.channels.chat.buttons import Buttons
from orchestrator.channels.chat.callbacks import ButtonHandler, Callbacks
from orchestrator.channels.chat.channel_store import ChannelDb, ChannelStore
from orchestrator.channels.chat.contact_rows import KnownChat
from orchestrator.channels.chat.conversation_choices import ConversationChoices
from orchestrator.channels.chat.events import (
    ButtonPress,
    ChatPlace,
    IncomingMessage,
    MembershipChange,
    Sender,
    StrangerMessage,
)
from orchestrator.channels.chat.groups import Groups
from orchestrator.channels.chat.message import MessageBody, MessageButton
from orchestrator.channels.chat.notifications import ChatNotifications
from orchestrator.channels.chat.outbox import Outbox
from orchestrator.channels.chat.question_prompts import QuestionPrompts
from orchestrator.channels.chat.temp_files import TempFiles
from orchestrator.channels.chat.time_zone_prompt import TimeZonePrompt
from orchestrator.core.db.database import Store
from orchestrator.core.events import Broker
from orchestrator.core.hooks import Hooks
from orchestrator.core.models import Approval, CubicleKey, Turn, User
from orchestrator.turns.conversations import Conversations
from orchestrator.turns.queue import Turns
from orchestrator.turns.steps import Steps
from tests.support.chat_fakes import telegram_store
from tests.support.core_fixture import KEY, CoreFixture, core_fixture

BOT = 7_000_000_001
ADA, BOB, EVE = 1001, 1002, 6666
"""Telegram ids: the operator's, the member's, a stranger's."""
GROUP = -100_500
DANGEROUS = "rm -rf build"


@dataclass
class ChatFixture:
    """All that decides about presses, and the hands of those who press."""

    store: Store
    users: Users
    approvals: Approvals
    turns: Turns
    steps: Steps
    folder: Path
    clock_s: float = 0.0
    """How far the clock is ahead."""
    updates: int = 0
    messages: int = 100
    pauses: list[float] = field(default_factory=list)

    post: Outbox | None = None
    """Mail that somebody sends; else it only lies there."""

    @property
    def rows(self) -> ChannelStore:
        """The database as the channel sees it."""
        return telegram_store(self.store)

    def __post_init__(self) -> None:
        self.hooks = Hooks()
        rows = self.rows
        self.outbox = self.post or Outbox(rows, now=self.now)
        self.buttons = Buttons(rows, now=self.now)
        self.temp_files = TempFiles(rows, self.folder / "papers", now=self.now)
        self.conversations = Conversations(self.store, Broker(), now=self.now)
        self.choices = ConversationChoices(rows, self.conversations, self.outbox)
        self.asking = ApprovalPrompts(
            store=rows, approvals=self.approvals, turns=self.turns, users=self.users, outbox=self.outbox,
            buttons=self.buttons, temp_files=self.temp_files, choices=self.choices, now=self.now,
        )  # fmt: skip
        self.zones = TimeZonePrompt(
            store=rows, users=self.users, address_book=AddressBook(rows, self.users), outbox=self.outbox,
            buttons=self.buttons, now=self.now,
        )  # fmt: skip
        self.notifications = Notifications(self.store, Broker(), now=self.now)
        self.noticing = self.fresh_noticing()
        agents = Agents(self.store, providers=("fake", "other"), toolsets=TOOLSETS, hooks=self.hooks)
        self.access = Access(self.store, agents, self.hooks)
        self.questions = Questions(
            store=self.store,
            agents=agents,
            broker=Broker(), hooks=self.hooks, finish=lambda *_, **__: None, now=self.now,
        )  # fmt: skip
        self.handled: list[IncomingMessage] = []
        self.inquiries = QuestionPrompts(
            store=rows, questions=self.questions, address_book=AddressBook(rows, self.users),
            outbox=self.outbox, buttons=self.buttons, temp_files=self.temp_files,
            handled=self.handled.append, choices=self.choices, now=self.now,
        )  # fmt: skip
        self.context = access_context = AccessContext(
            rows, self.outbox, self.buttons, self.users, self.access, self.now
        )
        self.cards, self.groups = AccessRequests(access_context), Groups(access_context)
        self.handlers: dict[str, ButtonHandler] = {
            **self.asking.handlers, **self.noticing.handlers, **self.inquiries.handlers, **self.cards.handlers,
            **self.groups.handlers, **self.zones.handlers,
        }  # fmt: skip
        self.callbacks = self.fresh_presses()

    def now(self) -> float:
        """The time, as the test has it."""
        return time.time() + self.clock_s

    def person(self, agent: str, number: int) -> User | None:
        """Who has this Telegram id, and may use this agent."""
        return self.context.find_member(agent, number)

    def fresh_presses(self) -> Callbacks:
        """As after a restart: nothing is remembered but rows."""
        return Callbacks(
            buttons=Buttons(telegram_store(self.store), now=self.now), outbox=self.outbox, users=self.person,
            handlers=self.handlers, pause=self.pauses.append,
        )  # fmt: skip

    def fresh_noticing(self) -> ChatNotifications:
        """As after a restart."""
        return ChatNotifications(
            store=self.rows, notifications=self.notifications, address_book=AddressBook(self.rows, self.users),
            outbox=self.outbox, buttons=self.buttons, ask_zone=self.zones.ask_zone, choices=self.choices, now=self.now,
        )  # fmt: skip

    # --- what comes in -----------------------------------------------------------------------------------------

    def asks(
        self, text: str = "go", *, key: CubicleKey = KEY, chat: int = ADA, thread: int | None = None,
        conversation: int | None = None,
    ) -> Turn:  # fmt: skip
        """Somebody writes to the bot, and a crab has begun with it."""
        self.updates += 1
        self.messages += 1
        origin = f"telegram:{BOT}:{self.updates}"
        with self.store.writing() as db:
            db.execute(
                "INSERT INTO chat_inbox (channel, bot, update_id, agent, chat, thread, person, message, album, origin, "
                "received_at) VALUES ('telegram', ?, ?, ?, ?, ?, ?, ?, '', ?, 0)",
                (BOT, self.updates, key.agent, chat, thread, chat, self.messages, origin),
            )
        self.turns.submit(key, text, source="telegram", origin=origin, conversation=conversation)
        taken = self.turns.take_next(key, "boot", 20)
        assert taken is not None
        return taken

    def wants(self, command: str = DANGEROUS, *, turn: Turn | None = None) -> Approval:
        """The agent wants to run something dangerous, and the chat is told."""
        turn = turn or self.asks()
        n = len(self.turns.list_steps(turn.id)) + 1
        self.steps.start_step(turn.cubicle, turn.id, n, thought="", command=command, approval=None)
        approval = self.steps.ask_person(turn.cubicle, turn.id, n)
        self.asking.show_approval(approval.id)
        return approval

    def wants_host(
        self, kind: str, text: str, *, turn: Turn | None = None, reason: str = "", **detail: Any
    ) -> Approval:
        """The agent wants the host to do something, and the chat is told."""
        turn = turn or self.asks()
        self.approvals.on_decision(kind, lambda _db, _decided: ())
        with self.store.writing() as db:
            approval = self.approvals.ask_person(
                db, turn.cubicle, turn.id, kind=kind, text=text, reason=reason, detail=detail, timeout_s=300
            )
        self.asking.show_approval(approval.id)
        return approval

    def inquires(
        self, text: str = "Tea or coffee?", *choices: str, free_text: bool = False, turn: Turn | None = None,
        timeout: int | None = None,
    ) -> Question:  # fmt: skip
        """The agent asks its person something, and the chat is told."""
        turn = turn or self.asks()
        with self.store.writing() as db:
            action = Ask(text, choices, free_text=free_text, timeout=timeout)
            outcome = self.questions.deeds["ASK"](db, Caller(turn.cubicle, turn.id), action)
        found = self.questions.get_question(str(outcome.result["question"]))
        self.inquiries.show_question(found.id)
        return found

    def opens(self, person: int, *, agent: str = "crab", state: str = "open") -> None:
        """A chat of the bot is known."""
        with self.store.writing() as db:
            chats.put_chat(ChannelDb(db, "telegram"), KnownChat(agent, person, "", state, 0.0))

    def stranger(self, person: int = EVE, name: str = "Eve", username: str = "") -> None:
        """Somebody whom nobody knows writes."""
        self.updates += 1
        self.cards.on_stranger(StrangerMessage("crab", BOT, self.updates, Sender(person, name, username)))

    def joins(self, *, chat: int = GROUP, title: str = "Family", by: int = EVE, is_in: bool = True) -> None:
        """The bot comes into a group, or leaves it."""
        self.updates += 1
        place = ChatPlace(chat, is_private=chat > 0, title=title)
        self.groups.on_membership(MembershipChange("crab", BOT, self.updates, place, Sender(by, "Eve"), is_in))

    def message(
        self, text: str, *, by: int = ADA, chat: int | None = None, agent: str = "crab", thread: int | None = None,
        topic: str = "",
    ) -> IncomingMessage:  # fmt: skip
        """A message, sorted."""
        self.updates += 1
        self.messages += 1
        place = ChatPlace(chat or by, (chat or by) > 0, "", thread, topic)
        command, _, argument = text.removeprefix("/").partition(" ") if text.startswith("/") else ("", "", "")
        return IncomingMessage(
            agent, BOT, self.updates, place, Sender(by, "someone"), self.messages, text, command=command,
            argument=argument,
        )  # fmt: skip

    # --- what went out -----------------------------------------------------------------------------------------

    @property
    def refs(self) -> list[str]:
        """What was posted, in order."""
        with self.store.reading() as db:
            return [str(row["ref"]) for row in db.execute("SELECT ref FROM chat_outbox ORDER BY id")]

    def chat_of(self, ref: str) -> int:
        """Where a message goes."""
        with self.store.reading() as db:
            return int(db.execute("SELECT chat FROM chat_outbox WHERE ref = ?", (ref,)).fetchone()[0])

    def body(self, ref: str) -> MessageBody:
        """What a message says, amendments included."""
        body = self.outbox.body_of(ref)
        assert body is not None, f"no letter {ref} among {self.refs}"
        return body

    def text(self, ref: str) -> str:
        """The words of a message."""
        return self.body(ref).rich.text

    def labels(self, ref: str) -> list[str]:
        """The buttons under a message."""
        return [button.text for button in self._buttons(ref)]

    def data(self, ref: str, label: str) -> str:
        """What a button carries."""
        return next(button.data for button in self._buttons(ref) if label in button.text)

    def _buttons(self, ref: str) -> list[MessageButton]:
        return [button for row in self.body(ref).buttons for button in row]

    def arrives(self, ref: str, message: int | None = None) -> int:
        """A message is in its chat now, under this number."""
        with self.store.writing() as db:
            row = db.execute("SELECT message, body FROM chat_outbox WHERE ref = ?", (ref,)).fetchone()
            assert row is not None, f"no letter {ref} among {self.refs}"
            if row["message"] is not None and message is None:
                return int(row["message"])
            self.messages += 1
            number = message or self.messages
            db.execute("UPDATE chat_outbox SET state = 'sent', message = ? WHERE ref = ?", (number, ref))
        return number

    def a_press(
        self, data: str, *, by: int, chat: int, message: int, agent: str = "crab", thread: int | None = None
    ) -> ButtonPress:
        """Somebody presses, or says so."""
        self.updates += 1
        place = ChatPlace(chat, chat > 0, "", thread)
        return ButtonPress(
            agent, BOT, self.updates, f"query{self.updates}", place, message, Sender(by, "someone"), data
        )

    def press(self, ref: str, label: str, *, by: int | None = None) -> str:
        """Press a button of a message that has arrived; the words over the chat."""
        chat = self.chat_of(ref)
        data = self.data(ref, label)
        press = self.a_press(data, by=by or chat, chat=chat, message=self.arrives(ref))
        return self.callbacks.on_press(press)


@contextmanager
def chat_fixture(folder: Path) -> Iterator[tuple[ChatFixture, CoreFixture]]:
    """A counter in rooms with operator ada and member bob, who both use Telegram."""
    with core_fixture(folder) as install:
        install.users.update_user(install.operator.id, {"telegram_id": ADA, "time_zone": "Europe/Vienna"})
        install.users.update_user(install.member.id, {"telegram_id": BOB})
        yield (
            ChatFixture(install.store, install.users, install.approvals, install.turns, install.steps, folder),
            install,
        )
