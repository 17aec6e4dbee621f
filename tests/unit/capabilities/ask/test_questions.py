"""``orchestrator.capabilities.ask.questions``: an agent's question is answered once, by a person, or ends and says
why.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orchestrator.capabilities.ask.questions import LONGEST_S, MAX_ANSWER_CHARS, MAX_OPEN, Question, Questions
from orchestrator.capabilities.call_rows import CapabilityCall
from orchestrator.capabilities.calls import Calls
from orchestrator.capabilities.capability import Caller
from orchestrator.capabilities.table import REGISTRY
from orchestrator.core.errors import BadInput, Conflict, NotFound, TooMany
from orchestrator.core.models import TurnStatus
from tests.support.core_fixture import KEY, OTHER, CoreFixture, at_once, core_fixture, heard, of_kind, watching

WHICH: dict[str, Any] = {"question": "Which one?", "choices": ["red", "Blue", "2"]}


@dataclass
class Fixture:
    """Questions with the calls that wait for them, and a clock."""

    install: CoreFixture
    calls: Calls
    questions: Questions
    clock: list[float]

    def ask(self, call: str = "c1", turn: int | None = None, **fields: Any) -> CapabilityCall:
        """An agent asks."""
        return self.calls.run_command(Caller(KEY, turn), call, "ASK", fields or WHICH)

    def call(self, call: str = "c1") -> CapabilityCall:
        """How its call stands."""
        return self.calls.get_call(KEY, call)

    def only(self) -> Question:
        """The one question there is."""
        [question] = self.questions.list_questions()
        return question

    def answer(self, question: str, text: str) -> Question:
        """Its person answers."""
        return self.questions.answer_question(question, text, by=self.install.operator, surface="test")


@contextmanager
def open_fixture(home: Path, start: float = 1_000_000.0, **agent: Any) -> Iterator[Fixture]:
    """A fixture over ``home``, which may have been there before."""
    with core_fixture(home, **agent) as install:
        clock = [start]
        calls = Calls(store=install.store, agents=install.agents, now=lambda: clock[0])
        questions = Questions(
            store=install.store,
            agents=install.agents,
            broker=install.broker,
            hooks=install.hooks,
            finish=calls.finish_calls,
            now=lambda: clock[0],
        )
        calls.set_registry(REGISTRY, questions.deeds)
        yield Fixture(install, calls, questions, clock)


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[Fixture]:
    """A fresh one; questions wait for ten minutes unless they say otherwise."""
    with open_fixture(tmp_path / "home", approval_timeout_s=600) as made:
        yield made


def test_an_answer_ends_the_call_that_waits(fixture: Fixture) -> None:
    """The program reads exactly the choice, people see who said it, and the audit log has both."""
    with watching(fixture.install.broker) as news:
        assert fixture.ask().status == "waiting"
        question = fixture.only()
        assert (question.text, question.choices, question.free_text) == ("Which one?", ("red", "Blue", "2"), False)
        assert question.expires_at == question.asked_at + 600
        fixture.answer(question.id, " blue ")
        told = of_kind(heard(news), "question")
    assert [(body["status"], body["answer"]) for body in told] == [("pending", None), ("answered", "Blue")]
    call = fixture.call()
    assert (call.status, call.text) == ("done", "Blue")
    assert call.result == {"question": question.id, "answer": "Blue", "is_choice": True}
    assert fixture.only().answered_by == "ada (test)"
    assert [row.text for row in fixture.install.audited("question.answered")] == ["Answered by ada (test): Blue"]
    assert len(fixture.install.audited("question.asked")) == 1


@pytest.mark.parametrize(
    ("fields", "said", "answer"),
    [
        (WHICH, "red", "red"),
        (WHICH, "RED", "red"),
        (WHICH, "2", "2"),
        (WHICH | {"free_text": True}, " green\nor so ", "green\nor so"),
        (WHICH | {"free_text": True}, "BLUE", "Blue"),
        ({"question": "Why?"}, "because", "because"),
        ({"question": "Which?", "choices": "a,A"}, "A", "A"),
        ({"question": "Why?"}, "x" * MAX_ANSWER_CHARS, "x" * MAX_ANSWER_CHARS),
    ],
)
def test_what_is_an_answer(fixture: Fixture, fields: dict[str, Any], said: str, answer: str) -> None:
    """A choice, however it is written; anything else where text is taken, which a question without choices does."""
    fixture.ask(**fields)
    assert fixture.answer(fixture.only().id, said).answer == answer
    assert fixture.call().text == answer


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (WHICH, "green"),
        (WHICH, "1"),
        (WHICH, ""),
        (WHICH, "red or Blue"),
        ({"question": "Which?", "choices": "ab,AB"}, "Ab"),
        ({"question": "Why?"}, " \n "),
        ({"question": "Why?"}, "x" * (MAX_ANSWER_CHARS + 1)),
        ({"question": "Why?"}, "half \ud83e"),
    ],
)
def test_what_is_none_changes_nothing(fixture: Fixture, fields: dict[str, Any], said: str) -> None:
    """The person is told what fits, and may try again."""
    fixture.ask(**fields)
    with pytest.raises(BadInput, match="answer: "):
        fixture.answer(fixture.only().id, said)
    assert (fixture.only().status, fixture.call().status) == ("pending", "waiting")


def test_the_first_answer_counts(fixture: Fixture) -> None:
    """Of twenty at once one is taken, and the others are told whose it was."""
    fixture.ask()
    question = fixture.only().id
    results = at_once(*[partial(fixture.answer, question, said) for said in ("red", "blue") * 10])
    taken = [result for result in results if isinstance(result, Question)]
    assert len(taken) == 1
    late = [result for result in results if isinstance(result, Conflict)]
    assert len(late) == 19
    assert all("answered already, by ada (test)" in error.message for error in late)
    assert fixture.call().text == taken[0].answer


def test_people_answer_only_their_own(fixture: Fixture) -> None:
    """A stranger's question is none that they know of; the operator may answer everybody's."""
    fixture.calls.run_command(Caller(OTHER, None), "c1", "ASK", WHICH)
    fixture.ask("c2")
    mine, theirs = (fixture.questions.list_questions(user=user)[0].id for user in (1, 2))
    with pytest.raises(NotFound):
        fixture.questions.answer_question(mine, "red", by=fixture.install.member, surface="test")
    with pytest.raises(NotFound):
        fixture.questions.answer_question("nothing", "red", by=fixture.install.operator, surface="test")
    assert (
        fixture.questions.answer_question(theirs, "red", by=fixture.install.member, surface="test").answered_by
        == "bob (test)"
    )
    assert fixture.answer(mine, "red").status == "answered"


def test_nobody_answers(fixture: Fixture) -> None:
    """When the time is up the program hears so, with a code, and an answer comes too late."""
    fixture.ask(question="Quick?", timeout=30)
    question = fixture.only()
    fixture.clock[0] += 29.9
    assert fixture.only().status == "pending"
    fixture.clock[0] += 0.2
    with pytest.raises(Conflict, match="nobody answered in time"):
        fixture.answer(question.id, "yes")
    call = fixture.call()
    assert (call.status, call.text) == ("failed", "Nobody answered in time.")
    assert call.result["code"] == "expired"
    assert fixture.only().status == "expired"
    assert len(fixture.install.audited("question.expired")) == 1


def test_an_agent_holds_its_person_for_a_day_at_most(fixture: Fixture) -> None:
    """Whatever time it asks for: what the person writes meanwhile waits behind the question."""
    fixture.ask(question="Well?", timeout=7 * 24 * 3600)
    assert fixture.only().expires_at == fixture.clock[0] + LONGEST_S


@pytest.mark.parametrize("status", [TurnStatus.DONE, TurnStatus.FAILED, TurnStatus.STOPPED])
def test_the_end_of_its_turn_withdraws_a_question(fixture: Fixture, status: TurnStatus) -> None:
    """However the turn ends; what was asked beside it stays open."""
    turn = fixture.install.under_way().id
    fixture.ask("c1", turn)
    fixture.ask("c2", question="Beside?")
    fixture.install.turns.end_turn(KEY, turn, status)
    states = {question.text: question.status for question in fixture.questions.list_questions()}
    assert states == {"Which one?": "cancelled", "Beside?": "pending"}
    assert (fixture.call().status, fixture.call().result["code"]) == ("failed", "cancelled")
    assert fixture.call("c2").status == "waiting"
    with pytest.raises(Conflict, match="turn has ended"):
        fixture.answer(next(q.id for q in fixture.questions.list_questions() if q.turn == turn), "red")


def test_a_turn_that_ended_or_was_stopped_asks_nothing(fixture: Fixture) -> None:
    """Its last command may still run for a moment."""
    for n, is_stopped in enumerate((True, False)):
        turn = fixture.install.under_way().id
        if is_stopped:
            fixture.install.turns.stop(turn)
        else:
            fixture.install.turns.end_turn(KEY, turn, TurnStatus.DONE)
        with pytest.raises(Conflict):
            fixture.ask(f"c{n}", turn)
        fixture.install.turns.end_turn(KEY, turn, TurnStatus.STOPPED)
    assert fixture.questions.list_questions() == []


def test_the_same_question_is_asked_once(fixture: Fixture) -> None:
    """Two programs that ask exactly the same get the same answer; a different one is asked beside it."""
    fixture.ask("c1")
    fixture.ask("c2")
    fixture.ask("c3", **WHICH, free_text=True)
    assert len(fixture.questions.list_questions()) == 2
    fixture.answer(next(q.id for q in fixture.questions.list_questions() if not q.free_text), "red")
    assert [fixture.call(call).status for call in ("c1", "c2", "c3")] == ["done", "done", "waiting"]


def test_five_questions_are_the_most(fixture: Fixture) -> None:
    """The sixth is refused until one is answered; another cubicle has its own five."""
    for n in range(MAX_OPEN):
        fixture.ask(f"c{n}", question=f"Number {n}?")
    with pytest.raises(TooMany):
        fixture.ask("c9", question="One more?")
    fixture.calls.run_command(Caller(OTHER, None), "c9", "ASK", WHICH)
    fixture.answer(fixture.questions.list_questions(user=1)[0].id, "yes")
    assert fixture.ask("c10", question="One more?").status == "waiting"


def test_the_toolset_is_needed(fixture: Fixture) -> None:
    """Without it the agent has no such command."""
    fixture.install.agents.update_agent("crab", {"toolsets": ["memory"]})
    with pytest.raises(NotFound, match="toolset questions"):
        fixture.ask()


def test_a_death_loses_no_question(tmp_path: Path) -> None:
    """What was open is asked again, what ended meanwhile is ended, and its call with it."""
    home = tmp_path / "home"
    with open_fixture(home, approval_timeout_s=600) as fixture:
        turn = fixture.install.under_way().id
        fixture.ask("c1", turn)
        fixture.ask("c2", question="Open?")
        fixture.ask("c3", question="Short?", timeout=5)
        fixture.install.hooks.turn_ended._listeners.clear()  # a death right after the turn's end
        fixture.install.turns.end_turn(KEY, turn, TurnStatus.DONE)
    with open_fixture(home, start=1_000_010.0) as fixture, watching(fixture.install.broker) as news:
        fixture.questions.reconcile()
        told = of_kind(heard(news), "question")
        assert {body["text"]: body["status"] for body in told} == {
            "Which one?": "cancelled",
            "Short?": "expired",
            "Open?": "pending",
        }
        assert [fixture.call(call).status for call in ("c1", "c2", "c3")] == ["failed", "waiting", "failed"]
        fixture.answer(fixture.questions.list_questions(status="pending")[0].id, "yes")
        assert fixture.call("c2").text == "yes"


def test_what_nobody_can_see_is_written_out(fixture: Fixture) -> None:
    """For people's eyes; the text itself stays as it was asked."""
    with watching(fixture.install.broker) as news:
        fixture.ask(question="Delete \u202etxt.exe?")
        body = of_kind(heard(news), "question")[0]
    assert (body["text"], body["shown"]) == ("Delete \u202etxt.exe?", "Delete \\u202etxt.exe?")


def test_a_clock_that_goes_back_leaves_no_question_for_years(fixture: Fixture) -> None:
    """By years: it expires, and its call ends. By less than an hour: it waits that much longer."""
    fixture.ask()
    fixture.clock[0] -= 1800
    fixture.questions.expire_due()
    assert fixture.only().status == "pending"
    fixture.clock[0] -= 2 * 365 * 24 * 3600
    fixture.questions.expire_due()
    assert fixture.only().status == "expired"
    assert fixture.call().status != "waiting"
