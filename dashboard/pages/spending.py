"""What models cost in the last month, for the operator: a chart of days, and the same by agent and by model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date

from flask import Blueprint, render_template, request

from dashboard.auth import operator_only
from dashboard.languages import say, say_many, speech
from dashboard.pages.frame import shell_frame
from dashboard.services import get_services
from orchestrator.core.models import MICRO
from orchestrator.languages.dates import write_date
from orchestrator.llm.ledger_rows import Spent

pages = Blueprint("spending", __name__)

DAYS = 30
WEEK = 7
_WIDTH, _HEIGHT, _GAP = 600.0, 100.0, 4.0
_FAR = 4
"""A budget this many times above the highest day is told in words: a line for it would press all days flat."""


@dataclass(frozen=True, slots=True)
class Sum:
    """What came together under one name."""

    name: str
    note: str
    """What the name alone does not tell: a model's provider."""
    micro: int
    calls: int
    tokens: int
    unpriced: int
    percent: float
    """Of the largest beside it."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A day in the chart."""

    label: str
    micro: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class SpendingChart:
    """Days side by side, in units of a drawing of 600 by 100."""

    bars: list[Bar]
    top_micro: int
    """How much the whole height is."""
    budget_micro: int
    budget_y: float | None
    """Where the budget's line is; None when it is far above."""

    @property
    def first(self) -> str:
        """The first day."""
        return self.bars[0].label

    @property
    def highest(self) -> Bar:
        """The day that cost most."""
        return max(self.bars, key=lambda bar: bar.micro)


@pages.get("/spending")
@operator_only
def spending() -> str:
    """The whole page, or with ``?agent=`` that of one agent."""
    services, wanted = get_services(), request.args.get("agent", "")[:64]
    days = services.budget.last_days(DAYS)
    every = services.budget.spent_since(days[0])
    agents = {agent.name: agent for agent in services.agents.list_agents()}
    shown = [row for row in every if not wanted or row.agent == wanted]
    budgets = [agent.daily_budget_micro for agent in agents.values() if wanted in ("", agent.name)]
    by_day = {row.name: row for row in sum_rows(shown, lambda row: (row.day, ""))}
    return render_template(
        "spending.html",
        **shell_frame(),
        wanted=wanted,
        is_known=wanted in agents,
        chart=build_chart(days, {day: found.micro for day, found in by_day.items()}, sum(budgets)),
        figures=[(_span_words(count), sum_of(shown, days[-count:])) for count in _SPANS],
        by_agent=sum_rows(every, lambda row: (row.agent, "")),
        by_model=sum_rows(shown, lambda row: (row.model, row.provider)),
        by_day=[(day_words(day), by_day[day]) for day in reversed(days) if day in by_day],
        unknown=services.prices.list_unknown() if any(row.unpriced for row in shown) else [],
    )


_SPANS = (1, WEEK, DAYS)


def _span_words(days: int) -> str:
    return say("Today") if days == 1 else say_many("%(count)s day", "%(count)s days", days)


def sum_rows(rows: Iterable[Spent], key: Callable[[Spent], tuple[str, str]]) -> list[Sum]:
    """The rows put together by name and note, the dearest first."""
    found: dict[tuple[str, str], list[Spent]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    most = max((sum(row.micro for row in group) for group in found.values()), default=0)
    made = [_sum(name, note, group, most) for (name, note), group in found.items()]
    return sorted(made, key=lambda one: (-one.micro, one.name, one.note))


def sum_of(rows: Iterable[Spent], days: tuple[str, ...]) -> int:
    """What was spent on these days."""
    return sum(row.micro for row in rows if row.day in days)


def build_chart(days: tuple[str, ...], micro: dict[str, int], budget_micro: int) -> SpendingChart:
    """The days drawn; the top is a round sum, so that it can be read."""
    most = max((*micro.values(), 0))
    is_near = 0 < budget_micro <= most * _FAR
    top = round_up(max(most, budget_micro if is_near else 0))
    step = _WIDTH / len(days)
    bars = []
    for n, day in enumerate(days):
        spent = micro.get(day, 0)
        height = max(spent / top * _HEIGHT, 1.0) if spent else 0.0
        bars.append(
            Bar(day_words(day), spent, n * step + _GAP / 2, round(_HEIGHT - height, 2), step - _GAP, round(height, 2))
        )
    line = round(_HEIGHT - budget_micro / top * _HEIGHT, 2) if is_near else None
    return SpendingChart(bars, top, budget_micro, line)


def round_up(micro: int) -> int:
    """The next number of two digits that is easily read, with zeros behind it; a cent at least."""
    if micro <= MICRO // 100:
        return MICRO // 100
    tenth = int(10 ** (int(math.log10(micro)) - 1))
    return next(tenth * times for times in (10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150) if tenth * times >= micro)


def day_words(day: str) -> str:
    """``2026-02-28`` as ``28 Feb``."""
    given = date.fromisoformat(day)
    return write_date(given, "%-d %b", "MMMd", speech().language)


def _sum(name: str, note: str, group: list[Spent], most: int) -> Sum:
    micro = sum(row.micro for row in group)
    return Sum(
        name,
        note,
        micro,
        sum(row.calls for row in group),
        sum(row.tokens for row in group),
        sum(row.unpriced for row in group),
        round(micro / most * 100, 1) if most else 0.0,
    )
