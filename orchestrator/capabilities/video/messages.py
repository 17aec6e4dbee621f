"""What is said of a video, to its agent and to its person. Names were made safe before."""

from __future__ import annotations

from orchestrator.capabilities.delivery.messages import format_size
from orchestrator.core.text import one_line

GAVE_UP = "It was started several times and never finished, so it was cancelled. Ask for a shorter one."
UNREADABLE = (
    "The text has no letters that can be drawn (Latin, Greek and Cyrillic can; emoji, Chinese or Japanese can't)."
)
TOO_SLOW = "Making it took too long or too much room, and was stopped. Ask for a shorter one."
NOT_MADE = "It could not be made. The orchestrator's log says more."
NO_ROOM = "There is no room for it in the workspace. Delete what is no longer needed, then ask again."
TAKEN_AWAY = "It was taken out of out/ before it had its name."
NO_OUT = "The cubicle has no folder out/ that it could be put into."


def begun_text(name: str) -> str:
    """For whoever asked."""
    return (
        f"A video that animates the text is being made; it will be in out/{one_line(name, 120)} "
        "and is sent to the person by itself."
    )


def done_text(name: str, size_bytes: int, left_out: int) -> str:
    """When it is there."""
    lacking = {0: "", 1: " One character that has no letter in the font was left out."}
    said = f"The video is in out/{one_line(name, 120)} ({format_size(size_bytes)}) and is sent to the person by itself."
    return said + lacking.get(left_out, f" {left_out} characters that have no letters in the font were left out.")


def agent_note(name: str, error: str, outcome: str) -> str:
    """For the agent's next turn, where nobody waited for it."""
    if error:
        return f"The video {one_line(name, 120)} that you asked for could not be made: {error}"
    return f"You asked for a video. {outcome}"


def person_notice(agent: str, name: str, error: str) -> str:
    """For the person, when there will be none and nobody waited."""
    return f"{agent} wanted to make the video {one_line(name, 120)} for you. {error}"
