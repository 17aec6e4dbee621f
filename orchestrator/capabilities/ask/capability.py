"""Asking: a program in the cubicle asks the person something and waits for the answer."""

from __future__ import annotations

from dataclasses import dataclass

from crab.hermit_commands import Command, Option
from orchestrator.capabilities.actions.field_types import Kind
from orchestrator.capabilities.actions.fields import Field
from orchestrator.capabilities.capability import Action, Capability, Place, Policy, PromptLine, Toolset


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to the person, who answers by one of the choices or, where that is allowed, by a text."""

    question: str
    choices: tuple[str, ...] = ()
    free_text: bool = False
    timeout: int | None = None
    """Seconds until nobody is waited for any more; None for the agent's own time."""


ASK = Action(
    "ASK",
    Ask,
    (
        Field("question", Kind.TEXT, "what the person is asked", max_chars=1000, is_required=True),
        Field("choices", Kind.LINES, "the answers to choose from, commas between them", max_chars=60),
        Field("free_text", Kind.FLAG, "whether the person may write something else", max_chars=5),
        Field("timeout", Kind.COUNT, "seconds to wait", max_chars=7),
    ),
    Policy.ASKS,
    cost=20,
    commands=(
        Command(
            "ask",
            "ASK",
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
    prompt=(
        PromptLine(
            Place.COMMAND,
            '`hermit ask "Which one?" --choices a,b` asks the person and prints the answer.',
            rank=-2,
        ),
    ),
)
