"""How an agent stands today, for itself: money, disk, what waits for a person, what comes next, and what it may call.

Owns the sentence and its JSON; every figure is somebody else's. Nothing here measures or waits.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from orchestrator.approvals import rows as approval_rows
from orchestrator.capabilities.capability import Caller, Deeds, Outcome
from orchestrator.capabilities.status.capability import STATUS, Status
from orchestrator.core.models import MICRO, CubicleKey
from orchestrator.core.text import one_line
from orchestrator.llm.budget import BudgetState
from orchestrator.llm.dollars import format_dollars


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
        money: Callable[[str], BudgetState],
        space: Callable[[CubicleKey], Space | None],
        upcoming: Callable[[CubicleKey], Next | None],
        toolsets: Callable[[str], tuple[str, ...]],
        open_questions: Callable[[sqlite3.Connection, CubicleKey], int],
        commands: Callable[[CubicleKey], list[str]],
    ) -> None:
        self._money = money
        self._space = space
        self._upcoming = upcoming
        self._toolsets = toolsets
        self._open_questions = open_questions
        self._commands = commands

    @property
    def deeds(self) -> Deeds:
        """What carries out what agents ask for."""
        return {STATUS.name: self._report_status}

    def _report_status(self, db: sqlite3.Connection, caller: Caller, _action: Status) -> Outcome:
        key = caller.key
        money, space, upcoming = self._money(key.agent), self._space(key), self._upcoming(key)
        waiting = {
            "questions": self._open_questions(db, key),
            "approvals": approval_rows.count_pending(db, key),
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


def _said_of(money: BudgetState) -> str:
    said = f"Budget today: {format_dollars(money.spent_micro)} of {format_dollars(money.budget_micro)} spent, "
    if money.tokens:
        said += f"{money.tokens:,} of {money.token_budget:,} tokens of models without a price, "
    return f"{said}{format_dollars(money.left_micro)} left; a new day begins at {_iso(money.resets_at)}."


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="minutes").replace("+00:00", "Z")


def _json_of(money: BudgetState) -> dict[str, Any]:
    return {
        "spent_usd": money.spent_micro / MICRO,
        "left_usd": money.left_micro / MICRO,
        "budget_usd": money.budget_micro / MICRO,
        "tokens": money.tokens,
        "token_budget": money.token_budget,
        "resets_at": _iso(money.resets_at),
    }


def _next_json(upcoming: Next) -> dict[str, Any]:
    return {"id": upcoming.id, "title": upcoming.title, "at": upcoming.at.isoformat()}


def _entry(upcoming: Next) -> str:
    return f"“{one_line(upcoming.title, 80)}” (number {upcoming.id}) at {upcoming.at.isoformat(timespec='minutes')}"


def _mb(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
