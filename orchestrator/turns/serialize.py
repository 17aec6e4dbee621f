"""Turns and steps as surfaces show them: the one shape that the API, the events and the dashboard share. Pure."""

from __future__ import annotations

from typing import Any

from orchestrator.agents.user_fields import CHANNELS
from orchestrator.core.models import MICRO, Step, Turn
from orchestrator.languages.told import to_say

_FROM = {
    "api": to_say("from the API"),
    "terminal": to_say("from a terminal"),
    "calendar": to_say("from the calendar"),
    "dashboard": to_say("from the dashboard"),
    **{channel: f"from {label}" for channel, label in CHANNELS.items()},
}


def came_from(turn_source: str) -> str:
    """Where a turn's message came from, as a person says it."""
    return _FROM.get(turn_source, f"from the {turn_source}")


def turn_json(turn: Turn) -> dict[str, Any]:
    """The turn as surfaces show it."""
    return {
        "turn": turn.id,
        "agent": turn.cubicle.agent,
        "user": turn.cubicle.user,
        "conversation": turn.conversation,
        "parent": turn.parent,
        "source": turn.source,
        "prompt": turn.prompt,
        "status": str(turn.status),
        "reply": turn.reply,
        "error": turn.error,
        "created_at": turn.created_at,
        "started_at": turn.started_at,
        "ended_at": turn.ended_at,
        "tokens": turn.tokens,
        "cost_usd": turn.cost_micro / MICRO,
        "apps": list(turn.apps),
    }


def step_json(step: Step) -> dict[str, Any]:
    """A step as surfaces show it."""
    return {
        "n": step.n,
        "thought": step.thought,
        "command": step.command,
        "sha256": step.sha256,
        "verdict": str(step.ruling),
        "reason": step.reason,
        "approval": step.approval,
        "status": step.status,
        "exit_code": step.exit_code,
        "output": step.output,
        "started_at": step.started_at,
        "ended_at": step.ended_at,
    }
