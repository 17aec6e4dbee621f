"""``orchestrator.turns.transcripts``: what an import may hold, field by field."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.core.errors import BadInput
from orchestrator.core.models import Ruling, TurnStatus
from orchestrator.turns.transcripts import FORMAT, MOST_TURNS, OTHER_SOURCE, VERSION, read_transcript

AT = "2026-05-01T12:00:00.000Z"


def turn(number: int = 1, **fields: object) -> dict[str, Any]:
    """A turn as the API shows it."""
    return {"id": number, "parent": None, "prompt": "hi", "status": "done", "created_at": AT, **fields}


def step(**fields: object) -> dict[str, Any]:
    """A command as the API shows it."""
    return {"command": "ls", "status": "done", "exit_code": 0, "output": "a\n", "started_at": AT, **fields}


def body(*turns: object, **fields: object) -> dict[str, Any]:
    """An export."""
    return {"format": FORMAT, "version": VERSION, "turns": list(turns), **fields}


def test_it_is_read_as_it_was() -> None:
    """Turns in their tree, with their steps; the name where a person gave it."""
    told = read_transcript(
        body(
            turn(5, source="telegram", reply="Hello", ended_at="2026-05-01T12:00:01Z"),
            turn(9, parent=5, status="failed", error="The disk is full.", steps=[step(verdict="ask", thought="look")]),
            turn(7, parent=5, source="dashboard"),
            conversation={"name": "Boat", "is_named": True, "last_turn": 9},
        )
    )
    first, second, third = told.turns
    assert (told.name, told.head) == ("Boat", 9)
    assert (first.source, first.reply, first.ended_at - first.created_at) == ("telegram", "Hello", 1.0)
    assert (second.parent, second.status, second.error, third.parent) == (5, TurnStatus.FAILED, "The disk is full.", 5)
    (only,) = second.steps
    assert (only.n, only.command, only.ruling, only.exit_code, only.output, only.approval) == (
        1,
        "ls",
        Ruling.ASK,
        0,
        "a\n",
        None,
    )


def test_what_is_not_known_is_taken_for_the_least() -> None:
    """A surface that we don't have, a turn that was open, a step that was: none of them goes on here."""
    told = read_transcript(
        body(
            turn(1, source="carrier pigeon", status="running"),
            turn(2, parent=1, steps=[step(status="running", verdict="always", exit_code=None)]),
            conversation={"name": "first words", "is_named": False, "last_turn": 77},
        )
    )
    assert (told.name, told.head) == ("", 2)
    assert (told.turns[0].source, told.turns[0].status) == (OTHER_SOURCE, TurnStatus.STOPPED)
    assert (told.turns[1].steps[0].status, told.turns[1].steps[0].ruling) == ("cancelled", Ruling.RUN)


@pytest.mark.parametrize("odd", [[], {}, 5, None, True])
def test_a_word_that_is_none_is_like_an_unknown_one(odd: object) -> None:
    """Whatever stands in its place."""
    told = read_transcript(
        body(
            turn(1, source=odd, status=odd, steps=[step(status=odd, verdict=odd)]),
            conversation={"name": odd, "is_named": True, "last_turn": odd},
        )
    )
    assert (told.name, told.head, told.turns[0].source, told.turns[0].status) == (
        "",
        1,
        OTHER_SOURCE,
        TurnStatus.STOPPED,
    )


def test_a_parent_that_was_left_out_makes_a_beginning() -> None:
    """An export holds the newest turns; what the oldest of them follows is not in it."""
    assert read_transcript(body(turn(8, parent=3))).turns[0].parent is None


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "format"),
        ({"format": "chatgpt"}, "format"),
        ({"format": FORMAT, "version": 2}, "version"),
        (body(), "turns"),
        ({**body(), "turns": {}}, "turns"),
        (body(*[turn(n + 1) for n in range(MOST_TURNS + 1)]), "turns"),
        (body(7), "turns.0"),
        (body({**turn(), "id": "1"}), "turns.0.id"),
        (body(turn(0)), "turns.0.id"),
        (body(turn(1), turn(1)), "turns.1.id"),
        (body(turn(1), turn(2, parent="1")), "turns.1.parent"),
        (body(turn(1), turn(2, parent=[])), "turns.1.parent"),
        (body(turn(1, parent={})), "turns.0.parent"),
        (body(turn(1, prompt=7)), "turns.0.prompt"),
        (body(turn(1, prompt="x" * 200_001)), "turns.0.prompt"),
        (body(turn(1, reply=[])), "turns.0.reply"),
        (body(turn(1, created_at="yesterday")), "turns.0.created_at"),
        (body(turn(1, created_at=5)), "turns.0.created_at"),
        (body(turn(1, created_at="1200-01-01T00:00:00Z")), "turns.0.created_at"),
        (body(turn(1, ended_at="soon")), "turns.0.ended_at"),
        (body(turn(1, steps="ls")), "turns.0.steps"),
        (body(turn(1, steps=["ls"])), "turns.0.steps.0"),
        (body(turn(1, steps=[step(), step(command=1)])), "turns.0.steps.1.command"),
        (body(turn(1, steps=[step(exit_code="0")])), "turns.0.steps.0.exit_code"),
        (body(turn(1, steps=[step(exit_code=True)])), "turns.0.steps.0.exit_code"),
        (body(turn(1, steps=[step(started_at=None)])), "turns.0.steps.0.started_at"),
        (body(turn(1, steps=[step()] * 50_001)), "turns"),
    ],
)
def test_what_makes_no_sense_is_named(given: dict[str, Any], field: str) -> None:
    """By the field, before anything is written."""
    with pytest.raises(BadInput, match=rf"^{field}: "):
        read_transcript(given)
