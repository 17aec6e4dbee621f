"""``orchestrator.budget``: money is held before a call and booked after it, and no crowd gets past."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from orchestrator.budget import Hold, dollars
from orchestrator.errors import OverBudget
from orchestrator.nouns import TokenUse
from orchestrator.store.ledger import Day
from tests.rooms import KEY, OTHER, Rooms, at_once, rooms


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Rooms]:
    """An agent with $3.00 a day."""
    with rooms(tmp_path / "home", daily_budget_usd=3) as made:
        yield made


def _hold(house: Rooms, micro: int = 1_000_000, turn: int | None = None) -> Hold:
    return house.budget.reserve(house.crab, KEY, turn, provider="fake", model="fake-1", micro=micro)


def _day(house: Rooms) -> tuple[int, int]:
    day = house.budget.today("crab")
    return day.spent_micro, day.reserved_micro


def test_fifty_calls_at_once_with_a_budget_for_three(house: Rooms) -> None:
    """Exactly three are let through, all others are told what it would take."""
    results = at_once(*[partial(_hold, house)] * 50)
    assert sum(isinstance(result, Hold) for result in results) == 3
    refusals = [result for result in results if isinstance(result, OverBudget)]
    assert len(refusals) == 47
    assert "daily_budget_usd" in refusals[0].message
    assert _day(house) == (0, 3_000_000)


def test_the_budget_is_the_agents_over_all_people(house: Rooms) -> None:
    """Two cubicles of one agent share it."""
    _hold(house, 2_500_000)
    with pytest.raises(OverBudget):
        house.budget.reserve(house.crab, OTHER, None, provider="fake", model="fake-1", micro=600_000)


def test_settling_books_the_cost_and_frees_the_rest(house: Rooms) -> None:
    """What was held above the cost can be held again."""
    hold = _hold(house, 3_000_000)
    house.budget.settle(hold, 10_000, TokenUse(prompt=100, completion=20))
    assert _day(house) == (10_000, 0)
    _hold(house, 2_990_000)
    with pytest.raises(OverBudget):
        _hold(house, 1)


def test_a_cost_above_the_hold_is_booked_whole(house: Rooms) -> None:
    """The bill is the bill; the next call finds nothing left."""
    house.budget.settle(_hold(house), 5_000_000, TokenUse(prompt=1, completion=1))
    assert _day(house) == (5_000_000, 0)
    with pytest.raises(OverBudget):
        _hold(house, 1)


def test_an_unknown_end_costs_the_whole_hold(house: Rooms) -> None:
    """Kept, not given back."""
    house.budget.keep(_hold(house), TokenUse(), "the answer broke off")
    assert _day(house) == (1_000_000, 0)


def test_a_refused_call_costs_nothing(house: Rooms) -> None:
    """Released."""
    house.budget.release(_hold(house), "it was refused")
    assert _day(house) == (0, 0)


def test_a_hold_ends_once(house: Rooms) -> None:
    """Whatever comes second changes nothing, also from twenty threads."""
    hold = _hold(house)
    ends = [
        partial(house.budget.settle, hold, 7, TokenUse(prompt=1, completion=1)),
        partial(house.budget.release, hold, "x"),
    ]
    at_once(*ends * 10)
    assert _day(house) in ((7, 0), (0, 0))
    assert len(house.audited("model.call")) == 1


def test_what_was_under_way_at_a_death_is_booked_whole(tmp_path: Path) -> None:
    """Spent money stays spent; reconciling again changes nothing."""
    home = tmp_path / "home"
    with rooms(home, daily_budget_usd=3) as house:
        house.budget.settle(_hold(house), 5, TokenUse(prompt=1, completion=1))
        _hold(house)
    for _ in range(2):
        with rooms(home) as house:
            house.budget.reconcile()
            assert _day(house) == (1_000_005, 0)


def test_the_day_is_that_of_the_hold(house: Rooms) -> None:
    """A call over midnight is booked on the day on which it was held."""
    hold = _hold(house)
    with house.store.writing() as db:
        db.execute("UPDATE spending SET day = '2000-01-01'")
        db.execute("UPDATE spending_days SET day = '2000-01-01'")
    house.budget.settle(hold, 500, TokenUse(prompt=1, completion=1))
    assert _day(house) == (0, 0)
    with house.store.reading() as db:
        assert tuple(db.execute("SELECT day, cost_micro, reserved_micro FROM spending_days").fetchone()) == (
            "2000-01-01",
            500,
            0,
        )


def test_a_turn_knows_what_it_cost(house: Rooms) -> None:
    """Kept holds count, released ones do not."""
    turn = house.under_way()
    house.budget.settle(_hold(house, turn=turn.id), 100, TokenUse(prompt=30, completion=4))
    house.budget.keep(_hold(house, 200, turn=turn.id), TokenUse(prompt=5), "it was cut off")
    house.budget.release(_hold(house, turn=turn.id), "it was refused")
    found = house.turns.get(turn.id)
    assert (found.cost_micro, found.tokens) == (300, 39)


def test_no_budget_is_no_call_but_a_free_one_passes(house: Rooms) -> None:
    """With 0 dollars only what costs nothing goes through."""
    house.agents.change("crab", {"daily_budget_usd": 0})
    with pytest.raises(OverBudget):
        _hold(house, 1)
    assert _hold(house, 0).micro == 0


def test_an_unknown_agent_has_spent_nothing(house: Rooms) -> None:
    """Asking is no error."""
    assert house.budget.today("nobody") == Day(0, 0)


@pytest.mark.parametrize(
    ("micro", "shown"),
    [
        (0, "$0.00"),
        (1, "$0.0000"),
        (1_234_567, "$1.2346"),
        (10_000, "$0.01"),
        (12_345_678, "$12.35"),
        (5_000_000, "$5.00"),
    ],
)
def test_dollars(micro: int, shown: str) -> None:
    """Small sums show more digits."""
    assert dollars(micro) == shown
