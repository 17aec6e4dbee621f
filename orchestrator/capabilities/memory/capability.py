"""Memory: facts that an agent keeps of its person across conversations."""

from __future__ import annotations

from dataclasses import dataclass

from crab.hermit_commands import Command, Option
from orchestrator.capabilities.actions.field_types import Kind
from orchestrator.capabilities.actions.fields import Field
from orchestrator.capabilities.capability import Action, Capability, Place, Policy, PromptLine, Toolset


@dataclass(frozen=True, slots=True)
class MemoryAdd:
    """A fact to keep."""

    text: str


@dataclass(frozen=True, slots=True)
class MemorySearch:
    """A question to what is remembered; an empty one lists the newest."""

    query: str = ""
    limit: int = 10


@dataclass(frozen=True, slots=True)
class MemoryDelete:
    """A fact to forget."""

    id: int


TOOLSET = Toolset("memory", "Memory", "Remember facts about you across conversations.")
_LIMIT = Option("limit", "the most to list", value="N")

ADD = Action(
    "MEMORY_ADD",
    MemoryAdd,
    (Field("text", Kind.TEXT, "one fact", max_chars=2000, is_required=True),),
    Policy.FREE,
    cost=2,
    commands=(
        Command(
            "memory add",
            "MEMORY_ADD",
            "Keeps one fact for later conversations.",
            places=("text…",),
            example="hermit memory add 'Reports are wanted as PDF.'",
        ),
    ),
)
SEARCH = Action(
    "MEMORY_SEARCH",
    MemorySearch,
    (
        Field("query", Kind.LINE, "what it is about; nothing lists the newest", max_chars=500),
        Field("limit", Kind.COUNT, "the most to find", max_chars=5),
    ),
    Policy.FREE,
    cost=1,
    commands=(
        Command(
            "memory search",
            "MEMORY_SEARCH",
            "The remembered facts that fit best.",
            places=("query…",),
            options=(_LIMIT,),
            example="hermit memory search 'form of reports'",
        ),
        Command(
            "memory list", "MEMORY_SEARCH", "The newest remembered facts.", options=(_LIMIT,), fields={"query": ""}
        ),
    ),
    is_panel=False,
)
DELETE = Action(
    "MEMORY_DELETE",
    MemoryDelete,
    (Field("id", Kind.ID, "the memory's number", is_required=True),),
    Policy.FREE,
    cost=2,
    commands=(Command("memory rm", "MEMORY_DELETE", "The fact with this number is forgotten.", places=("id",)),),
)

CAPABILITY = Capability(
    "memory",
    (ADD, SEARCH, DELETE),
    toolset=TOOLSET,
    prompt=(
        PromptLine(Place.COMMAND, "`hermit memory search WORDS`", rank=1),
        PromptLine(Place.ACTION, "MEMORY_ADD:a fact that later talks need. MEMORY_DELETE:id"),
    ),
)
