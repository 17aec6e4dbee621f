"""A capability: something that the host does for an agent, and on which terms. The table of all of them is put together
in the composition root from what each noun offers.

Owns no deeds: a capability's ``run`` belongs to the module whose noun it is about.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Protocol

from orchestrator.nouns import CubicleKey
from orchestrator.panel.actions import Action


class Finish(Protocol):
    """Ends the calls that wait for a reference (``Calls.finish``)."""

    def __call__(self, waits_for: str, *, ok: bool, text: str, result: dict[str, Any]) -> None: ...


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
    """The turn under way in which it is asked, if there is one (`Calls.caller`)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a call."""

    text: str
    """What the model reads: plain sentences."""
    result: Mapping[str, Any] = field(default_factory=dict)
    """The same as JSON, for programs."""
    waits_for: str = ""
    """Not done yet: `Calls.finish` with this reference ends the call, such as ``approval:k3j9``."""


Run = Callable[[sqlite3.Connection, Caller, Any], Outcome]
"""Does it, within the transaction that is given; raises BadInput, NotFound, Conflict, TooMany, TooLarge or Unavailable,
and then nothing has changed. Nothing in it may wait for a network or a person; what is to follow, such as telling
others, is given to ``Store.after_commit``."""


@dataclass(frozen=True, slots=True)
class Capability:
    """One line of the table."""

    action: type[Action]
    """The class of what it is asked with (``panel.actions``); its schema is in ``panel.schemas``."""
    toolset: str
    """The agent needs this one among its ``toolsets``; empty for what every agent has."""
    policy: Policy
    cost: int
    """Units of the cubicle's hourly allowance (`calls.HOURLY_UNITS`)."""
    run: Run


Table = Mapping[type[Action], Capability]


def table_of(capabilities: Iterable[Capability]) -> Table:
    """The table; two capabilities for one action are a mistake of ours."""
    found: dict[type[Action], Capability] = {}
    for capability in capabilities:
        if capability.action in found:
            raise ValueError(f"two capabilities for {capability.action.__name__}")
        found[capability.action] = capability
    return MappingProxyType(found)
