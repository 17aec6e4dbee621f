"""Recall: an agent looks through its own past conversations with this person."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date

from crab.hermit_commands import Command, Option
from orchestrator.capabilities.actions.field_types import FieldKind
from orchestrator.capabilities.actions.fields import field_metadata
from orchestrator.capabilities.capability import Action, Capability, Policy, Prompt, Toolset

MOST_FOUND = 20


@dataclass(frozen=True, slots=True)
class RecallTurns:
    """What it was about."""

    words: str = field(metadata=field_metadata(FieldKind.LINE, 500))
    since: date | None = field(default=None, metadata=field_metadata(FieldKind.WHEN, 40))
    count: int = field(default=5, metadata=field_metadata(FieldKind.COUNT))
    """So many turns are wanted, `MOST_FOUND` at most."""


RECALL = Action(
    "RECALL",
    RecallTurns,
    Policy.FREE,
    cost=2,
    commands=(
        Command(
            "recall",
            "Searches your past conversations with this person, the best first, each with what was said around it.",
            places=("words…",),
            options=(
                Option("since", "asked on this day or later, such as 2026-02-28", value="WHEN"),
                Option("count", f"so many, 1 to {MOST_FOUND} (5)", value="N"),
            ),
            example="hermit recall tax office letter --since 2026-01-01",
        ),
    ),
    is_panel=False,
)

CAPABILITY = Capability(
    "recall",
    (RECALL,),
    toolset=Toolset("recall", "Past conversations", "Search what you and this agent said to each other earlier."),
    prompt=Prompt(bare="`hermit recall WORDS`"),
)
