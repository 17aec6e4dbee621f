"""What is said of an installation, to its agent and to its person. Names of packages were read strictly before, so they
can stand in a sentence as they are."""

from __future__ import annotations

from collections.abc import Sequence

REASON = "Packages are programs of strangers. They run inside this agent's cubicle alone, never on this machine itself."
NAMES_REASON = "To find out what they need, the package index is told these names."
NAMES_ASKED = "A person is asked whether these packages may be looked up. The outcome comes here."
LOOKED_UP = "What these packages need is being looked up; then a person is asked. The outcome comes here."
WAITS = "A person is being asked about these packages. The outcome comes here."
DENIED = "The person said no, so nothing was installed. Do without these packages, or ask them why."
EXPIRED = "Nobody answered in time, so nothing was installed. Ask again when the person is there."
CANCELLED = "The question was withdrawn, so nothing was installed. Ask again if it is still needed."
GAVE_UP = "It was started several times and never finished, so it was cancelled. Ask again, perhaps for less."


def name_packages(asked: Sequence[str], most: int = 5) -> str:
    """``six, idna and 3 more``."""
    shown = ", ".join(asked[:most])
    return f"{shown} and {len(asked) - most} more" if len(asked) > most else shown


def ready_text(count: int, folder: str) -> str:
    """The agent reads this when the files are there."""
    things = "1 package is" if count == 1 else f"{count} packages are"
    return f"{things} ready in {folder}."


def later_note(system: str, asked: Sequence[str], error: str) -> str:
    """For the agent's next turn, where the one that asked is over."""
    if error:
        return f"Your request for the packages {name_packages(asked)} failed: {error}"
    return (
        f"The packages {name_packages(asked)} that you asked for were approved and are there. "
        f"'hermit install {system} {' '.join(asked)}' installs them now, without asking again."
    )


def person_notice(agent: str, asked: Sequence[str], error: str) -> str:
    """For the person, where the turn that asked is over."""
    if error:
        return f"{agent} wanted the packages {name_packages(asked)}. {error}"
    return f"The packages {name_packages(asked)} for {agent} are there. It can install them in its next turn."
