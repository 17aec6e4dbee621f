"""Requests for videos, read strictly: how long, under which name, and whether the text can be read in that time.
Pure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from orchestrator.capabilities.video.capability import Clawmotion
from orchestrator.core.errors import BadInput
from orchestrator.files.names import safe_name

ENDINGS = ("mp4", "webm", "gif")
SHORTEST_S, LONGEST_S = 1.0, 600.0
LONGEST_GIF_S = 60.0
"""Every picture of a gif is kept nearly whole."""
_WORDS_S, _LETTERS_S = 8, 60
"""More than so many within a second nobody reads."""
_UNNAMED = "video.mp4"


@dataclass(frozen=True, slots=True)
class VideoInput:
    """A video that can be made."""

    text: str
    seconds: float
    name: str
    """Safe, with one of the endings."""


def read_request(action: Clawmotion) -> VideoInput:
    """What is to be made; raises BadInput that says what is wrong."""
    name, seconds = _named(action.output_file), action.duration
    if not SHORTEST_S <= seconds <= LONGEST_S:
        raise BadInput(f"CLAWMOTION: duration must be {SHORTEST_S:.0f} to {LONGEST_S:.0f} seconds.")
    if ending_of(name) == "gif" and seconds > LONGEST_GIF_S:
        raise BadInput(f"CLAWMOTION: a .gif can have at most {LONGEST_GIF_S:.0f} seconds. Name it .mp4 instead.")
    if not any(char.isalnum() for char in action.prompt):
        raise BadInput("CLAWMOTION: prompt must hold the text that is to be animated.")
    needed = max(len(action.prompt.split()) / _WORDS_S, len(action.prompt) / _LETTERS_S)
    if needed > seconds:
        raise BadInput(f"CLAWMOTION: so much text takes at least {math.ceil(needed)} seconds to read.")
    return VideoInput(action.prompt, seconds, name)


def ending_of(name: str) -> str:
    """What kind of file the name promises."""
    return name.rpartition(".")[2].lower()


def _named(asked: str) -> str:
    if not asked:
        return _UNNAMED
    name = safe_name(asked if "." in asked else f"{asked}.mp4")
    if ending_of(name) not in ENDINGS or name.startswith("."):
        raise BadInput(f"CLAWMOTION: output_file must end in .{', .'.join(ENDINGS)}.")
    return name
