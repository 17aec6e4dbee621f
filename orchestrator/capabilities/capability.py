"""A capability: something that an agent may set in motion, described in one place. From the description come the
command inside the cubicle, the panel action, the settings, the API's description, the prompt and how a person is asked.

Owns no deeds and no rows. A deed that needs others is brought by the noun whose rows it changes (`Deeds`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple

from crab.hermit_commands import Command
from orchestrator.capabilities.actions.fields import Field, fields_of
from orchestrator.capabilities.approval_kind import ApprovalKind
from orchestrator.core.models import CubicleKey


class Policy(StrEnum):
    """Who decides; the audit log says it of each call."""

    FREE = "free"
    """It is done at once, within its limits."""
    ASKS = "asks"
    """A person decides each time."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls. Whose cubicle it is comes from the door alone."""

    key: CubicleKey
    turn: int | None
    """The turn under way in which it is asked, if there is one (`Calls.find_caller`)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a call."""

    text: str
    """What the model reads: plain sentences."""
    result: Mapping[str, Any] = field(default_factory=dict)
    """The same as JSON, for programs."""
    waits_for: str = ""
    """Not done yet: `Calls.finish_calls` with this reference ends the call, such as ``approval:k3j9``."""


Run = Callable[[sqlite3.Connection, Caller, Any], Outcome]
"""Does it, within the transaction that is given; raises BadInput, NotFound, Conflict, TooMany, TooLarge or Unavailable,
and then nothing has changed. Nothing in it may wait for a network or a person; what is to follow, such as telling
others, is given to ``Store.after_commit``."""
Deeds = Mapping[str, Run]
"""What carries actions out, by their names."""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that can be asked for."""

    name: str
    asked: type | Mapping[str, Any]
    """What its deed gets: a class whose fields say what they hold, or by a JSON Schema a dict of that form."""
    policy: Policy
    cost: int
    """Units of the cubicle's hourly allowance (`calls.HOURLY_UNITS`)."""
    run: Run | None = None
    """Its deed, where that needs nothing but the transaction; otherwise a noun brings it."""
    commands: tuple[Command, ...] = ()
    """The commands of ``hermit`` that ask for it."""
    is_panel: bool = True
    """It may stand in an answer's ``panelActions``; otherwise it is a command alone."""
    is_change: bool = False
    """It changes what its first field names: another field must be there, too."""
    fields: tuple[Field, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", fields_of(self.asked))
        for command in self.commands:
            command.call = self.name

    def build(self, values: dict[str, Any]) -> Any:
        """What its deed gets, of its fields' values by their attributes."""
        return self.asked(**values) if isinstance(self.asked, type) else values

    @property
    def form(self) -> str:
        """How it is written, e.g. ``ASSET_REQUEST:description|url|[file_type]``."""
        return f"{self.name}:" + "|".join(f.name if f.is_required else f"[{f.name}]" for f in self.fields)


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """An action that somebody asks for, with what its deed gets."""

    action: Action
    given: Any

    def values(self) -> dict[str, object]:
        """What each field holds; None where it was left out."""
        get = self.given.get if isinstance(self.given, dict) else partial(getattr, self.given)
        return {field.name: get(field.attribute) for field in self.action.fields}


class Toolset(NamedTuple):
    """What an agent's settings switch on or off."""

    name: str
    label: str
    help: str
    """What it lets an agent do, for the person who decides that."""


class Prompt(NamedTuple):
    """What agents that have a capability are told of it; the whole stays short, which a test holds. Each is a text, and
    empty where nothing is to be said there."""

    bare: str = ""
    """A command that needs no words; all of them share a line."""
    command: str = ""
    action: str = ""
    rule: str = ""
    example: str = ""
    rank: int = 0
    """Commands of a lower one come first; the rest is in the order of the list of capabilities."""


_NOTHING = Prompt()


@dataclass(frozen=True, slots=True)
class Capability:
    """All that is known of it beside its deeds."""

    name: str
    """That of its folder."""
    actions: tuple[Action, ...]
    toolset: Toolset | None = None
    """The agent needs it among its ``toolsets``; None for what every agent has."""
    toolset_prefix: str = ""
    """The agent needs one among its ``toolsets`` whose name begins so; empty where it needs none."""
    prompt: Prompt = _NOTHING
    approval: ApprovalKind | None = None
    """How a person is asked, where an approval of a kind of its own is needed."""
    first_approval: ApprovalKind | None = None
    """How they are asked before that, where there are two questions."""
    more_approvals: tuple[ApprovalKind, ...] = ()
    """How they are asked about other things that it may do."""
