"""Plans: an agent tells its person, item by item, what it is about to do in a turn."""

from __future__ import annotations

from dataclasses import dataclass, field

from crab.hermit_commands import Command
from orchestrator.capabilities.actions.field_types import FieldKind
from orchestrator.capabilities.actions.fields import field_metadata
from orchestrator.capabilities.capability import Action, Capability, Policy, Prompt
from orchestrator.turns.plans import MOST_CHARS, MOST_ITEMS


@dataclass(frozen=True, slots=True)
class PlanSet:
    """The whole list."""

    items: tuple[str, ...] = field(metadata=field_metadata(FieldKind.LINES, MOST_CHARS))


@dataclass(frozen=True, slots=True)
class PlanAdd:
    """One more."""

    text: str = field(metadata=field_metadata(FieldKind.LINE, MOST_CHARS))


@dataclass(frozen=True, slots=True)
class PlanPick:
    """One of them."""

    id: int = field(metadata=field_metadata(FieldKind.ID))


@dataclass(frozen=True, slots=True)
class PlanNote:
    """What is said about one of them."""

    id: int = field(metadata=field_metadata(FieldKind.ID))
    text: str = field(metadata=field_metadata(FieldKind.LINE, MOST_CHARS))


@dataclass(frozen=True, slots=True)
class PlanShow:
    """Nothing is asked with it."""


SET = Action(
    "PLAN",
    PlanSet,
    Policy.FREE,
    cost=1,
    commands=(
        Command(
            "plan set",
            f"Tells the person what you are about to do, {MOST_ITEMS} items at most; known ones keep their state.",
            places=("items*",),
            example="hermit plan set 'Read the data' 'Draw the chart' 'Write the report'",
        ),
    ),
)
ADD = Action(
    "PLAN_ADD",
    PlanAdd,
    Policy.FREE,
    cost=1,
    commands=(Command("plan add", "One more item at the end.", places=("text…",)),),
    is_panel=False,
)
DONE = Action(
    "PLAN_DONE",
    PlanPick,
    Policy.FREE,
    cost=1,
    commands=(Command("plan done", "The item of this number is done.", places=("id",), example="hermit plan done 1"),),
)
NOTE = Action(
    "PLAN_NOTE",
    PlanNote,
    Policy.FREE,
    cost=1,
    commands=(
        Command(
            "plan note",
            "Says something about an item.",
            places=("id", "text…"),
            example="hermit plan note 2 'two columns were missing'",
        ),
    ),
    is_panel=False,
)
DROP = Action(
    "PLAN_DROP",
    PlanPick,
    Policy.FREE,
    cost=1,
    commands=(Command("plan drop", "The item of this number will not be done.", places=("id",)),),
    is_panel=False,
)
SHOW = Action(
    "PLAN_SHOW",
    PlanShow,
    Policy.FREE,
    cost=1,
    commands=(Command("plan show", "The plan of this turn, with its numbers."),),
    is_panel=False,
)

CAPABILITY = Capability(
    "plan",
    (SET, ADD, DONE, NOTE, DROP, SHOW),
    prompt=Prompt(bare="`hermit plan set`"),
)
