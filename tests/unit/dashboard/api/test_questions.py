"""Questions of agents over the API and in the terminal."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dashboard.api.approvals import MIN_AGE_S
from orchestrator.__main__ import parser
from orchestrator.capabilities.capability import Caller
from orchestrator.cli.context import Context
from orchestrator.cli.questions import pick_choice, question_lines
from orchestrator.core.models import CubicleKey
from tests.support.app_fixture import PATIENCE_S, AppFixture, Scene
from tests.unit.conftest import Api, Browser

ROOT = Path(__file__).resolve().parents[4]
FIELDS = {"question": "Which one?", "choices": ["a", "b"]}


def asked(webapp: AppFixture, user: int = 1, **fields: Any) -> str:
    """A question that waits; its id."""
    calls = webapp.app._capabilities.calls
    call = calls.run_command(Caller(CubicleKey("crab", user), None), os.urandom(8).hex(), "ASK", fields or FIELDS)
    return str(call.result["question"])


def test_it_is_shown_and_answered_once(webapp: AppFixture, operator: Api) -> None:
    """The second answer is 409 and says who was first."""
    question = asked(webapp)
    shown = operator.get("/questions?status=pending")["questions"]
    assert [(q["id"], q["shown"], q["choices"], q["free_text"]) for q in shown] == [
        (question, "Which one?", ["a", "b"], False)
    ]
    answered = operator.post(f"/questions/{question}", {"answer": "b"})
    assert (answered["status"], answered["answer"], answered["answered_by"]) == ("answered", "b", "ada (api)")
    status, message = operator.refused("POST", f"/questions/{question}", {"answer": "a"})
    assert (status, "ada (api): b" in message) == (409, True)
    assert operator.get("/questions?status=pending")["questions"] == []
    assert operator.get("/questions?status=answered")["questions"][0]["id"] == question


def test_a_click_that_came_too_soon_answers_nothing(webapp: AppFixture, browser: Browser) -> None:
    """A browser is refused until the question has been there for a moment."""
    question = asked(webapp)
    answer = browser.post(f"/api/questions/{question}", {"answer": "a"})
    assert (answer.status_code, "only just now" in answer.get_json()["error"]["message"]) == (409, True)
    asked_at = webapp.services.questions.get_question(question).asked_at
    threading.Event().wait(max(0.0, asked_at + MIN_AGE_S - time.time()))
    answer = browser.post(f"/api/questions/{question}", {"answer": "a"})
    assert (answer.status_code, answer.get_json()["answered_by"]) == (200, "ada (dashboard)")


def test_unusable_answers_are_refused(webapp: AppFixture, operator: Api) -> None:
    """No choice, no text, another field, an id that nobody knows."""
    question = asked(webapp)
    for body in ({}, {"answer": "c"}, {"answer": 1}, {"answer": ""}, {"answer": "a", "turn": 1}, {"answer": None}):
        assert operator.refused("POST", f"/questions/{question}", body)[0] == 400
    assert operator.refused("POST", "/questions/nothing", {"answer": "a"})[0] == 404
    assert operator.refused("GET", "/questions?status=open")[0] == 400
    assert webapp.services.questions.get_question(question).status == "pending"


def test_people_see_and_answer_only_their_own(webapp: AppFixture, operator: Api, member: Api) -> None:
    """A member knows of no other's; the operator may answer all."""
    mine, theirs = asked(webapp), asked(webapp, member.user.id)
    assert [q["id"] for q in member.get("/questions")["questions"]] == [theirs]
    assert member.refused("POST", f"/questions/{mine}", {"answer": "a"})[0] == 404
    assert {q["id"] for q in operator.get("/questions")["questions"]} == {mine, theirs}
    assert member.post(f"/questions/{theirs}", {"answer": "a"})["status"] == "answered"


def test_words_answer_nothing(webapp: AppFixture, operator: Api) -> None:
    """Only the endpoint does: a message is a message."""
    question = asked(webapp)
    operator.post("/agents/crab/messages", {"text": f"/answer {question} a"})
    assert webapp.services.questions.get_question(question).status == "pending"


def test_the_command_line_lists_and_answers(webapp: AppFixture, capsys: pytest.CaptureFixture[str]) -> None:
    """With its choices, and with nothing of it that moves the cursor."""
    question = asked(webapp, question="Which\u202e one?", choices=["a", "b"], free_text=True)
    hermit(webapp, "questions")
    assert capsys.readouterr().out.splitlines() == [
        f"{question}  crab  pending",
        "    Which\\u202e one?",
        "      1. a",
        "      2. b",
        "      or your own words",
    ]
    hermit(webapp, "answer", question, "neither")
    assert capsys.readouterr().out == "crab was told: neither\n"
    hermit(webapp, "questions")
    assert capsys.readouterr().out == "No open questions.\n"
    hermit(webapp, "questions", "--all")
    assert "    -> neither" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "answer"),
    [("2\n", "b"), ("B\n", "b"), ("c\nb\n", "b"), ("9\n1\n", "a")],
    ids=["number", "word", "again", "no"],
)
def test_the_chat_asks_in_place(
    webapp: AppFixture, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str, answer: str
) -> None:
    """On a terminal, by a choice's number or its name; what does not fit is asked again."""
    webapp.plays["ask"] = _play
    with monkeypatch.context() as typing:
        typing.setattr(sys, "stdin", Keyboard(typed))
        assert hermit(webapp, "chat", "crab", "ask") == 0
    said = capsys.readouterr()
    assert said.out == f"The answer: {answer}\n"
    assert "crab asks:" in said.err


def test_a_chat_without_a_terminal_says_how_to_answer(
    webapp: AppFixture, operator: Api, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And goes on as soon as somebody did, elsewhere."""
    webapp.plays["ask"] = _play

    def answer() -> None:
        while not (found := webapp.services.questions.list_questions(status="pending")):
            threading.Event().wait(0.02)
        threading.Event().wait(1.0)  # until the chat has looked
        operator.post(f"/questions/{found[0].id}", {"answer": "a"})

    somebody = threading.Thread(target=answer)
    somebody.start()
    with monkeypatch.context() as typing:
        typing.setattr(sys, "stdin", io.StringIO(""))
        assert hermit(webapp, "chat", "crab", "ask") == 0
    somebody.join(PATIENCE_S)
    assert capsys.readouterr().out == "The answer: a\n"


@pytest.mark.parametrize(
    ("said", "answer"), [("1", "red"), ("2", "2"), ("3", "7"), ("4", "4"), ("0", "0"), ("x", "x"), ("²", "²")]
)
def test_numbers_stand_for_choices(said: str, answer: str) -> None:
    """Unless a choice has that name."""
    assert pick_choice({"choices": ["red", "2", "7"]}, said) == answer


def test_a_question_without_choices_is_its_text() -> None:
    """Nothing is said of words of one's own where there is nothing else."""
    shown: Mapping[str, Any] = {"shown": "Why?\nReally?", "choices": [], "free_text": True}
    assert question_lines(shown) == ["    Why?", "    Really?"]


class Keyboard(io.StringIO):
    """A terminal on which this was typed."""

    def isatty(self) -> bool:
        """Somebody sits there."""
        return True


def hermit(webapp: AppFixture, *arguments: str) -> int:
    """A command's exit code."""
    options = parser().parse_args(list(arguments))
    return int(options.run(Context(ROOT, {}, webapp.services.settings), options))


def _play(scene: Scene) -> None:
    """A command that asks, as `hermit ask` does."""
    calls, steps = scene.install.app._capabilities.calls, scene.install.steps
    steps.start_step(scene.key, scene.turn.id, 1, thought="", command="hermit ask", approval=None)
    calls.run_command(Caller(scene.key, scene.turn.id), "q1", "ASK", FIELDS)
    done = calls.wait_call(scene.key, "q1", PATIENCE_S)
    steps.end_step(scene.key, scene.turn.id, 1, exit_code=0, output=done.text, ended="exited")
    scene.say(f"The answer: {done.text}")
