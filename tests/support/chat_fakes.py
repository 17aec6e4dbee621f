"""A chat on paper for tests: messages that came in, messages that were posted, and a line that says what was called."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from orchestrator.channels.chat.channel_store import ChannelStore
from orchestrator.channels.chat.message import Message, MessageBody
from orchestrator.channels.chat.outbox import Outbox
from orchestrator.channels.chat.rich_text import RichText
from orchestrator.channels.chat.throttle import LoopClock
from orchestrator.channels.telegram.channel import TRAITS
from orchestrator.core.db.database import Store
from orchestrator.core.models import CubicleKey, Turn, TurnStatus
from tests.support.core_fixture import KEY, CoreFixture

BOT = 7_000_000_001
CHAT = 42
GROUP = -100_500


def telegram_store(store: Store) -> ChannelStore:
    """The database as the Telegram channel sees it."""
    return ChannelStore(store, TRAITS)


class FakeOutbox(Outbox):
    """Keeps messages in the outbox's table, and sends one when the test says so."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.messages: list[Message] = []
        self.trouble: Exception | None = None

    def post_message(self, stored: Message) -> bool:
        """Once for each ref."""
        if self.trouble is not None:
            raise self.trouble
        with self.store.writing() as db:
            cursor = db.execute(
                "INSERT INTO chat_outbox (channel, agent, chat, ref, body, state, created_at) "
                "VALUES ('telegram', ?, ?, ?, '', 'waiting', 0) ON CONFLICT DO NOTHING",
                (stored.agent, stored.chat, stored.ref),
            )
        self.messages += [stored] * cursor.rowcount
        return cursor.rowcount == 1

    def withdraw_message(self, ref: str) -> bool:
        """Only what was not sent."""
        with self.store.writing() as db:
            cursor = db.execute("DELETE FROM chat_outbox WHERE ref = ? AND state = 'waiting'", (ref,))
        self.messages = [stored for stored in self.messages if cursor.rowcount == 0 or stored.ref != ref]
        return cursor.rowcount == 1

    def set(self, ref: str, state: str, message: int | None = None) -> None:
        """A message gets on."""
        with self.store.writing() as db:
            db.execute("UPDATE chat_outbox SET state = ?, message = ? WHERE ref = ?", (state, message, ref))

    @property
    def refs(self) -> list[str]:
        """What was posted, in order."""
        return [stored.ref for stored in self.messages]

    def body(self, ref: str) -> MessageBody:
        """What a message says."""
        return next(stored.body for stored in self.messages if stored.ref == ref)

    def texts(self, beginning: str = "turn:") -> list[str]:
        """What messages with such refs say."""
        return [stored.body.rich.text for stored in self.messages if stored.ref.startswith(beginning)]


@dataclass
class TurnsFixture:
    """An install with one bot, and its mail."""

    install: CoreFixture
    outbox: FakeOutbox
    updates: int = 0
    messages: dict[int, int] = field(default_factory=dict)

    def asks(
        self, text: str = "hi", *, chat: int = CHAT, key: CubicleKey = KEY, album: str = "", thread: int | None = None
    ) -> Turn:
        """Somebody writes; the turn waits."""
        self.updates += 1
        number = self.messages[chat] = self.messages.get(chat, 100) + 1
        origin = f"telegram:{BOT}:{self.updates}"
        with self.install.store.writing() as db:
            db.execute(
                "INSERT INTO chat_inbox (channel, bot, update_id, agent, chat, thread, person, message, album, origin, "
                "received_at) VALUES ('telegram', ?, ?, ?, ?, ?, 42, ?, ?, ?, 0)",
                (BOT, self.updates, key.agent, chat, thread, number, album, origin),
            )
        return self.install.turns.submit(key, text, source="telegram", origin=origin)

    def takes(self, key: CubicleKey = KEY) -> Turn:
        """A crab takes the next turn."""
        taken = self.install.turns.take_next(key, "boot", 0)
        assert taken is not None
        return taken

    def ends(
        self, turn: Turn, reply: str | None = "ok", status: TurnStatus = TurnStatus.DONE, error: str | None = None
    ) -> None:
        """A turn gets its outcome."""
        assert self.install.turns.end_turn(turn.cubicle, turn.id, status, reply=reply, error=error)

    def answered(self, reply: str | None, **more: object) -> Turn:
        """A whole turn."""
        turn = self.asks()
        self.ends(self.takes(), reply, **more)  # type: ignore[arg-type]  # what `ends` takes
        return turn


class FakeLoopClock(LoopClock):
    """Time that only the test moves; whoever waits is woken when their time has come."""

    def __init__(self) -> None:
        self.time = 1_000.0
        self._waiting: list[tuple[float, asyncio.Event]] = []

    def now(self) -> float:
        """As the test says."""
        return self.time

    async def wait(self, bell: asyncio.Event, seconds: float) -> None:
        """Until the bell rings or the test has moved time so far."""
        entry = (self.time + seconds, bell)
        self._waiting.append(entry)
        try:
            await bell.wait()
        finally:
            self._waiting.remove(entry)
        bell.clear()

    @property
    def sleepers(self) -> int:
        """How many wait, and for nothing that has come already."""
        return sum(not bell.is_set() for _, bell in self._waiting)

    def move(self, seconds: float) -> None:
        """Time passes."""
        self.time += seconds
        for until, bell in self._waiting:
            if until <= self.time:
                bell.set()


@dataclass
class FakeClient:
    """A bot's line that writes down what it is asked."""

    clock: Callable[[], float]
    calls: list[tuple[float, str, object]] = field(default_factory=list)
    troubles: dict[str, list[Exception]] = field(default_factory=dict)
    """By method, what its next calls end in."""
    gate: asyncio.Event | None = None
    """While there is one that is not set, calls hang."""
    hanging: int = 0

    async def send_typing(self, chat: int, thread: int | None) -> None:
        """As the line does."""
        await self._called("typing", chat)

    async def send_draft(self, chat: int, draft_id: int, rich: RichText, thread: int | None = None) -> None:
        """As the line does."""
        await self._called("draft", rich.text)

    async def edit_message(self, chat: int, message: int, body: MessageBody) -> None:
        """As the line does."""
        await self._called("edit", body.rich.text)

    async def delete_message(self, chat: int, message: int) -> None:
        """As the line does."""
        await self._called("delete", message)

    async def _called(self, method: str, what: object) -> None:
        self.calls.append((self.clock(), method, what))
        if self.gate is not None:
            self.hanging += 1
            try:
                await self.gate.wait()
            finally:
                self.hanging -= 1
        if self.troubles.get(method):
            raise self.troubles[method].pop(0)

    def of(self, method: str) -> list[object]:
        """What a method was called with."""
        return [what for _, name, what in self.calls if name == method]

    def times(self, method: str) -> list[float]:
        """When a method was called."""
        return [at for at, name, _ in self.calls if name == method]
