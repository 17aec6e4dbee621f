"""Videos: a text is animated and sent to the person."""

from __future__ import annotations

from dataclasses import dataclass

from crab.hermit_commands import Command, Option
from orchestrator.capabilities.actions.field_types import Kind
from orchestrator.capabilities.actions.fields import Field
from orchestrator.capabilities.capability import Action, Capability, Place, Policy, PromptLine, Toolset


@dataclass(frozen=True, slots=True)
class Clawmotion:
    """A video to make."""

    prompt: str
    duration: float
    """Seconds."""
    output_file: str = ""
    """A name within ``out/``; empty lets the host choose."""


CLAWMOTION = Action(
    "CLAWMOTION",
    Clawmotion,
    (
        Field("prompt", Kind.TEXT, "what the video shows", max_chars=4000, is_required=True),
        Field("duration", Kind.SECONDS, "how long it is", max_chars=20, is_required=True),
        Field("output_file", Kind.FILE_NAME, "a name such as intro.mp4", max_chars=100),
    ),
    Policy.FREE,
    cost=60,
    commands=(
        Command(
            "video",
            "CLAWMOTION",
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
    prompt=(PromptLine(Place.ACTION, "CLAWMOTION:text|seconds|intro.mp4 animates a text into ../out."),),
)
