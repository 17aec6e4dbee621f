"""How an agent stands today, for itself: money, disk, what waits for a person, what comes next, and what it may call.

Owns the sentence and its JSON; every figure is somebody else's. Nothing here measures or waits.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from orchestrator.capabilities.table import Caller, Capability, Outcome, Policy
from orchestrator.nouns import MICRO, CubicleKey
from orchestrator.panel.actions import Status
from orchestrator.store import approvals as approval_rows
from orchestrator.store import questions as question_rows
from orchestrator.text import one_line

COST = 1


@dataclass(frozen=True, slots=True)
class Money:
    """An agent's day, in micro-dollars."""

    spent_micro: int
    held_micro: int
    budget_micro: int
    resets_at: str
    """When the day ends, in ISO 8601."""

    @property
    def left_micro(self) -> int:
        """What may still be spent."""
        return max(0, self.budget_micro - self.spent_micro - self.held_micro)


@dataclass(frozen=True, slots=True)
class Space:
    """What a workspace holds, in bytes."""

    used: int
    limit: int


@dataclass(frozen=True, slots=True)
class Next:
    """What is due next in an agent's calendar."""

    id: int
    title: str
    at: datetime


class StatusReport:
    """Puts the figures together."""

    def __init__(
        self,
        *,
        money: Callable[[str], Money],
        space: Callable[[CubicleKey], Space | None],
        upcoming: Callable[[CubicleKey], Next | None],
        toolsets: Callable[[str], tuple[str, ...]],
        commands: Callable[[CubicleKey], list[str]],
    ) -> None:
        self._money = money
        self._space = space
        self._upcoming = upcoming
        self._toolsets = toolsets
        self._commands = commands

    @property
    def capability(self) -> Capability:
        """What agents look with."""
        return Capability(Status, "", Policy.FREE, COST, self._run)

    def _run(self, db: sqlite3.Connection, caller: Caller, _action: Status) -> Outcome:
        key = caller.key
        money, space, upcoming = self._money(key.agent), self._space(key), self._upcoming(key)
        waiting = {
            "questions": question_rows.pending_count(db, key),
            "approvals": approval_rows.pending_count(db, key),
        }
        toolsets = self._toolsets(key.agent)
        said = [
            _said_of(money),
            "" if space is None else f"Disk: {_mb(space.used)} of {_mb(space.limit)} used.",
            f"Waiting for the person: questions {waiting['questions']}, approvals {waiting['approvals']}.",
            "" if upcoming is None else f"Next in the calendar: {_entry(upcoming)}.",
            f"Toolsets: {', '.join(toolsets) or 'none'} ('hermit --help' lists the commands).",
        ]
        result: dict[str, Any] = {
            "budget": _json_of(money),
            "disk": None if space is None else {"used_bytes": space.used, "limit_bytes": space.limit},
            "waiting": waiting,
            "next": None if upcoming is None else _next_json(upcoming),
            "toolsets": list(toolsets),
            "commands": self._commands(key),
        }
        return Outcome("\n".join(filter(None, said)), result)


def _said_of(money: Money) -> str:
    spent, whole, left = (_dollars(micro) for micro in (money.spent_micro, money.budget_micro, money.left_micro))
    return f"Budget today: {spent} of {whole} spent, {left} left; a new day begins at {money.resets_at}."


def _json_of(money: Money) -> dict[str, Any]:
    return {
        "spent_usd": money.spent_micro / MICRO,
        "left_usd": money.left_micro / MICRO,
        "budget_usd": money.budget_micro / MICRO,
        "resets_at": money.resets_at,
    }


def _next_json(upcoming: Next) -> dict[str, Any]:
    return {"id": upcoming.id, "title": upcoming.title, "at": upcoming.at.isoformat()}


def _entry(upcoming: Next) -> str:
    return f"“{one_line(upcoming.title, 80)}” (number {upcoming.id}) at {upcoming.at.isoformat(timespec='minutes')}"


def _dollars(micro: int) -> str:
    return f"${micro / MICRO:.2f}" if micro >= 10 * MICRO or micro % 10_000 == 0 else f"${micro / MICRO:.4f}"


def _mb(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
