"""Whether a person is told how a turn ended: of what the calendar ran in silence they are not. Pure."""

from __future__ import annotations

from orchestrator.core.models import Turn, TurnStatus

INTERNAL = "INTERNAL:"
"""A prompt of the calendar that begins so is between the install and the agent."""


def is_told(turn: Turn) -> bool:
    """The turn's outcome belongs in its person's chat."""
    if not turn.may_be_silent:
        return True
    if turn.prompt.lstrip().upper().startswith(INTERNAL):
        return False
    return turn.status is not TurnStatus.DONE or bool((turn.reply or "").strip())
