"""What a person may spend over all agents: held before each call beside the agent's budget, in a day and in a month."""

from __future__ import annotations

import calendar
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from orchestrator.core.errors import BadInput, OverBudget
from orchestrator.core.models import CubicleKey, TokenUse
from orchestrator.llm.budget import Budget, Hold
from tests.support.core_fixture import CoreFixture, at_once, core_fixture

DAY_S = 24 * 3600.0
NOON = calendar.timegm((2026, 11, 30, 12, 0, 0, 0, 0, 0))
"""Of the last day of a month."""


class Purse:
    """Two agents and two people, at a time that the test says."""

    def __init__(self, install: CoreFixture) -> None:
        self.install = install
        self.now = float(NOON)
        self.budget = Budget(install.store, now=lambda: self.now)
        install.agents.create({"name": "clerk", "daily_budget_usd": 50})

    @property
    def member(self) -> int:
        """Whose purse it is."""
        return self.install.member.id

    def limit(self, **fields: float | None) -> None:
        """What the member may spend."""
        self.install.users.update_user(self.member, dict(fields))

    def hold(self, micro: int = 1_000_000, *, agent: str = "crab", user: int | None = None) -> Hold:
        """A call of the member's."""
        key = CubicleKey(agent, user or self.member)
        return self.budget.reserve(
            self.install.agents.get(agent), key, None, provider="fake", model="fake-1", micro=micro
        )

    def spend(self, micro: int, *, agent: str = "crab") -> None:
        """A call that has cost this."""
        self.budget.settle_hold(self.hold(micro, agent=agent), micro, TokenUse(prompt=1, completion=1))

    @property
    def taken(self) -> tuple[int, int]:
        """Today, and this month."""
        standing = self.budget.get_person_standing(self.member)
        return standing.today_micro, standing.month_micro


@pytest.fixture
def purse(tmp_path: Path) -> Iterator[Purse]:
    """Agents with far more money than the member may spend."""
    with core_fixture(tmp_path / "home", daily_budget_usd=50) as install:
        yield Purse(install)


def test_fifty_calls_at_once_over_two_agents(purse: Purse) -> None:
    """Exactly three are let through; the others are told whose limit it is, and who can raise it."""
    purse.limit(daily_budget_usd=3)
    calls = [partial(purse.hold, agent=agent) for agent in ("crab", "clerk")] * 25
    results = at_once(*calls)
    assert sum(isinstance(result, Hold) for result in results) == 3
    refusal = next(result for result in results if isinstance(result, OverBudget))
    for words in ("bob has no budget left today", "$3.00 of $3.00", "Whoever runs this install", "daily_budget_usd=…"):
        assert words in refusal.message
    assert purse.taken == (3_000_000, 3_000_000)


def test_a_refusal_touches_nothing(purse: Purse) -> None:
    """Neither the agent's day, which is not called stopped, nor the person's when it is the agent that refuses."""
    purse.limit(daily_budget_usd=1)
    with pytest.raises(OverBudget):
        purse.hold(2_000_000)
    assert not purse.budget.get_standing("crab").is_stopped
    assert purse.taken == (0, 0)
    purse.limit(daily_budget_usd=None)
    with pytest.raises(OverBudget, match="crab has no budget"):
        purse.hold(51_000_000)
    assert purse.taken == (0, 0)


def test_others_and_people_without_a_limit_go_on(purse: Purse) -> None:
    """One person's limit is no other's; what they spend is counted all the same."""
    purse.limit(daily_budget_usd=0)
    with pytest.raises(OverBudget):
        purse.hold(1)
    purse.hold(user=purse.install.operator.id)
    purse.limit(daily_budget_usd=None)
    purse.spend(7_000_000)
    standing = purse.budget.get_person_standing(purse.member)
    assert (standing.today_micro, standing.left_micro, standing.is_used_up) == (7_000_000, None, False)


def test_what_a_call_has_cost_is_booked_and_the_rest_is_free(purse: Purse) -> None:
    """Settled, kept whole, released, and found open after a crash."""
    purse.limit(daily_budget_usd=4)
    purse.budget.settle_hold(purse.hold(3_000_000), 10_000, TokenUse(prompt=1, completion=1))
    assert purse.taken == (10_000, 10_000)
    purse.budget.book_hold(purse.hold(90_000), TokenUse(), "broke off")
    purse.budget.release_hold(purse.hold(1_000_000), "no")
    assert purse.taken == (100_000, 100_000)
    purse.hold(900_000, agent="clerk")
    purse.budget.reconcile()
    assert purse.taken == (1_000_000, 1_000_000)
    assert purse.budget.get_person_standing(purse.member).left_micro == 3_000_000


def test_a_month_has_a_limit_of_its_own(purse: Purse) -> None:
    """Days begin anew, the month goes on; the next month begins anew too. The message says which of them it is."""
    purse.now -= DAY_S
    purse.limit(daily_budget_usd=2, monthly_budget_usd=3)
    purse.spend(2_000_000)
    with pytest.raises(OverBudget, match="left today"):
        purse.hold(1)
    purse.now += DAY_S
    assert purse.taken == (0, 2_000_000)
    purse.spend(1_000_000, agent="clerk")
    with pytest.raises(OverBudget, match=r"left this month.*2026-11 is over.*monthly_budget_usd"):
        purse.hold(1)
    standing = purse.budget.get_person_standing(purse.member)
    assert (standing.left_micro, standing.is_used_up) == (0, True)
    assert standing.month_ends_at == standing.day_ends_at == NOON + DAY_S / 2
    purse.now += DAY_S
    purse.spend(2_000_000)
    assert purse.taken == (2_000_000, 2_000_000)


def test_a_clock_that_is_put_back_gives_nothing_back(purse: Purse) -> None:
    """The last day on which the person asked for money goes on, for every agent."""
    purse.limit(daily_budget_usd=2)
    purse.spend(2_000_000)
    purse.now -= 3 * DAY_S
    with pytest.raises(OverBudget):
        purse.hold(1, agent="clerk")


def test_what_was_spent_before_counts(purse: Purse) -> None:
    """The sums that the upgrade makes of the calls that were are those that are kept from then on."""
    purse.spend(2_000_000)
    purse.spend(1_000_000, agent="clerk")
    purse.hold(500_000)
    with purse.install.store.writing() as db:
        kept = [tuple(row) for row in db.execute("SELECT * FROM person_spending ORDER BY user, period")]
        made = db.execute(
            "SELECT user, day, SUM(cost_micro), SUM(CASE state WHEN 'reserved' THEN reserved_micro ELSE 0 END) "
            "FROM spending GROUP BY user, day"
        )
        assert [tuple(row) for row in made] == kept[1:]
    assert kept == [(purse.member, "2026-11", 3_000_000, 500_000), (purse.member, "2026-11-30", 3_000_000, 500_000)]


@pytest.mark.parametrize("wrong", [-1, "2", True, 1e9, float("nan"), [], {}])
def test_what_is_no_limit(purse: Purse, wrong: object) -> None:
    """A refusal names the field and changes nothing."""
    with pytest.raises(BadInput, match="monthly_budget_usd"):
        purse.install.users.update_user(purse.member, {"monthly_budget_usd": wrong})
    assert purse.install.users.get(purse.member).monthly_budget_micro is None
