"""Searching the web: the words go to a search engine that the operator set up, and its results come back as text."""

from __future__ import annotations

from dataclasses import dataclass, field

from crab.hermit_commands import Command, Option
from orchestrator.capabilities.actions.field_types import FieldKind
from orchestrator.capabilities.actions.fields import field_metadata
from orchestrator.capabilities.capability import Action, Capability, Policy, Prompt, Toolset

MOST_CHARS = 400


@dataclass(frozen=True, slots=True)
class WebSearch:
    """Words to look for."""

    words: str = field(metadata=field_metadata(FieldKind.LINE, MOST_CHARS))
    count: int = field(default=8, metadata=field_metadata(FieldKind.COUNT))
    """So many results are wanted, 20 at most."""


SEARCH = Action(
    "SEARCH",
    WebSearch,
    Policy.FREE,
    cost=10,
    commands=(
        Command(
            "search",
            "Searches the web. The words leave this machine for a search engine; put no secrets in them.",
            places=("words…",),
            options=(Option("count", "so many results, 1 to 20 (8)", value="N"),),
            example="hermit search debian 13 release date --count 5",
        ),
    ),
    is_panel=False,
)

CAPABILITY = Capability(
    "search",
    (SEARCH,),
    toolset=Toolset(
        "search",
        "Web search",
        "Search the web with the engine set up in Settings. Its words go there unasked; the audit log has them.",
    ),
    prompt=Prompt(bare="`hermit search WORDS`"),
)
