"""``orchestrator.turns.summaries``: the older half of a long conversation is told as a summary; nothing else
changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.approvals.notifications import Notifications
from orchestrator.capabilities.calls import Calls
from orchestrator.core.errors import UpstreamFailed
from orchestrator.core.models import Completion, ModelRequest, Turn, TurnStatus
from orchestrator.jobs import rows as job_rows
from orchestrator.jobs.pool import Jobs
from orchestrator.llm.pricing import load_prices
from orchestrator.llm.proxy import Proxy
from orchestrator.llm.retry import RetryPolicy
from orchestrator.turns import summary_rows as rows
from orchestrator.turns.branches import Branches
from orchestrator.turns.history import History
from orchestrator.turns.prompt_history import SUMMED_UP_TURNS
from orchestrator.turns.summaries import MOST_CHARS, Summaries
from tests.support.core_fixture import KEY, OTHER, CoreFixture, core_fixture
from tests.support.fakes import FakeCompletion, FakeUpstream, Reply


class Scribe(FakeUpstream):
    """Answers what it was told to, and may do something meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.answer: Reply = Reply(("A summary.",))
        self.meanwhile: Callable[[], object] = lambda: None

    def complete(self, request: ModelRequest, *, opened: Callable[[Completion], None] | None = None) -> FakeCompletion:
        """The answer as it stands."""
        self.meanwhile()
        self._replies = [self.answer]
        return super().complete(request, opened=opened)

    def says(self, text: str) -> None:
        """From now on."""
        self.answer = Reply((text,))

    def fails(self) -> None:
        """From now on."""
        self.answer = Reply(refusal=UpstreamFailed("It is not there.", may_retry=False))


class Fixture:
    """Summaries over the rules, with a model on paper and a clock."""

    def __init__(self, install: CoreFixture) -> None:
        self.install = install
        self.model = Scribe()
        self.now = 1_800_000_000.0
        proxy = Proxy(
            agents=install.agents,
            budget=install.budget,
            broker=install.broker,
            upstreams={"fake": self.model},
            default_provider=lambda: "fake",
            prices=load_prices,
            retry=RetryPolicy(0.001),
        )
        self.notifications = Notifications(install.store, install.broker)
        self.jobs = Jobs(
            install.store,
            self.notifications,
            finish=Calls(store=install.store, agents=install.agents).finish_calls,
            now=lambda: self.now,
        )
        self.jobs.reconcile()
        self.history = History(install.store)
        self.summaries = Summaries(install.store, proxy, self.notifications, self.jobs, now=lambda: self.now)

    def talk(self, count: int, size: int = 10) -> Turn:
        """So many turns; the last one."""
        for number in range(count):
            turn = self.install.under_way(f"word {number} {'x' * size}")
            self.install.turns.end_turn(KEY, turn.id, TurnStatus.DONE, reply=f"reply {number}")
            self.summaries.on_turn_end(turn.id)
        return self.install.turns.get(turn.id)

    def work(self) -> int:
        """All that there is to do; how many summaries were tried."""
        before = len(self.model.requests)
        while self.jobs.run_next():
            pass
        return len(self.model.requests) - before

    def told(self) -> list[str]:
        """What the model is told before the next turn."""
        turn = self.install.turns.submit(KEY, "next", source="test")
        contents = [message["content"] for message in self.summaries.history_messages(turn)]
        self.install.turns.stop(turn.id)
        return contents


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[Fixture]:
    """A fresh one."""
    with core_fixture(tmp_path / "home") as install:
        yield Fixture(install)


def test_a_short_conversation_is_told_whole(fixture: Fixture) -> None:
    """No model is asked."""
    fixture.talk(SUMMED_UP_TURNS)
    assert fixture.work() == 0
    assert fixture.model.requests == []
    assert fixture.history.get_summary(KEY) is None


@pytest.mark.parametrize(("count", "size"), [(SUMMED_UP_TURNS + 1, 10), (12, 9_000)], ids=["many", "long"])
def test_the_older_half_of_a_long_one_becomes_a_summary(fixture: Fixture, count: int, size: int) -> None:
    """It stands at the beginning, as a record; the rest is told as it was; the person is told once."""
    fixture.model.says('{"message": "They like tea.", "terminal": ""}')
    fixture.talk(count, size)
    assert fixture.work() == 1
    made = fixture.history.get_summary(KEY)
    assert made is not None
    assert made.text == "They like tea."
    told = fixture.told()
    assert told[0].endswith("They like tea.")
    assert "asks for nothing" in told[0]
    assert told[2].startswith(f"word {made.upto}")
    assert f"word {count - 1}" in told[-2]
    (notice,) = fixture.notifications.list_recent(KEY)
    assert "summary" in notice.text
    assert notice.conversation == fixture.install.turns.list_history(KEY)[0].conversation
    assert len(fixture.install.turns.list_history(KEY, limit=500)) == count + 1
    assert fixture.work() == 0


def test_the_model_is_given_what_was_said_as_data(fixture: Fixture) -> None:
    """At the agent's own cost, by its own model, and nothing that was said is told as an instruction."""
    fixture.talk(SUMMED_UP_TURNS + 1)
    fixture.work()
    (request,) = fixture.model.requests
    assert [message["role"] for message in request.messages] == ["system", "user"]
    assert "is data" in request.messages[0]["content"]
    assert "word 0" in request.messages[1]["content"]
    assert f"word {SUMMED_UP_TURNS}" not in request.messages[1]["content"]
    assert request.model == "fake-1"


def test_a_summary_is_summed_up_with_what_followed(fixture: Fixture) -> None:
    """Each takes the place of the one before; what it is told begins with that."""
    fixture.model.says("The first.")
    fixture.talk(SUMMED_UP_TURNS + 1)
    fixture.work()
    fixture.model.says("The second.")
    fixture.talk(SUMMED_UP_TURNS)
    assert fixture.work() == 1
    assert "The first." in fixture.model.requests[-1].messages[1]["content"]
    assert fixture.told()[0].endswith("The second.")
    with fixture.install.store.reading() as db:
        assert db.execute("SELECT COUNT(*) FROM summaries").fetchone()[0] == 1


def test_without_a_summary_the_oldest_are_left_out(fixture: Fixture) -> None:
    """A model that fails is asked again later, not all the time; after some tries a later turn begins again."""
    fixture.model.fails()
    fixture.talk(SUMMED_UP_TURNS + 1)
    assert fixture.work() == 1
    assert fixture.work() == 0
    assert fixture.told()[0].startswith("word 0")
    tries = 1
    while True:
        fixture.now += 1000
        if not fixture.work():
            break
        tries += 1
    assert 1 < tries < 10
    with fixture.install.store.reading() as db:
        assert job_rows.list_open_jobs(db, rows.KIND, KEY) == []
    fixture.model.says("At last.")
    fixture.talk(1)
    assert fixture.work() == 1
    assert fixture.told()[0].endswith("At last.")


def test_a_cleared_conversation_has_no_summary(fixture: Fixture) -> None:
    """Neither the one that was made nor the one that was wanted; another person's stays."""
    fixture.talk(SUMMED_UP_TURNS + 1)
    fixture.work()
    theirs = fixture.install.turns.submit(OTHER, "hi", source="test")
    with fixture.install.store.writing() as db:
        fixture.jobs.submit(db, rows.KIND, OTHER, theirs.id, {})
    fixture.install.turns.clear_history(KEY)
    assert fixture.history.get_summary(KEY) is None
    assert fixture.told() == []
    with fixture.install.store.reading() as db:
        assert [job.cubicle for job in job_rows.list_next_jobs(db, fixture.now)] == [OTHER]


def test_a_summary_that_comes_too_late_is_dropped(fixture: Fixture) -> None:
    """The conversation was cleared while the model was at it."""
    fixture.talk(SUMMED_UP_TURNS + 1)
    fixture.model.meanwhile = lambda: fixture.install.turns.clear_history(KEY)
    fixture.work()
    assert fixture.history.get_summary(KEY) is None
    assert fixture.notifications.list_recent(KEY) == []


def test_it_is_bounded_and_survives(fixture: Fixture) -> None:
    """Whatever the model says; a dead install goes on where it was."""
    fixture.model.says("y" * 50_000)
    fixture.talk(SUMMED_UP_TURNS + 1)
    fixture.jobs.close()
    assert fixture.work() == 0
    again = Fixture(fixture.install)
    again.model.says("y" * 50_000)
    assert again.work() == 1
    made = again.history.get_summary(KEY)
    assert made is not None
    assert len(made.text) == MOST_CHARS


def test_a_deleted_message_is_in_no_summary(fixture: Fixture) -> None:
    """What stands for it goes, one that is being made of it too; what is left is summed up anew."""
    branches = Branches(fixture.install.store, fixture.install.broker, fixture.install.turns, fixture.install.hooks)
    fixture.install.hooks.summary_dropped.subscribe(lambda dropped: fixture.summaries.on_turn_end(dropped.turn))
    fixture.model.says("They spoke of word 3 .")
    fixture.talk(SUMMED_UP_TURNS + 4)
    fixture.work()
    assert "They spoke of word 3 ." in "".join(fixture.told())
    turns = fixture.install.turns.list_history(KEY, limit=200)
    third = next(turn for turn in turns if turn.prompt.startswith("word 3 "))
    branches.delete_turn(third.id, by="sam")
    assert not any("word 3 " in one or one == "reply 3" for one in fixture.told())
    fixture.model.says("They spoke of other words.")
    assert fixture.work() == 1
    asked = fixture.model.requests[-1].messages[-1]["content"]
    assert ("word 2 " in asked, "word 3 " in asked) == (True, False)
    assert "They spoke of other words." in "".join(fixture.told())


def test_a_summary_that_has_read_it_is_not_kept(fixture: Fixture) -> None:
    """The message is deleted while the model writes."""
    branches = Branches(fixture.install.store, fixture.install.broker, fixture.install.turns, fixture.install.hooks)
    last = fixture.talk(SUMMED_UP_TURNS + 4)
    first = fixture.install.turns.list_history(KEY, limit=200)[0]
    fixture.model.says("It knows.")
    fixture.model.meanwhile = lambda: branches.delete_turn(first.id, by="sam")
    assert fixture.work() == 1
    assert fixture.install.turns.get(first.id).is_cleared
    assert fixture.history.get_summary(KEY, last.conversation) is None
