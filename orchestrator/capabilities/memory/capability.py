"""Memory: facts that an agent keeps of its person across conversations."""

from __future__ import annotations

from dataclasses import dataclass, field

from crab.hermit_commands import Command, Option
from orchestrator.capabilities.actions.field_types import FieldKind
from orchestrator.capabilities.actions.fields import field_metadata
from orchestrator.capabilities.capability import Action, Capability, Policy, Prompt, Toolset


@dataclass(frozen=True, slots=True)
class MemoryAdd:
    """A fact to keep."""

    text: str = field(metadata=field_metadata(FieldKind.TEXT, 2000))


@dataclass(frozen=True, slots=True)
class MemorySearch:
    """A question to what is remembered; an empty one lists the newest."""

    query: str = field(default="", metadata=field_metadata(FieldKind.LINE, 500))
    limit: int = field(default=10, metadata=field_metadata(FieldKind.COUNT, 5))


@dataclass(frozen=True, slots=True)
class MemoryDelete:
    """A fact to forget."""

    id: int = field(metadata=field_metadata(FieldKind.ID))


TOOLSET = Toolset("memory", "Memory", "Remember facts about you across conversations.")
_LIMIT = Option("limit", "the most to list", value="N")

ADD = Action(
    "MEMORY_ADD",
    MemoryAdd,
    Policy.FREE,
    cost=2,
    commands=(
        Command(
            "memory add",
            "Keeps one fact for later conversations.",
            places=("text…",),
            example="hermit memory add 'Reports are wanted as PDF.'",
        ),
    ),
)
SEARCH = Action(
    "MEMORY_SEARCH",
    MemorySearch,
    Policy.FREE,
    cost=1,
    commands=(
        Command(
            "memory search",
            "The remembered facts that fit best.",
            places=("query…",),
            options=(_LIMIT,),
            example="hermit memory search 'form of reports'",
        ),
        Command("memory list", "The newest remembered facts.", options=(_LIMIT,), fields={"query": ""}),
    ),
    is_panel=False,
)
DELETE = Action(
    "MEMORY_DELETE",
    MemoryDelete,
    Policy.FREE,
    cost=2,
    commands=(Command("memory rm", "The fact with this number is forgotten.", places=("id",)),),
)

CAPABILITY = Capability(
    "memory",
    (ADD, SEARCH, DELETE),
    toolset=TOOLSET,
    prompt=Prompt(
        command="`hermit memory search WORDS`",
        action="MEMORY_ADD:a fact for later. MEMORY_DELETE:id",
        rank=1,
    ),
)
