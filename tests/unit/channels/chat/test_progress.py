"""``channels.chat.progress``: a turn is seen at work while it is, calmly, and nothing of that stays."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

from orchestrator.channels.chat.agent_text import MARK
from orchestrator.channels.chat.progress import ProgressDisplay
from orchestrator.channels.chat.progress_text import TurnPhase, TurnProgress, apply_event, so_far, status_line
from orchestrator.channels.chat.replies_to_turns import TurnReplies
from orchestrator.channels.chat.rich_text import utf16_len
from orchestrator.channels.chat.send_errors import (
    ChatForbidden,
    FloodWait,
    NoSuchMessage,
    SendError,
    SendRefused,
    TokenRevoked,
    Unreachable,
)
from orchestrator.channels.telegram.format.markdown import render_markdown
from orchestrator.core.events import Subscription
from orchestrator.core.models import Event, Turn
from tests.support.chat_fakes import GROUP, FakeClient, FakeLoopClock, FakeOutbox, TurnsFixture, telegram_store
from tests.support.core_fixture import KEY, OTHER, core_fixture


class Stage:
    """Progress over an install, with a clock that the test moves."""

    def __init__(self, fixture: TurnsFixture) -> None:
        self.fixture = fixture
        self.clock = FakeLoopClock()
        self.line: FakeClient | None = FakeClient(self.clock.now)
        self.news: Subscription = fixture.install.broker.subscribe()
        self.progress = self._made()

    def _made(self) -> ProgressDisplay:
        install = self.fixture.install
        wall = lambda: 1_000_000.0  # noqa: E731 - a clock that stands still
        return ProgressDisplay(
            render=render_markdown,
            store=telegram_store(install.store),
            outbox=self.fixture.outbox,
            turns=install.turns,
            adapter_of=cast("Any", self._line),
            clock=self.clock,
            wall=wall,
        )

    def _line(self, agent: str) -> FakeClient | None:
        return self.line if agent == "crab" else None

    @property
    def client(self) -> FakeClient:
        """The line, which is there."""
        assert self.line is not None
        return self.line

    @property
    def hanging(self) -> int:
        """How many showings hang on the line."""
        return 0 if self.line is None else self.line.hanging

    async def tell(self) -> None:
        """Progress hears what happened so far, and does what is due."""
        while (event := self.news.get(0)) is not None:
            await self.progress.on_event(event)
        await self.settle()

    async def settle(self) -> None:
        """Whatever can be done without the time moving is done: everybody sleeps, but for who waits for the line."""
        for _ in range(2_000):
            await asyncio.sleep(0)
            if len(self.progress._tasks) <= self.clock.sleepers + self.hanging:
                return
            await asyncio.sleep(0.0005)
        raise AssertionError("progress never comes to rest")

    async def passes(self, seconds: float, every: float = 0.5) -> None:
        """Time passes."""
        while seconds > 0:
            self.clock.move(min(every, seconds))
            seconds -= every
            await self.settle()

    async def begins(self, **more: Any) -> Turn:
        """A message comes and a crab takes it."""
        self.fixture.asks(**more)
        turn = self.fixture.takes(more.get("key", KEY))
        await self.tell()
        return turn

    async def ends(self, turn: Turn, reply: str = "ok") -> None:
        """The turn ends."""
        self.fixture.ends(turn, reply)
        await self.tell()

    async def is_up(self, turn: Turn, message: int = 555) -> None:
        """The status message has been sent."""
        self.fixture.outbox.set(f"status:{turn.id}", "sent", message)
        await self.settle()

    async def writes(self, turn: Turn, text: str) -> None:
        """The model writes the reply."""
        self.fixture.install.broker.publish(Event("delta", turn.cubicle, {"turn": turn.id, "text": text}))
        await self.tell()

    def status_refs(self) -> list[str]:
        """The status messages that were posted and not withdrawn."""
        return [ref for ref in self.fixture.outbox.refs if ref.startswith("status:")]

    def rows(self) -> int:
        """How many status messages may be up."""
        with self.fixture.install.store.reading() as db:
            return int(db.execute("SELECT COUNT(*) FROM chat_progress").fetchone()[0])

    async def restarts(self) -> None:
        """The process is killed, and another one starts."""
        await self.progress.close()
        self.progress = self._made()
        await self.progress.start()
        await self.settle()


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[TurnsFixture]:
    """An install with one bot."""
    with core_fixture(tmp_path / "home", approval="all") as install:
        yield TurnsFixture(install, FakeOutbox(install.store))


def play(fixture: TurnsFixture, scene: Callable[[Stage], Awaitable[None]]) -> Stage:
    """A scene from beginning to end."""

    async def run() -> Stage:
        stage = Stage(fixture)
        await stage.progress.start()
        await scene(stage)
        await stage.progress.close()
        return stage

    return asyncio.run(run())


# --- what is shown, and when -----------------------------------------------------------------------------------


def test_a_quick_turn_shows_typing_alone(fixture: TurnsFixture) -> None:
    """No status message, no draft, nothing to take away."""

    async def scene(stage: Stage) -> None:
        turn = await stage.begins()
        await stage.passes(0.4)
        await stage.writes(turn, "Hello")
        await stage.passes(0.2)
        await stage.ends(turn)
        await stage.passes(60)

    stage = play(fixture, scene)
    assert stage.client.of("typing") == [42]
    assert [name for _, name, _ in stage.client.calls] == ["typing"]
    assert (stage.status_refs(), stage.rows()) == ([], 0)


def test_a_slow_turn_gets_one_silent_status_message(fixture: TurnsFixture) -> None:
    """After a moment, in its place, and it goes once when the turn ends."""

    async def scene(stage: Stage) -> None:
        turn = await stage.begins()
        await stage.passes(1.0)
        assert stage.status_refs() == []
        await stage.passes(0.5)
        assert stage.status_refs() == [f"status:{turn.id}"]
        await stage.is_up(turn)
        await stage.passes(30)
        await stage.ends(turn)
        await stage.passes(60)

    stage = play(fixture, scene)
    body = fixture.outbox.messages[0].body
    assert (body.rich.text, body.is_silent, body.reply_to) == (f"{MARK} crab is thinking…", True, None)
    assert stage.client.of("delete") == [555]
    assert (len(stage.status_refs()), stage.rows()) == (1, 0)
    assert stage.client.calls[-1][1] == "delete"


def test_typing_goes_on_while_somebody_works(fixture: TurnsFixture) -> None:
    """Every few seconds, and not while a person is asked."""

    async def scene(stage: Stage) -> None:
        turn = await stage.begins()
        await stage.passes(30)
        before = len(stage.client.of("typing"))
        assert 6 <= before <= 8
        fixture.install.steps.start_step(KEY, turn.id, 1, thought="", command="rm x", approval=None)
        fixture.install.steps.ask_person(KEY, turn.id, 1)
        await stage.tell()
        await stage.passes(60)
        assert len(stage.client.of("typing")) == before

    play(fixture, scene)


def test_edits_are_few_and_say_something_new(fixture: TurnsFixture) -> None:
    """At least three seconds apart however much happens, and none without a change."""

    async def scene(stage: Stage) -> None:
        turn = await stage.begins()
        await stage.passes(1.5)
        await stage.is_up(turn)
        for n in range(1, 13):
            body = {"turn": turn.id, "n": n, "command": f"step {n}", "status": "running"}
            fixture.install.broker.publish(Event("step", KEY, body))
            await stage.tell()
            await stage.passes(1.0)
        quiet = len(stage.client.of("edit"))
        await stage.passes(200, every=1.0)
        assert len(stage.client.of("edit")) - quiet <= 9  # the time alone is not worth many

    stage = play(fixture, scene)
    texts, times = stage.client.of("edit"), stage.client.times("edit")
    assert all(later - sooner >= 3 for sooner, later in pairwise(times))
    assert all(sooner != later for sooner, later in pairwise(texts))
    assert f"{MARK} crab (running, step 3):\nstep 3" in texts


def test_a_command_that_asks_is_said(fixture: TurnsFixture) -> None:
    """Running, waiting for an answer, running again."""

    async def scene(stage: Stage) -> None:
        turn = await stage.begins()
        await stage.passes(1.5)
        await stage.is_up(turn)
        fixture.install.steps.start_step(KEY, turn.id, 1, thought="", command="rm x", approval=None)
        approval = fixture.install.steps.ask_person(KEY, turn.id, 1)
        await stage.tell()
        await stage.passes(4)
        fixture.install.approvals.decide(approval.id, approve=True, by=fixture.install.operator, surface="telegram")
        fixture.install.steps.start_step(KEY, turn.id, 1, thought="", command="rm x", approval=approval.id)
        await stage.tell()
        await stage.passes(4)
        fixture.install.steps.end_step(KEY, turn.id, 1, exit_code=0, output="", ended="exited")
        await stage.tell()
        await stage.passes(4)

    edits = play(fixture, scene).client.of("edit")
    assert [str(text).split(",")[0].split(" (1")[0] for text in edits] == [
        f"{MARK} crab is waiting for your answer…",
        f"{MARK} crab (running",
        f"{MARK} crab is thinking…",
    ]


def test_in_groups_it_is_calmer_and_answers_the_message(fixture: TurnsFixture) -> None:
    """In its topic, edited rarely, and never a draft."""

    async def scene(stage: Stage) -> None:
        turn = await stage.begins(chat=GROUP, thread=9)
        await stage.passes(1.5)
        await stage.is_up(turn)
        for n in range(20):
            await stage.writes(turn, f"Word {n}")
            await stage.passes(1.0)
        await stage.ends(turn)
        await stage.passes(3)

    stage = play(fixture, scene)
    body = fixture.outbox.messages[0].body
    assert (body.reply_to, body.thread, body.is_silent) == (101, 9, True)
    assert stage.client.of("draft") == []
    assert 1 <= len(stage.client.of("edit")) <= 2
    assert str(stage.client.of("edit")[0]).startswith(f"{MARK} crab:\nWord ")


# --- the reply as it comes -------------------------------------------------------------------------------------


def test_in_private_the_reply_is_a_draft_as_it_comes(fixture: TurnsFixture) -> None:
    """Under the agent's line, not too often, without a status message besides; kept alive while nothing comes."""

    async def scene(stage: Stage) -> None:
        turn = await stage.begins()
        for n in range(20):
            await stage.writes(turn, "word " * (n + 1))
            await stage.passes(0.2, every=0.1)
        drafts = stage.client.of("draft")
        assert 3 <= len(drafts) <= 7
        assert str(drafts[-1]).startswith(f"{MARK} crab:\nword word")
        await stage.passes(45)
        assert len(stage.client.of("draft")) in (len(drafts) + 2, len(drafts) + 3)
        await stage.ends(turn)
        before = len(stage.client.calls)
        await stage.writes(turn, "late")
        await stage.passes(60)
        assert len(stage.client.calls) == before

    stage = play(fixture, scene)
    times = stage.client.times("draft")
    assert all(later - sooner >= 0.69 for sooner, later in pairwise(times))
    assert stage.status_refs() == []


@pytest.mark.parametrize("refusal", [SendRefused("method not found"), TokenRevoked()], ids=["refused", "404"])
def test_a_server_without_drafts_gets_edits(fixture: TurnsFixture, refusal: SendError) -> None:
    """It is asked once, for all turns of that bot; the reply shows in the status message."""

    async def scene(stage: Stage) -> None:
        stage.client.troubles["draft"] = [refusal]
        for _ in range(2):
            turn = await stage.begins()
            await stage.writes(turn, "**Once** upon")
            await stage.passes(2)
            await stage.is_up(turn)
            await stage.writes(turn, "**Once** upon a time")
            await stage.passes(4)
            await stage.ends(turn)
            await stage.passes(3)

    stage = play(fixture, scene)
    assert len(stage.client.of("draft")) == 1
    assert stage.client.of("edit") == [f"{MARK} crab:\nOnce upon a time"] * 2
    assert stage.client.of("delete") == [555, 555]


def test_a_chat_that_is_closed_does_not_speak_for_the_server(fixture: TurnsFixture) -> None:
    """The next chat gets its drafts; the closed one nothing more."""

    async def scene(stage: Stage) -> None:
        stage.client.troubles["draft"] = [ChatForbidden("blocked")]
        turn = await stage.begins(chat=43, key=OTHER)
        await stage.passes(1)
        await stage.writes(turn, "a")
        await stage.passes(1)
        calls = len(stage.client.calls)
        await stage.passes(20)
        assert len(stage.client.calls) == calls
        turn = await stage.begins()
        await stage.writes(turn, "b")
        await stage.passes(1)

    assert len(play(fixture, scene).client.of("draft")) == 2


# --- never in the way of the answer ----------------------------------------------------------------------------


def test_a_line_that_hangs_holds_no_answer(fixture: TurnsFixture) -> None:
    """Progress waits for the network, the install does not: events are taken at once and the messages posted."""

    async def scene(stage: Stage) -> None:
        stage.client.gate = asyncio.Event()
        turn = await stage.begins()
        await stage.passes(10)
        await stage.ends(turn, "the answer")
        install = fixture.install
        answers = TurnReplies(
            render=render_markdown,
            store=telegram_store(install.store),
            outbox=fixture.outbox,
            turns=install.turns,
            folder=install.home / "a",
        )
        assert await answers.post_due() == 1
        assert fixture.outbox.texts() == [f"{MARK} crab:\nthe answer"]
        stage.client.gate.set()
        await stage.passes(30)

    stage = play(fixture, scene)
    assert [name for _, name, _ in stage.client.calls] == ["typing"]
    assert stage.status_refs() == []


@pytest.mark.parametrize(
    "trouble",
    [
        FloodWait(30),
        Unreachable("reset", may_have_arrived=True),
        ChatForbidden("blocked"),
        SendRefused("no"),
        TokenRevoked(),
    ],
    ids=lambda trouble: type(trouble).__name__,
)
@pytest.mark.parametrize("method", ["typing", "edit", "draft", "delete"])
def test_no_trouble_with_progress_reaches_the_answer(fixture: TurnsFixture, method: str, trouble: SendError) -> None:
    """Whatever fails and however often, the turn ends, its answer is posted and nothing is raised."""

    async def scene(stage: Stage) -> None:
        stage.client.troubles[method] = [trouble] * 50
        turn = await stage.begins()
        await stage.passes(2)
        await stage.is_up(turn)
        for n in range(6):
            fixture.install.broker.publish(
                Event("step", KEY, {"turn": turn.id, "n": n, "command": "x", "status": "done"})
            )
            await stage.tell()
            await stage.passes(2)
            await stage.writes(turn, f"a{n}")
            await stage.passes(2)
        await stage.ends(turn)
        install = fixture.install
        answers = TurnReplies(
            render=render_markdown,
            store=telegram_store(install.store),
            outbox=fixture.outbox,
            turns=install.turns,
            folder=install.home / "a",
        )
        assert await answers.post_due() == 1

    stage = play(fixture, scene)
    assert len(stage.client.times(method)) <= 7


def test_a_flood_silences_the_progress_of_that_bot(fixture: TurnsFixture) -> None:
    """Of all its turns, for as long as Telegram says; then it goes on."""

    async def scene(stage: Stage) -> None:
        stage.client.troubles["typing"] = [FloodWait(20)]
        await stage.begins()
        await stage.begins(chat=43, key=OTHER)
        await stage.passes(19)
        assert len(stage.client.calls) == 1
        await stage.passes(10)
        assert {what for _, name, what in stage.client.calls if name == "typing"} == {42, 43}

    play(fixture, scene)


def test_a_status_message_on_its_way_is_withdrawn(fixture: TurnsFixture) -> None:
    """The network was away: the person gets the answer, not the news of an hour ago."""

    async def scene(stage: Stage) -> None:
        turn = await stage.begins()
        await stage.passes(2)
        assert stage.status_refs() == [f"status:{turn.id}"]
        await stage.ends(turn)

    stage = play(fixture, scene)
    assert (stage.status_refs(), stage.rows(), stage.client.of("delete")) == ([], 0, [])


def test_a_status_message_that_is_just_being_sent_is_taken_down_later(fixture: TurnsFixture) -> None:
    """As soon as its number is known."""

    async def scene(stage: Stage) -> None:
        turn = await stage.begins()
        await stage.passes(2)
        fixture.outbox.set(f"status:{turn.id}", "sending")
        await stage.ends(turn)
        await stage.passes(5)
        assert (stage.client.of("delete"), stage.rows()) == ([], 1)
        await stage.is_up(turn, 777)
        await stage.passes(20)

    stage = play(fixture, scene)
    assert (stage.client.of("delete"), stage.rows()) == ([777], 0)


def test_taking_down_is_tried_until_it_works(fixture: TurnsFixture) -> None:
    """Hours without a network are survived."""

    async def scene(stage: Stage) -> None:
        stage.client.troubles["delete"] = [Unreachable("x", may_have_arrived=False)] * 8
        turn = await stage.begins()
        await stage.passes(2)
        await stage.is_up(turn)
        await stage.ends(turn)
        assert stage.rows() == 1
        await stage.passes(3000, every=50.0)

    stage = play(fixture, scene)
    assert (stage.client.of("delete"), stage.rows()) == ([555] * 9, 0)


def test_what_is_too_old_to_delete_says_that_it_is_over(fixture: TurnsFixture) -> None:
    """Telegram deletes nothing that is older than two days."""

    async def scene(stage: Stage) -> None:
        turn = await stage.begins()
        await stage.passes(2)
        await stage.is_up(turn)
        with fixture.install.store.writing() as db:
            db.execute("UPDATE turns SET created_at = ? WHERE id = ?", (1_000_000.0 - 2 * 86_400, turn.id))
        await stage.ends(turn)
        await stage.passes(5)

    stage = play(fixture, scene)
    assert (stage.client.of("edit"), stage.rows()) == ([f"{MARK} crab is done."], 0)
    assert stage.client.of("delete") == []


def test_a_status_message_that_the_person_deleted_stays_deleted(fixture: TurnsFixture) -> None:
    """No other one comes in its place."""

    async def scene(stage: Stage) -> None:
        stage.client.troubles["edit"] = [NoSuchMessage()]
        turn = await stage.begins()
        await stage.passes(2)
        await stage.is_up(turn)
        await stage.passes(60)
        assert len(stage.client.of("edit")) == 1
        assert stage.status_refs() == [f"status:{turn.id}"]

    play(fixture, scene)


def test_no_status_message_follows_the_answer(fixture: TurnsFixture) -> None:
    """The turn ends in the very moment in which its status would be posted."""

    async def scene(stage: Stage) -> None:
        turn = await stage.begins()
        await stage.passes(1.0)
        fixture.ends(turn)  # and the news of it has not come yet
        await stage.passes(1.0)
        assert stage.status_refs() == []
        await stage.tell()

    assert play(fixture, scene).rows() == 0


# --- which turns -----------------------------------------------------------------------------------------------


def test_turns_from_elsewhere_are_not_shown(fixture: TurnsFixture) -> None:
    """Whoever writes in the dashboard looks at the dashboard."""

    async def scene(stage: Stage) -> None:
        fixture.install.turns.submit(KEY, "a", source="dashboard")
        fixture.takes()
        await stage.tell()
        await stage.passes(10)

    assert play(fixture, scene).client.calls == []


def test_a_queue_is_shown_by_its_first(fixture: TurnsFixture) -> None:
    """Fifty messages at once type no louder than one; each is shown when its time comes."""

    async def scene(stage: Stage) -> None:
        for _ in range(50):
            fixture.asks()
        await stage.tell()
        await stage.passes(4)
        assert len(stage.client.of("typing")) == 1
        turn = fixture.takes()
        await stage.tell()
        await stage.passes(2)
        await stage.is_up(turn)
        await stage.ends(turn)
        second = fixture.takes()
        await stage.tell()
        await stage.passes(2)
        assert stage.status_refs() == [f"status:{turn.id}", f"status:{second.id}"]

    assert play(fixture, scene).client.of("delete") == [555]


def test_a_lost_end_is_noticed(fixture: TurnsFixture) -> None:
    """News are hints; the row says that the turn has ended."""

    async def scene(stage: Stage) -> None:
        turn = await stage.begins()
        await stage.passes(2)
        await stage.is_up(turn)
        fixture.ends(turn)
        while stage.news.get(0) is not None:
            pass
        await stage.passes(40)

    stage = play(fixture, scene)
    assert (stage.client.of("delete"), stage.rows()) == ([555], 0)


def test_an_agent_without_a_line_is_left_alone(fixture: TurnsFixture) -> None:
    """Its bot was taken away; when there is one again, the status message goes."""

    async def scene(stage: Stage) -> None:
        turn = await stage.begins()
        await stage.passes(2)
        await stage.is_up(turn)
        client, stage.line = stage.client, None
        await stage.passes(20)
        await stage.ends(turn)
        assert stage.rows() == 1
        stage.line = client
        await stage.passes(100)

    stage = play(fixture, scene)
    assert (stage.client.of("delete"), stage.rows()) == ([555], 0)


# --- restarts --------------------------------------------------------------------------------------------------


def test_a_restart_takes_down_what_is_stale(fixture: TurnsFixture) -> None:
    """The turn ended while nobody looked; what was not sent yet is withdrawn before the mail begins."""

    async def scene(stage: Stage) -> None:
        sent, unsent = await stage.begins(), await stage.begins(chat=43, key=OTHER)
        await stage.passes(2)
        await stage.is_up(sent)
        await stage.progress.close()
        fixture.ends(sent)
        fixture.ends(unsent)
        await stage.restarts()

    stage = play(fixture, scene)
    assert (stage.client.of("delete"), stage.rows()) == ([555], 0)
    assert len(stage.status_refs()) == 1


def test_a_restart_goes_on_with_what_is_under_way(fixture: TurnsFixture) -> None:
    """The same status message, the time since the turn began, and no second one."""

    async def scene(stage: Stage) -> None:
        turn = await stage.begins()
        await stage.passes(2)
        await stage.is_up(turn)
        with fixture.install.store.writing() as db:
            db.execute("UPDATE turns SET started_at = ? WHERE id = ?", (1_000_000.0 - 185, turn.id))
        await stage.restarts()
        await stage.passes(5)
        assert stage.client.of("edit") == [f"{MARK} crab is thinking… (3 min)"]
        await stage.ends(turn)
        await stage.passes(5)

    stage = play(fixture, scene)
    assert len(stage.status_refs()) == 1
    assert (stage.client.of("delete"), stage.rows()) == ([555], 0)


# --- the words -------------------------------------------------------------------------------------------------


def test_the_words_of_a_status() -> None:
    """One calm line, with the agent's command under the agent's line."""
    base = TurnProgress(1, "crab")
    told_ = [
        (TurnProgress(1, "crab"), 0.0, f"{MARK} crab is getting ready…"),
        (TurnProgress(1, "crab", TurnPhase.THINKING, steps=1), 9.0, f"{MARK} crab is thinking… (1 step)"),
        (TurnProgress(1, "crab", TurnPhase.THINKING, steps=2), 47.0, f"{MARK} crab is thinking… (2 steps, 40 s)"),
        (TurnProgress(1, "crab", TurnPhase.ASKING), 3700.0, f"{MARK} crab is waiting for your answer… (1 h 1 min)"),
        (TurnProgress(1, "crab", TurnPhase.WRITING), 61.0, f"{MARK} crab is writing… (1 min)"),
        (TurnProgress(1, "crab", TurnPhase.OVER), 61.0, f"{MARK} crab is done."),
        (
            TurnProgress(1, "crab", TurnPhase.RUNNING, steps=3, command="pip install\nx"),
            12.0,
            f"{MARK} crab (running, step 3, 10 s):\npip install\\nx",
        ),
        (
            TurnProgress(
                1, "crab", TurnPhase.RUNNING, steps=3, command="ls", plan=(("Read\nit", True), ("Draw", False))
            ),
            12.0,
            f"{MARK} crab (running, step 3, 10 s):\nls\n☑ Read\\nit\n☐ Draw",
        ),
        (
            TurnProgress(1, "crab", TurnPhase.THINKING, steps=2, plan=((f"{MARK} crab is done.", False),)),
            12.0,
            f"{MARK} crab (thinking, 2 steps, 10 s):\n☐ {MARK} crab is done.".replace(f"☐ {MARK}", "☐ ◇"),
        ),
    ]
    assert [status_line(standing, seconds).text for standing, seconds, _ in told_] == [text for _, _, text in told_]
    assert apply_event(base, Event("cubicle", KEY, {})) == base
    planned = apply_event(base, Event("plan", KEY, {"turn": 1, "plan": [{"n": 1, "text": "a", "is_done": True}]}))
    assert planned.plan == (("a", True),)


@pytest.mark.parametrize(
    "text",
    [
        f"{MARK} crab asks: may this run?",
        "\u202egnp.exe\u200b",
        "a" * 100_000,
        "\u200b" * 100_000,
        "```\n" + "x\n" * 3000,
        "👩\u200d👩\u200d👧" * 2000,
        "\ud800 half",
        "*_[]()~>#+-={}.!<b>&" * 100,
        "",
    ],
    ids=range(9),
)
def test_what_the_agent_writes_stays_under_its_line(text: str) -> None:
    """As a command and as a reply under way: headed, in one message, and nothing in it is the install's mark."""
    command = status_line(TurnProgress(1, "crab", TurnPhase.RUNNING, 1, text), 0)
    for rich, head in (
        (command, f"{MARK} crab (running, step 1):"),
        (so_far("crab", render_markdown, text), f"{MARK} crab"),
    ):
        assert rich.text.startswith(head)
        assert rich.text.count(MARK) == 1
        assert utf16_len(rich.text) <= 4096
        assert not {"\u202e", "\u200b", "\ud800"} & set(rich.text)
        assert all(entity.offset + entity.length <= utf16_len(rich.text) for entity in rich.entities)
