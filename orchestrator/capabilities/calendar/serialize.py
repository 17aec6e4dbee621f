"""Entries and runs of the calendar as surfaces show them. Pure."""

from __future__ import annotations

from typing import Any

from orchestrator.capabilities.calendar.rows import CalendarEntry, Run

MEDIA_TYPE = "text/calendar"
"""Of a feed."""


def as_json(entry: CalendarEntry, words: str, conversation: int | None) -> dict[str, Any]:
    """The entry as surfaces show it; ``conversation`` is where its next run goes."""
    return {
        "id": entry.id,
        "agent": entry.cubicle.agent,
        "user": entry.cubicle.user,
        "title": entry.title,
        "prompt": entry.prompt,
        "start": _plain(entry.start),
        "end": _plain(entry.end) or None,
        "time_zone": entry.time_zone,
        "repeat": entry.repeat or None,
        "color": entry.color or None,
        "missed": entry.missed,
        "without": entry.without.split(",") if entry.without else [],
        "status": str(entry.status),
        "words": words,
        "next_at": entry.next_at,
        "failures": entry.failures,
        "by": entry.by,
        "turn": entry.turn,
        "conversation": conversation,
        "created_at": entry.created_at,
        "changed_at": entry.changed_at,
    }


def _plain(when: str) -> str:
    """A moment of UTC as all other times outside, with a Z."""
    return f"{when.removesuffix('+00:00')}Z" if when.endswith("+00:00") else when


def run_json(run: Run) -> dict[str, Any]:
    """What came of a time, as surfaces show it."""
    return {
        "id": run.id,
        "due_at": run.due_at,
        "turn": run.turn,
        "conversation": run.conversation,
        "outcome": str(run.outcome),
        "is_late": run.is_late,
        "by_hand": run.by_hand,
        "collapsed": run.collapsed,
        "ended_at": run.ended_at,
    }
