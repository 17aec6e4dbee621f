"""``orchestrator.turns.prompt_history``: what a crab is told of before, within a bound whatever happened before."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from orchestrator.core.models import CubicleKey, Ruling, Step, Turn, TurnStatus
from orchestrator.turns.prompt_history import MAX_CHARS, chat_messages


def _turn(id_: int, prompt: str = "hi", **changed: Any) -> Turn:
    fields: dict[str, Any] = {
        "status": TurnStatus.DONE,
        "reply": "hello",
        "error": None,
        "created_at": 1.0,
        "started_at": 1.0,
        "ended_at": 2.0,
        "tokens": 0,
        "cost_micro": 0,
        "conversation": 1,
        **changed,
    }
    return Turn(id_, CubicleKey("crab", 1), "test", prompt, **fields)


def _step(n: int, command: str = "ls", output: str = "a.txt", exit_code: int | None = 0, status: str = "done") -> Step:
    return Step(1, n, "look", command, "", Ruling.RUN, "", None, status, exit_code, output, 1.0, 2.0)


def _size(told: list[dict[str, str]]) -> int:
    return sum(len(message["content"]) for message in told)


def test_tells_prompt_steps_and_reply_in_the_models_own_form() -> None:
    """As it answered them, so that it goes on in that form."""
    told = chat_messages([_turn(1)], {1: [_step(1)]})
    assert [message["role"] for message in told] == ["user", "assistant", "user", "assistant"]
    assert json.loads(told[1]["content"]) == {"message": "look", "terminal": "ls"}
    assert told[2]["content"] == "Exit code 0. Output:\na.txt"
    assert json.loads(told[3]["content"]) == {"message": "hello", "terminal": ""}


def test_tells_how_else_a_turn_ended() -> None:
    """Stopped, failed, and commands that were not run; what has not ended is not told."""
    turns = [
        _turn(1, status=TurnStatus.STOPPED, reply=None),
        _turn(2, status=TurnStatus.FAILED, reply=None, error="no money"),
        _turn(3, status=TurnStatus.RUNNING, reply=None),
    ]
    told = chat_messages(turns, {1: [_step(1, exit_code=None, status="denied")]})
    text = " ".join(message["content"] for message in told)
    assert "stopped this turn" in text
    assert "no money" in text
    assert "not run (denied)" in text
    assert len(told) == 6


def test_tells_that_an_answer_is_not_whole() -> None:
    """The model sees what it had said, and that the person cut it short."""
    turns = [
        _turn(1, status=TurnStatus.STOPPED, reply="The tide comes"),
        _turn(2, status=TurnStatus.FAILED, reply="The tide goes", error="no money"),
    ]
    stopped, failed = (json.loads(message["content"])["message"] for message in chat_messages(turns, {})[1::2])
    assert stopped == "The tide comes\n\n(The person stopped this turn. The answer above is not whole.)"
    assert failed.startswith("The tide goes\n\n(This turn failed: no money")


def test_drops_the_oldest_in_large_steps() -> None:
    """The beginning stays the same from turn to turn until half of it goes at once."""
    turns = [_turn(n, "x" * 1_000) for n in range(1, 400)]
    firsts = [len(chat_messages(turns[:n], {})) for n in range(1, 400)]
    assert max(_size(chat_messages(turns[:n], {})) for n in range(1, 400, 7)) <= MAX_CHARS
    shrinks = [before for before, after in pairwise(firsts) if after < before]
    assert 1 <= len(shrinks) <= 8


def test_one_endless_turn_does_not_fill_all_later_ones() -> None:
    """Its texts are cut in the middle, of its steps the last are told; what came after it is whole."""
    endless = _turn(1, "p" * 200_000, reply="r" * 500_000)
    steps = [_step(n, "c" * 131_000, "o" * 65_000) for n in range(1, 400)] + [_step(400, "last")]
    told = chat_messages([endless, _turn(2, "and now?")], {1: steps})
    assert _size(told) <= MAX_CHARS
    text = " ".join(message["content"] for message in told)
    assert "last" in text
    assert "left out" in text
    assert told[-2]["content"] == "and now?"


def test_nothing_before_is_nothing_told() -> None:
    """The first turn."""
    assert chat_messages([], {}) == []
