"""Status: how an agent stands today, for itself."""

from __future__ import annotations

from dataclasses import dataclass

from crab.hermit_commands import Command
from orchestrator.capabilities.capability import Action, Capability, Policy, Prompt


@dataclass(frozen=True, slots=True)
class Status:
    """How the agent stands: budget, disk, what it may do, what is waiting for a person."""


STATUS = Action(
    "STATUS",
    Status,
    Policy.FREE,
    cost=1,
    commands=(Command("status", "Your budget, disk, open questions, next calendar entry, and what you may call."),),
    is_panel=False,
)

CAPABILITY = Capability(
    "status",
    (STATUS,),
    prompt=Prompt(bare="`hermit status`"),
)
