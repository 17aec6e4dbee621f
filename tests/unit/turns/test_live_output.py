"""What is seen of a turn while it runs: drafts of the reply (``orchestrator.llm.reply_events``) and what a command
has printed so far (``orchestrator.turns.live_output``, ``crab.live``).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crab.live import OutputPoster
from orchestrator.core.errors import NotFound
from orchestrator.core.events import Broker, Subscription
from orchestrator.core.models import Event, TurnStatus
from orchestrator.core.text import terminal_safe
from orchestrator.llm.reply_events import EVERY_S, ReplyEvents
from orchestrator.turns.live_output import MOST_CHARS
from tests.support.core_fixture import KEY, OTHER, CoreFixture, core_fixture, heard
from tests.support.fake_door import FakeDoor


@pytest.fixture
def install(tmp_path: Path) -> Iterator[CoreFixture]:
    """The rules, over an empty home."""
    with core_fixture(tmp_path / "home") as made:
        yield made


class Time:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


# --- drafts ------------------------------------------------------------------------------------------------------


def test_ten_drafts_a_second_at_most() -> None:
    """However small the pieces are that a model writes in; and each draft says all so far."""
    broker, clock = Broker(), Time()
    news, texts = broker.subscribe(), []
    sketch = ReplyEvents(broker, clock=clock).begin_reply(KEY, 1)
    for message in '{"message": "' + "abcdefghij" * 10 + '"}':
        sketch.add_piece(message)
        texts += [event.body["text"] for event in heard_now(news)]
        clock.now += 0.01
    assert 8 <= len(texts) <= 12
    assert all(("abcdefghij" * 10).startswith(text) for text in texts)
    assert texts == sorted(texts, key=len)


def heard_now(news: Subscription) -> list[Event]:
    """What waits, without waiting for more."""
    event = news.get(0)
    return [] if event is None else [event]


def test_parallel_calls_of_a_turn_share_its_pace() -> None:
    """A program in the cubicle that asks the model in many threads makes no flood."""
    broker, clock = Broker(), Time()
    news, drafting = broker.subscribe(), ReplyEvents(broker, clock=clock)
    for n in range(50):
        drafting.begin_reply(KEY, 1).add_piece(f'{{"message": "number {n}')
    drafting.begin_reply(KEY, 2).add_piece('{"message": "another turn')
    assert [event.body["turn"] for event in heard(news)] == [1, 2]
    clock.now += EVERY_S * 2
    drafting.begin_reply(KEY, 1).add_piece('{"message": "again')
    assert [event.body["text"] for event in heard(news)] == ["again"]


def test_nothing_is_read_for_nobody() -> None:
    """A draft that nobody watches is whole for whoever comes later, and one without a turn is nobody's."""
    broker, clock = Broker(), Time()
    drafting = ReplyEvents(broker, clock=clock)
    sketch, stray = drafting.begin_reply(KEY, 1), drafting.begin_reply(KEY, None)
    sketch.add_piece('{"message": "one ')
    news = broker.subscribe()
    stray.add_piece('{"message": "x')
    sketch.add_piece("two")
    assert [(event.kind, event.cubicle, event.body) for event in heard(news)] == [
        ("delta", KEY, {"turn": 1, "text": "one two"})
    ]


# --- the host's half of a running command's output -----------------------------------------------------------------


def running(install: CoreFixture) -> int:
    """A turn with a command that runs as step 1."""
    turn = install.under_way()
    answer = install.steps.start_step(KEY, turn.id, 1, thought="", command="make", approval=None)
    assert answer.do == "run"
    return turn.id


def test_a_running_step_has_its_output_so_far(install: CoreFixture) -> None:
    """It is seen at once and in the step as it stands, is never stored, and gives way to the whole in the end."""
    turn = running(install)
    news = install.broker.subscribe("output")
    assert install.steps.show_output(KEY, turn, 1, "one\n\x1b[31m\u202e").do == "continue"
    (event,) = heard(news)
    assert event.body == {"turn": turn, "n": 1, "output": terminal_safe("one\n\x1b[31m\u202e")}
    assert "\u202e" not in event.body["output"]
    assert install.turns.list_steps(turn)[0].output.startswith("one\n")
    with install.store.reading() as db:
        assert db.execute("SELECT output FROM steps").fetchone()["output"] == ""
    install.steps.end_step(KEY, turn, 1, exit_code=0, output="one\ntwo\n", ended="exited")
    install.steps.show_output(KEY, turn, 1, "late")
    assert install.turns.list_steps(turn)[0].output == "one\ntwo\n"
    assert install.turns.outputs._printed.keys() == {turn}
    install.turns.end_turn(KEY, turn, TurnStatus.DONE, reply="done")
    assert install.turns.outputs._printed == {}


def test_what_a_stranger_posts_is_bounded(install: CoreFixture) -> None:
    """A cubicle that posts without end is shown now and then, and never at length."""
    turn = running(install)
    news = install.broker.subscribe("output")
    for n in range(200):
        install.steps.show_output(KEY, turn, 1, f"{n} " + "x" * 100_000)
    events = heard(news)
    assert len(events) <= 10
    assert len(install.turns.list_steps(turn)[0].output) == MOST_CHARS
    assert all(len(event.body["output"]) <= MOST_CHARS for event in events)


def test_only_a_running_step_of_its_own_turn(install: CoreFixture) -> None:
    """Output of another cubicle's turn is refused, that of no step or of an ended turn is nothing."""
    turn = running(install)
    news = install.broker.subscribe("output")
    with pytest.raises(NotFound):
        install.steps.show_output(OTHER, turn, 1, "x")
    assert install.steps.show_output(KEY, turn, 7, "x").do == "continue"
    install.turns.end_turn(KEY, turn, TurnStatus.DONE, reply="done")
    assert install.steps.show_output(KEY, turn, 1, "x").do == "stop"
    assert heard(news) == []


# --- the crab's half ----------------------------------------------------------------------------------------------


def test_the_newest_waits_for_a_slow_door(tmp_path: Path) -> None:
    """While a post is under way the loop goes on, and of all that came meanwhile only the last is posted."""
    opened, told = threading.Event(), threading.Event()
    bodies: list[dict[str, Any]] = []

    def take(body: dict[str, Any]) -> None:
        bodies.append(body)
        told.set()
        opened.wait(10)

    with FakeDoor(tmp_path) as door:
        door.on_output = take
        live = OutputPoster(door.path)
        live.show_output(17, 1, "first")
        assert told.wait(10)
        for n in range(100):
            live.show_output(17, 1, f"more {n}")
        opened.set()
        with door.changed:
            assert door.changed.wait_for(lambda: len(door.calls) == 2, 10)
    assert [body["output"] for body in bodies] == ["first", "more 99"]
    assert door.calls[0] == ("turns/17/steps", {"n": 1, "phase": "output", "output": "first"})


def test_what_ended_is_not_posted(tmp_path: Path) -> None:
    """What waited when the command ended goes nowhere."""
    opened, told = threading.Event(), threading.Event()

    def take(_: dict[str, Any]) -> None:
        told.set()
        opened.wait(10)

    with FakeDoor(tmp_path) as door:
        door.on_output = take
        live = OutputPoster(door.path)
        live.show_output(17, 1, "first")
        assert told.wait(10)
        live.show_output(17, 1, "second")
        live.drop_output()
        opened.set()
        live_is_done(live)
        assert len(door.calls) == 1


def live_is_done(live: OutputPoster) -> None:
    """Its thread has nothing more to post."""
    waiting = threading.Event()
    for _ in range(500):
        if not live._is_busy:
            return
        waiting.wait(0.02)
    raise AssertionError("it still posts")


def test_a_door_that_is_gone_costs_nothing(tmp_path: Path) -> None:
    """Nobody answers: that is all, and it is tried again with the next."""
    live = OutputPoster(str(tmp_path / "door.sock"))
    live.show_output(17, 1, "x")
    live_is_done(live)
    with FakeDoor(tmp_path) as door:
        live.show_output(17, 1, "y")
        live_is_done(live)
        assert [body["output"] for _, body in door.calls] == ["y"]
