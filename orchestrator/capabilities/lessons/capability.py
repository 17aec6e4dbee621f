"""Lessons: an agent writes down what fixed a failure, for the next time."""

from __future__ import annotations

from dataclasses import dataclass, field

from crab.hermit_commands import Command, Option
from orchestrator.capabilities.actions.field_types import FieldKind
from orchestrator.capabilities.actions.fields import field_metadata
from orchestrator.capabilities.capability import Action, Capability, Policy, Prompt, Toolset

MAX_CHARS = 500
"""Of each part."""
MOST_FOUND = 20


@dataclass(frozen=True, slots=True)
class LessonAdd:
    """What went wrong, and what to do then."""

    when: str = field(metadata=field_metadata(FieldKind.LINE, MAX_CHARS))
    """The command and its error, in the words in which it will come again."""
    fix: str = field(metadata=field_metadata(FieldKind.LINE, MAX_CHARS))
    holds: str = field(default="", metadata=field_metadata(FieldKind.LINE, MAX_CHARS))
    """For which files, versions or places."""


@dataclass(frozen=True, slots=True)
class LessonSearch:
    """Words of a failure; none lists the newest."""

    query: str = field(default="", metadata=field_metadata(FieldKind.LINE, MAX_CHARS))
    limit: int = field(default=5, metadata=field_metadata(FieldKind.COUNT))


@dataclass(frozen=True, slots=True)
class LessonPick:
    """One of them."""

    id: int = field(metadata=field_metadata(FieldKind.ID))


_LIMIT = Option("limit", f"so many, 1 to {MOST_FOUND} (5)", value="N")
ADD = Action(
    "LESSON_ADD",
    LessonAdd,
    Policy.FREE,
    cost=2,
    commands=(
        Command(
            "lesson add",
            "Keeps what fixed a failure. When a command fails like that again, you are told.",
            options=(
                Option("when", "the command and its error, in its own words", value="TEXT"),
                Option("fix", "what to do then", value="TEXT"),
                Option("holds", "for which files, versions or places", value="TEXT"),
            ),
            needs=("when", "fix"),
            example="hermit lesson add --when 'pdftotext: Incorrect password' --fix 'ask the person for the password'",
        ),
    ),
    is_panel=False,
)
SEARCH = Action(
    "LESSON_SEARCH",
    LessonSearch,
    Policy.FREE,
    cost=1,
    commands=(
        Command("lesson search", "The lessons that fit these words best.", places=("query…",), options=(_LIMIT,)),
        Command("lesson list", "The newest lessons.", options=(_LIMIT,), fields={"query": ""}),
    ),
    is_panel=False,
)
REMOVE = Action(
    "LESSON_REMOVE",
    LessonPick,
    Policy.FREE,
    cost=2,
    commands=(Command("lesson rm", "The lesson with this number is forgotten.", places=("id",)),),
    is_panel=False,
)

CAPABILITY = Capability(
    "lessons",
    (ADD, SEARCH, REMOVE),
    toolset=Toolset(
        "lessons", "Lessons", "Note what fixed a failed command, and be told when one fails like that again."
    ),
    prompt=Prompt(bare="`hermit lesson add`"),
)
