"""Sending: a file of the workspace goes to the person."""

from __future__ import annotations

from dataclasses import dataclass

from crab.hermit_commands import Command, Option
from orchestrator.capabilities.actions.field_types import Kind
from orchestrator.capabilities.actions.fields import Field
from orchestrator.capabilities.capability import Action, Capability, Place, Policy, PromptLine


@dataclass(frozen=True, slots=True)
class Send:
    """A file to hand to the person."""

    file: str
    """Its name within ``out/``."""
    caption: str = ""


SEND = Action(
    "SEND",
    Send,
    (
        Field("file", Kind.LINE, "its path", max_chars=1000, is_required=True),
        Field("caption", Kind.TEXT, "a line to go with it", max_chars=900),
    ),
    Policy.FREE,
    cost=10,
    commands=(
        Command(
            "send",
            "SEND",
            "Sends a file of the workspace to the person. One that is not in out/ is copied there first.",
            places=("file",),
            options=(Option("caption", "a line to go with it", value="TEXT"),),
            example="hermit send chart.png --caption 'Sales by month'",
            file="file",
        ),
    ),
    is_panel=False,
)

CAPABILITY = Capability("delivery", (SEND,), prompt=(PromptLine(Place.BARE, "`hermit send FILE --caption TEXT`"),))
