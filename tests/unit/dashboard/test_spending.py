"""What was spent, as charts and tables: the same sums as the ledger's, budgets as lines, guesses flagged."""

from __future__ import annotations

import time

import pytest
from flask import Flask

from dashboard.pages.spending import DAYS, build_chart, round_up
from orchestrator.llm import ledger_rows as ledger
from tests.support.app_fixture import AppFixture
from tests.unit.conftest import Api, Browser, logged_in
from tests.unit.dashboard.test_audit import page
from tests.unit.dashboard.test_pages import EVALUATED, EVIL

LONG_AGO = 40


def spend(
    webapp: AppFixture,
    agent: str,
    micro: int,
    *,
    ago: int = 0,
    model: str = "gpt",
    guess: bool = False,
    end: str = "settled",
) -> None:
    """One call, some days ago."""
    at = time.time() - ago * 86_400
    day = time.strftime("%Y-%m-%d", time.gmtime(at))
    most = 10**12
    with webapp.app._store.writing() as db:
        row = ledger.insert_reservation(
            db, agent=agent, user=1, turn=None, day=day, provider="custom", model=model, micro=0, budget_micro=most,
            now=at, tokens=10 if guess else 0, budget_tokens=most,
        )  # fmt: skip
        assert row is not None
        ledger.close_reservation(
            db, row, end, cost_micro=micro, prompt_tokens=100, completion_tokens=20, now=at, cost_tokens=120
        )


def test_sums_are_the_ledgers(webapp: AppFixture, browser: Browser) -> None:
    """Today, a week, thirty days; by agent and by model; what came to nothing or is too old is not counted."""
    webapp.services.agents.create({"name": "other"})
    spend(webapp, "crab", 1_000_000)
    spend(webapp, "crab", 2_000_000, ago=3)
    spend(webapp, "other", 4_000_000, ago=20, model="mine", guess=True)
    spend(webapp, "crab", 0, end="released")
    spend(webapp, "crab", 9_000_000, ago=LONG_AGO)
    seen = page(browser, "/spending")
    assert "Today$1.00 7 days$3.00 30 days$7.00" in seen
    assert "crab $3.00 2 calls · 240 tokens" in seen
    assert "other $4.00 1 call · 120 tokens estimated" in seen
    assert "No known price for mine." in seen
    of_crab = page(browser, "/spending?agent=crab")
    assert "Spending of crab" in of_crab
    assert "30 days$3.00" in of_crab
    assert "Nobody knows" not in of_crab


def test_an_empty_ledger_teaches(browser: Browser) -> None:
    """No chart of nothing, and no error for an agent that never was."""
    for path in ("/spending", "/spending?agent=nobody", "/spending?agent=<script>"):
        assert "Nothing was spent in the last 30 days." in page(browser, path)


def test_hostile_names_stay_text(webapp: AppFixture, browser: Browser) -> None:
    """A model's name comes from elsewhere."""
    spend(webapp, "crab", 5, model=EVIL, guess=True)
    seen = page(browser, "/spending")
    assert "<script>alert(1)</script>" in seen
    assert EVALUATED not in seen


def test_a_deleted_agents_spending_stays(webapp: AppFixture, browser: Browser) -> None:
    """It was spent all the same; there is no budget to change any more."""
    webapp.services.agents.create({"name": "other"})
    spend(webapp, "other", 5_000_000)
    webapp.services.remove_agent("other")
    assert "other $5.00" in page(browser, "/spending")
    assert "Change the budget" not in page(browser, "/spending?agent=other")


def test_members_see_none_of_it(webapp: AppFixture, app: Flask, member: Api) -> None:
    """It is the operator's money."""
    assert logged_in(webapp, app, member.user).client.get("/spending").status_code == 403


@pytest.mark.parametrize(
    ("micro", "top"),
    [(0, 10_000), (1, 10_000), (10_001, 15_000), (999_999, 1_000_000), (1_000_000, 1_000_000), (2_040_000, 2_500_000)],
)
def test_the_top_is_round_and_never_below(micro: int, top: int) -> None:
    """So that it can be read, and no bar leaves the chart."""
    assert round_up(micro) == top


@pytest.mark.parametrize(
    ("budget", "line"), [(0, None), (2_000_000, 0.0), (1_000_000, 50.0), (8_000_000, 0.0), (8_000_001, None)]
)
def test_a_budget_is_a_line_unless_it_is_far_above(budget: int, line: float | None) -> None:
    """Everything stays within the drawing."""
    days = tuple(f"2026-02-{n:02}" for n in range(1, 29))
    drawn = build_chart(days, {"2026-02-03": 2_000_000, "2026-02-04": 1}, budget)
    assert drawn.budget_y == line
    assert all(bar.y >= 0 and bar.y + bar.height <= 100 for bar in drawn.bars)
    assert drawn.highest.label == "3 Feb"
    assert drawn.bars[3].height == 1.0  # a day with something is never a day with nothing


def test_days_are_utc_days_in_a_row(webapp: AppFixture) -> None:
    """Today is the last."""
    days = webapp.services.budget.last_days(DAYS)
    assert len(set(days)) == DAYS
    assert list(days) == sorted(days)
    assert days[-1] == time.strftime("%Y-%m-%d", time.gmtime())
