"""What is seen of a turn while it runs in a real cubicle: a command's output before it ends, the reply as it is
written."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.real_app import Api, RealApp, Talker
from tests.support.scripted_upstream import Gate, answers, streams

pytestmark = pytest.mark.docker

PATIENCE_S = 30
SLOWLY = "echo begun; until [ -e go ]; do sleep 0.05; done; echo over"


@contextmanager
def listening(api: Api) -> Iterator[Iterator[tuple[str, dict[str, Any]]]]:
    """The news from now on."""
    with api.session.get(f"{api.url}/api/events", stream=True, timeout=PATIENCE_S) as answer:
        lines = (line.decode() for line in answer.iter_lines(chunk_size=1))
        assert next(lines).startswith("retry:")
        yield news(lines)


def news(lines: Iterator[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Kind and body of each."""
    kind = ""
    for line in lines:
        if line.startswith("event: "):
            kind = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield kind, json.loads(line.removeprefix("data: "))


def until(heard: Iterator[tuple[str, dict[str, Any]]], turn: int, kind: str, text: str) -> dict[str, Any]:
    """The first news of this kind about the turn that hold the text."""
    for found, body in heard:
        if (found, body.get("turn")) == (kind, turn) and text in json.dumps(body):
            return body
    raise AssertionError("the news ended")


def test_a_turn_is_seen_while_it_runs(install: RealApp) -> None:
    """The output of a command that still runs, then at least three drafts of the reply, then the reply itself."""
    agent: Talker = install.agent()
    gates = [Gate(), Gate(), Gate()]
    words: list[str | Gate] = [
        '{"message": "The tide',
        gates[0],
        " comes",
        gates[1],
        " and",
        gates[2],
        ' goes.", "terminal": ""}',
    ]
    prompt = install.plays.add(answers("I wait.", terminal=SLOWLY), streams(words))
    with listening(install.api) as heard:
        turn = agent.send(prompt)
        assert until(heard, turn, "output", "begun")["output"] == "begun\n"
        (step,) = agent.turn(turn)["steps"]
        assert (step["status"], step["output"], step["exit_code"]) == ("running", "begun\n", None)
        (agent.work / "go").touch()
        for gate, draft in zip(gates, ("The tide", "The tide comes", "The tide comes and"), strict=True):
            assert until(heard, turn, "delta", draft)["text"] == draft
            for _ in range(2):
                time.sleep(0.1)  # longer than two drafts lie apart
            gate.open()
        ended = until(heard, turn, "turn", "done")
    assert ended["reply"] == "The tide comes and goes."
    (step,) = agent.turn(turn)["steps"]
    assert (step["status"], step["output"]) == ("done", "begun\nover\n")
