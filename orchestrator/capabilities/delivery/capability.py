"""Sending: a file of the workspace goes to the person."""

from __future__ import annotations

from dataclasses import dataclass, field

from crab.hermit_commands import Command, Option
from orchestrator.capabilities.actions.field_types import FieldKind
from orchestrator.capabilities.actions.fields import field_metadata
from orchestrator.capabilities.capability import Action, Capability, Policy, Prompt


@dataclass(frozen=True, slots=True)
class Send:
    """A file to hand to the person."""

    file: str = field(metadata=field_metadata(FieldKind.LINE, 1000))
    """Its name within ``out/``."""
    caption: str = field(default="", metadata=field_metadata(FieldKind.TEXT, 900))


SEND = Action(
    "SEND",
    Send,
    Policy.FREE,
    cost=10,
    commands=(
        Command(
            "send",
            "Sends a file of the workspace to the person. One that is not in out/ is copied there first.",
            places=("file",),
            options=(Option("caption", "a line to go with it", value="TEXT"),),
            example="hermit send chart.png --caption 'Sales by month'",
            file="file",
        ),
    ),
    is_panel=False,
)

CAPABILITY = Capability(
    "delivery",
    (SEND,),
    prompt=Prompt(bare="`hermit send FILE --caption TEXT`"),
)
