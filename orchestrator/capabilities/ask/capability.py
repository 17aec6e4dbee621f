"""Asking: a program in the cubicle asks the person something and waits for the answer."""

from __future__ import annotations

from dataclasses import dataclass, field

from crab.hermit_commands import Command, Option
from orchestrator.capabilities.actions.field_types import FieldKind
from orchestrator.capabilities.actions.fields import field_metadata
from orchestrator.capabilities.capability import Action, Capability, Policy, Prompt, Toolset


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to the person, who answers by one of the choices or, where that is allowed, by a text."""

    question: str = field(metadata=field_metadata(FieldKind.TEXT, 1000))
    choices: tuple[str, ...] = field(default=(), metadata=field_metadata(FieldKind.LINES, 60))
    free_text: bool = field(default=False, metadata=field_metadata(FieldKind.FLAG, 5))
    timeout: int | None = field(default=None, metadata=field_metadata(FieldKind.COUNT, 7))
    """Seconds until nobody is waited for any more; None for the agent's own time."""


ASK = Action(
    "ASK",
    Ask,
    Policy.ASKS,
    cost=20,
    commands=(
        Command(
            "ask",
            "Asks the person and prints the answer.",
            places=("question…",),
            options=(
                Option("choices", "answers to choose from, commas between them", value="A,B,C"),
                Option("choice", "one answer to choose from; may be there several times", value="TEXT", is_list=True),
                Option("free-text", "other answers are taken too"),
                Option("timeout", "how long to wait: seconds, or such as 10m", value="S", is_time=True),
            ),
            example="hermit ask 'Which format?' --choices pdf,docx --timeout 10m",
        ),
    ),
    is_panel=False,
)

CAPABILITY = Capability(
    "ask",
    (ASK,),
    toolset=Toolset("questions", "Questions", "Ask you something while it works, and wait for your answer."),
    prompt=Prompt(command='`hermit ask "Which one?" --choices a,b` asks the person, prints the answer.', rank=-2),
)
