"""Videos: a text is animated and sent to the person."""

from __future__ import annotations

from dataclasses import dataclass, field

from crab.hermit_commands import Command, Option
from orchestrator.capabilities.actions.field_types import FieldKind
from orchestrator.capabilities.actions.fields import field_metadata
from orchestrator.capabilities.capability import Action, Capability, Policy, Prompt, Toolset


@dataclass(frozen=True, slots=True)
class Clawmotion:
    """A video to make."""

    prompt: str = field(metadata=field_metadata(FieldKind.TEXT, 4000))
    duration: float = field(metadata=field_metadata(FieldKind.SECONDS, 20))
    """Seconds."""
    output_file: str = field(default="", metadata=field_metadata(FieldKind.FILE_NAME, 100))
    """A name within ``out/``; empty lets the host choose."""


CLAWMOTION = Action(
    "CLAWMOTION",
    Clawmotion,
    Policy.FREE,
    cost=60,
    commands=(
        Command(
            "video",
            "Animates a text (letters only, no pictures) as a video in out/, which is sent to the person.",
            places=("prompt…",),
            options=(
                Option("seconds", "how long it is, 1 to 600", value="N", field="duration"),
                Option("out", "its name, ending in .mp4, .webm or .gif", value="NAME", field="output_file"),
                Option("no-wait", "return at once; what comes of it shows later"),
            ),
            needs=("duration",),
            example="hermit video 'Title: Good news. Sales are up by ten percent.' --seconds 10 --out intro.mp4",
        ),
    ),
)

CAPABILITY = Capability(
    "video",
    (CLAWMOTION,),
    toolset=Toolset("video", "Videos", "Turn text into a short animated video. Nothing to approve."),
    prompt=Prompt(action="CLAWMOTION:text|seconds|intro.mp4 animates a text into ../out."),
)
