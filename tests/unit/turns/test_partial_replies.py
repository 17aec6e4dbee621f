"""What a model has written stays when its turn ends early (``orchestrator.turns.partial_replies``)."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from orchestrator.core.errors import Stopped, UpstreamFailed
from orchestrator.core.models import TurnStatus
from orchestrator.llm.reply_events import KEEP_EVERY_S, ReplyEvents
from orchestrator.turns.partial_replies import PartialReplies
from tests.support.core_fixture import KEY, CoreFixture, core_fixture
from tests.support.fakes import Reply, cut_off
from tests.support.proxy_fixture import line_of, swallow

HALF = '{"message": "The tide comes'


@pytest.fixture
def install(tmp_path: Path) -> Iterator[CoreFixture]:
    """The rules over a fresh database."""
    with core_fixture(tmp_path / "home") as made:
        yield made


def written(install: CoreFixture, turn: int) -> str | None:
    """What would be left if the orchestrator died now."""
    with sqlite3.connect(install.home / "hermit.db") as db:
        return db.execute("SELECT written FROM turns WHERE id = ?", (turn,)).fetchone()[0]  # type: ignore[no-any-return]


def test_what_was_written_before_a_stop_is_the_reply(install: CoreFixture) -> None:
    """It is stored before the crab hears of the stop, so it is there however the turn then ends."""
    line, turn = line_of(install, Reply(texts=(HALF,), hold_tail=True)), install.under_way()
    results: list[object] = []
    caller = threading.Thread(target=lambda: results.append(swallow(partial(line.ask, turn=turn.id))))
    caller.start()
    assert line.fake.is_held.wait(10)
    line.proxy.abort_turn(turn.id)
    caller.join(10)
    assert isinstance(results[0], Stopped)
    assert written(install, turn.id) == "The tide comes"
    install.turns.stop(turn.id)
    install.turns.end_turn(KEY, turn.id, TurnStatus.STOPPED, reply="", error="The call to the model was stopped.")
    ended = install.turns.get(turn.id)
    assert (ended.status, ended.reply, ended.error) == (TurnStatus.STOPPED, "The tide comes", None)
    assert install.audited("turn.stopped")[0].text == "The tide comes"
    assert written(install, turn.id) is None


def test_what_was_written_before_a_failure_is_the_reply(install: CoreFixture) -> None:
    """The reason stands beside it."""
    line, turn = line_of(install, cut_off(HALF)), install.under_way()
    with pytest.raises(UpstreamFailed):
        line.ask(turn=turn.id)
    install.turns.end_turn(KEY, turn.id, TurnStatus.FAILED, error="It broke off.")
    ended = install.turns.get(turn.id)
    assert (ended.reply, ended.error) == ("The tide comes", "It broke off.")


def test_a_long_answer_is_stored_while_it_is_written(install: CoreFixture) -> None:
    """About once a second, so that a death of the orchestrator costs no more than that."""
    turn, now = install.under_way(), [0.0]
    drafting = ReplyEvents(install.broker, keep=PartialReplies(install.store).save_reply, clock=lambda: now[0])
    sketch = drafting.begin_reply(KEY, turn.id)
    sketch.add_piece(HALF)
    assert written(install, turn.id) is None
    now[0] += KEEP_EVERY_S
    sketch.add_piece(" and")
    assert written(install, turn.id) == "The tide comes and"
    sketch.add_piece(" goes")
    assert written(install, turn.id) == "The tide comes and"


def test_an_interrupted_turn_keeps_its_words(install: CoreFixture) -> None:
    """The orchestrator came back, the crab did not: the turn fails with what was stored."""
    turn = install.under_way()
    install.steps.start_step(KEY, turn.id, 1, thought="", command="ls", approval=None)
    PartialReplies(install.store).save_reply(turn.id, "The tide comes")
    install.turns.on_crab_lost(KEY, "the container ended")
    ended = install.turns.get(turn.id)
    assert (ended.status, ended.reply) == (TurnStatus.FAILED, "The tide comes")


def test_the_words_before_a_command_are_its_thought_alone(install: CoreFixture) -> None:
    """They stand beside the command, so a stop during it does not say them twice."""
    turn, replies = install.under_way(), PartialReplies(install.store)
    replies.save_reply(turn.id, "I look first.")
    install.steps.start_step(KEY, turn.id, 1, thought="I look first.", command="ls", approval=None)
    install.turns.end_turn(KEY, turn.id, TurnStatus.STOPPED)
    assert install.turns.get(turn.id).reply is None


def test_a_reply_is_never_replaced(install: CoreFixture) -> None:
    """A turn with words of its own has those; one that is done without any has none; one that begins again forgets."""
    replies = PartialReplies(install.store)
    for status, reply in ((TurnStatus.FAILED, "Mine"), (TurnStatus.DONE, None)):
        turn = install.under_way()
        replies.save_reply(turn.id, "half")
        install.turns.end_turn(KEY, turn.id, status, reply=reply)
        replies.save_reply(turn.id, "late")
        assert (install.turns.get(turn.id).reply, written(install, turn.id)) == (reply, None)
    turn = install.under_way()
    replies.save_reply(turn.id, "half")
    install.turns.on_crab_lost(KEY, "it died")
    assert install.turns.take_next(KEY, "another", 0) is not None
    assert written(install, turn.id) is None


def test_a_database_that_is_closed_costs_the_words_alone(install: CoreFixture) -> None:
    """The answer goes on."""
    install.store.close()
    PartialReplies(install.store).save_reply(1, "half")
