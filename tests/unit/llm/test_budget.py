"""``orchestrator.llm.budget``: money is held before a call and booked after it, and no crowd gets past."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from orchestrator.approvals.notifications import Notifications
from orchestrator.core.errors import NotFound, OverBudget
from orchestrator.core.hooks import BudgetCrossed
from orchestrator.core.models import CubicleKey, TokenUse
from orchestrator.llm.budget import Budget, Hold, format_dollars
from orchestrator.llm.budget_notifications import NEARLY, WHOLLY, BudgetNotifications
from orchestrator.llm.ledger_rows import SpendingDay
from tests.support.core_fixture import KEY, OTHER, CoreFixture, at_once, core_fixture, heard, of_kind, watching


@pytest.fixture
def house(tmp_path: Path) -> Iterator[CoreFixture]:
    """An agent with $3.00 a day."""
    with core_fixture(tmp_path / "home", daily_budget_usd=3) as made:
        yield made


def _hold(house: CoreFixture, micro: int = 1_000_000, turn: int | None = None) -> Hold:
    return house.budget.reserve(house.crab, KEY, turn, provider="fake", model="fake-1", micro=micro)


def _day(house: CoreFixture) -> tuple[int, int]:
    day = house.budget.get_today("crab")
    return day.spent_micro, day.reserved_micro


def test_fifty_calls_at_once_with_a_budget_for_three(house: CoreFixture) -> None:
    """Exactly three are let through, all others are told what it would take."""
    results = at_once(*[partial(_hold, house)] * 50)
    assert sum(isinstance(result, Hold) for result in results) == 3
    refusals = [result for result in results if isinstance(result, OverBudget)]
    assert len(refusals) == 47
    assert "daily_budget_usd" in refusals[0].message
    assert _day(house) == (0, 3_000_000)


def test_the_budget_is_the_agents_over_all_people(house: CoreFixture) -> None:
    """Two cubicles of one agent share it."""
    _hold(house, 2_500_000)
    with pytest.raises(OverBudget):
        house.budget.reserve(house.crab, OTHER, None, provider="fake", model="fake-1", micro=600_000)


def test_settling_books_the_cost_and_frees_the_rest(house: CoreFixture) -> None:
    """What was held above the cost can be held again."""
    hold = _hold(house, 3_000_000)
    house.budget.settle_hold(hold, 10_000, TokenUse(prompt=100, completion=20))
    assert _day(house) == (10_000, 0)
    _hold(house, 2_990_000)
    with pytest.raises(OverBudget):
        _hold(house, 1)


def test_a_cost_above_the_hold_is_booked_whole(house: CoreFixture) -> None:
    """The bill is the bill; the next call finds nothing left."""
    house.budget.settle_hold(_hold(house), 5_000_000, TokenUse(prompt=1, completion=1))
    assert _day(house) == (5_000_000, 0)
    with pytest.raises(OverBudget):
        _hold(house, 1)


def test_an_unknown_end_costs_the_whole_hold(house: CoreFixture) -> None:
    """Kept, not given back."""
    house.budget.book_hold(_hold(house), TokenUse(), "the answer broke off")
    assert _day(house) == (1_000_000, 0)


def test_a_refused_call_costs_nothing(house: CoreFixture) -> None:
    """Released."""
    house.budget.release_hold(_hold(house), "it was refused")
    assert _day(house) == (0, 0)


def test_a_hold_ends_once(house: CoreFixture) -> None:
    """Whatever comes second changes nothing, also from twenty threads."""
    hold = _hold(house)
    ends = [
        partial(house.budget.settle_hold, hold, 7, TokenUse(prompt=1, completion=1)),
        partial(house.budget.release_hold, hold, "x"),
    ]
    at_once(*ends * 10)
    assert _day(house) in ((7, 0), (0, 0))
    assert len(house.audited("model.call")) == 1


def test_what_was_under_way_at_a_death_is_booked_whole(tmp_path: Path) -> None:
    """Spent money stays spent; reconciling again changes nothing."""
    home = tmp_path / "home"
    with core_fixture(home, daily_budget_usd=3) as house:
        house.budget.settle_hold(_hold(house), 5, TokenUse(prompt=1, completion=1))
        _hold(house)
    for _ in range(2):
        with core_fixture(home) as house:
            house.budget.reconcile()
            assert _day(house) == (1_000_005, 0)


def test_the_day_is_that_of_the_hold(house: CoreFixture) -> None:
    """A call over midnight is booked on the day on which it was held."""
    hold = _hold(house)
    with house.store.writing() as db:
        db.execute("UPDATE spending SET day = '2000-01-01'")
        db.execute("UPDATE spending_days SET day = '2000-01-01'")
    house.budget.settle_hold(hold, 500, TokenUse(prompt=1, completion=1))
    assert _day(house) == (0, 0)
    with house.store.reading() as db:
        assert tuple(db.execute("SELECT day, cost_micro, reserved_micro FROM spending_days").fetchone()) == (
            "2000-01-01",
            500,
            0,
        )


def test_a_turn_knows_what_it_cost(house: CoreFixture) -> None:
    """Kept holds count, released ones do not."""
    turn = house.under_way()
    house.budget.settle_hold(_hold(house, turn=turn.id), 100, TokenUse(prompt=30, completion=4))
    house.budget.book_hold(_hold(house, 200, turn=turn.id), TokenUse(prompt=5), "it was cut off")
    house.budget.release_hold(_hold(house, turn=turn.id), "it was refused")
    found = house.turns.get(turn.id)
    assert (found.cost_micro, found.tokens) == (300, 39)


def test_no_budget_is_no_call_but_a_free_one_passes(house: CoreFixture) -> None:
    """With 0 dollars only what costs nothing goes through."""
    house.agents.update_agent("crab", {"daily_budget_usd": 0})
    with pytest.raises(OverBudget):
        _hold(house, 1)
    assert _hold(house, 0).micro == 0


def test_an_unknown_agent_has_spent_nothing(house: CoreFixture) -> None:
    """Asking is no error."""
    assert house.budget.get_today("nobody") == SpendingDay(0, 0)


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
    assert format_dollars(micro) == shown


# --- tokens of models without a known price --------------------------------------------------------------------


def _hold_tokens(house: CoreFixture, tokens: int, micro: int = 1) -> Hold:
    return house.budget.reserve(house.crab, KEY, None, provider="own", model="x", micro=micro, tokens=tokens)


def test_fifty_calls_at_once_with_tokens_for_three(house: CoreFixture) -> None:
    """Exactly three are let through; the others are told what it would take, a price among it."""
    house.agents.update_agent("crab", {"daily_budget_tokens": 3_500})
    results = at_once(*[partial(_hold_tokens, house, 1_000)] * 50)
    assert sum(isinstance(result, Hold) for result in results) == 3
    refusals = [result.message for result in results if isinstance(result, OverBudget)]
    assert len(refusals) == 47
    assert all("daily_budget_tokens" in message and "prices set own x" in message for message in refusals)
    assert house.budget.get_standing("crab").tokens == 3_000


def test_tokens_are_booked_as_money_is(house: CoreFixture) -> None:
    """Settled at the count, kept whole, released to nothing; a death keeps what was held."""
    house.budget.settle_hold(_hold_tokens(house, 100), 1, TokenUse(prompt=30, completion=10), tokens=40)
    house.budget.book_hold(_hold_tokens(house, 100), TokenUse(), "the answer broke off")
    house.budget.release_hold(_hold_tokens(house, 100), "it was refused")
    _hold_tokens(house, 7)
    house.budget.reconcile()
    day = house.budget.get_today("crab")
    assert (day.spent_tokens, day.reserved_tokens) == (147, 0)


def test_tokens_of_models_with_a_price_do_not_count(house: CoreFixture) -> None:
    """There dollars say enough."""
    house.agents.update_agent("crab", {"daily_budget_tokens": 0})
    house.budget.settle_hold(_hold(house), 5, TokenUse(prompt=10**6, completion=10**6), tokens=2 * 10**6)
    assert house.budget.get_standing("crab").tokens == 0
    with pytest.raises(OverBudget):
        _hold_tokens(house, 1)


def test_dollars_hold_beside_tokens(house: CoreFixture) -> None:
    """A model without a price still can't spend more than the day has."""
    with pytest.raises(OverBudget, match="daily_budget_usd"):
        _hold_tokens(house, 1, micro=3_000_001)


# --- the day and the clock -------------------------------------------------------------------------------------

MORNING = 1_782_900_000.0  # 2026-07-01 10:00 UTC
DAY = 86_400.0


def test_a_clock_that_steps_refunds_nothing(house: CoreFixture) -> None:
    """Forty days back there is nothing left, and forty days on a new day, which is spent once as well."""
    clock = [MORNING]
    budget = Budget(house.store, now=lambda: clock[0])

    def spend() -> Hold:
        return budget.reserve(house.crab, KEY, None, provider="fake", model="fake-1", micro=3_000_000)

    def is_refused_at(moment: float) -> bool:
        clock[0] = moment
        with pytest.raises(OverBudget):
            budget.reserve(house.crab, KEY, None, provider="fake", model="fake-1", micro=1)
        return budget.get_today("crab").spent_micro == 3_000_000

    budget.settle_hold(spend(), 3_000_000, TokenUse())
    assert is_refused_at(MORNING - 40 * DAY)
    assert is_refused_at(MORNING)
    clock[0] = MORNING + 40 * DAY
    hold = spend()
    clock[0] = MORNING - 40 * DAY  # it steps while the call is under way
    budget.settle_hold(hold, 3_000_000, TokenUse())
    for moment in (MORNING - 40 * DAY, MORNING, MORNING + 40 * DAY, MORNING + DAY):
        assert is_refused_at(moment)
    with house.store.reading() as db:
        booked = db.execute("SELECT day, cost_micro, reserved_micro FROM spending_days ORDER BY day").fetchall()
    assert [tuple(row) for row in booked] == [("2026-07-01", 3_000_000, 0), ("2026-08-10", 3_000_000, 0)]


def test_how_the_day_stands(house: CoreFixture) -> None:
    """Spent, held and left, when it begins anew, and whether the agent has stopped."""
    clock = [MORNING]
    budget = Budget(house.store, now=lambda: clock[0])
    hold = budget.reserve(house.crab, KEY, None, provider="own", model="x", micro=1_000_000, tokens=500)
    budget.reserve(house.crab, KEY, None, provider="fake", model="y", micro=500_000)
    budget.settle_hold(hold, 250_000, TokenUse(prompt=1, completion=2), tokens=3)
    standing = budget.get_standing("crab")
    assert (standing.spent_micro, standing.held_micro, standing.budget_micro) == (250_000, 500_000, 3_000_000)
    assert (standing.left_micro, standing.tokens, standing.token_budget) == (2_250_000, 3, 2_000_000)
    assert standing.resets_at == MORNING + 14 * 3600
    assert not standing.is_stopped
    with pytest.raises(NotFound):
        budget.get_standing("nobody")


def test_it_has_stopped_when_the_rest_covers_no_call(house: CoreFixture) -> None:
    """Until a call passes again, a hold is freed, or the budget is raised."""
    hold = _hold(house, 2_900_000)
    with pytest.raises(OverBudget):
        _hold(house, 200_000)
    assert house.budget.get_standing("crab").is_stopped
    house.budget.release_hold(hold, "it was refused")
    assert not house.budget.get_standing("crab").is_stopped
    house.budget.settle_hold(_hold(house), 3_000_000, TokenUse())
    assert house.budget.get_standing("crab").is_stopped
    house.agents.update_agent("crab", {"daily_budget_usd": 4})
    assert not house.budget.get_standing("crab").is_stopped


def test_the_refusal_says_what_to_do(house: CoreFixture) -> None:
    """How much is spent and held, when it goes on, and how it goes on now."""
    house.budget.settle_hold(_hold(house), 1_500_000, TokenUse())
    _hold(house)
    with pytest.raises(OverBudget) as caught:
        _hold(house, 600_000)
    for part in ("$1.50 of $3.00 spent", "$1.00 held", "may cost $0.60", "midnight UTC", "agent set crab daily_budget"):
        assert part in caught.value.message


# --- what people hear ------------------------------------------------------------------------------------------


@pytest.fixture
def told(house: CoreFixture) -> Callable[[CubicleKey], list[str]]:
    """What a cubicle's person was told of the budget."""
    notices = Notifications(house.store, house.broker)
    house.budget._booked = BudgetNotifications(house.store, notices, house.agents, house.hooks).notify_booking
    return lambda key: [notice.text for notice in notices.list_recent(key) if notice.kind == "budget"]


def _spend(house: CoreFixture, micro: int, key: CubicleKey = KEY, turn: int | None = None) -> None:
    hold = house.budget.reserve(house.crab, key, turn, provider="fake", model="m", micro=micro)
    house.budget.settle_hold(hold, micro, TokenUse())


def test_people_hear_at_four_fifths_and_at_the_end_once(
    house: CoreFixture, told: Callable[[CubicleKey], list[str]]
) -> None:
    """Not before, not again, and what they may do is said to whoever may do it."""
    _spend(house, 2_390_000)
    assert told(KEY) == []
    with watching(house.broker) as news:
        for _ in range(5):
            _spend(house, 10_000)
        assert len(of_kind(heard(news), "notice")) == 1
    assert len(told(KEY)) == 1
    assert "four fifths" in told(KEY)[0]
    assert "daily_budget_usd" in told(KEY)[0]
    _spend(house, 560_000)
    for _ in range(3):
        with pytest.raises(OverBudget):
            _hold(house, 1)
    assert len(told(KEY)) == 2
    assert "commands still work" in told(KEY)[1]
    assert told(OTHER) == []


def test_whoever_crossed_it_and_the_operator_hear(house: CoreFixture, told: Callable[[CubicleKey], list[str]]) -> None:
    """A member can't raise it, so they are told who can; the operator hears without the turn."""
    turn = house.under_way(key=OTHER)
    _spend(house, 2_500_000, OTHER, turn.id)
    assert "The operator can raise it." in told(OTHER)[0]
    assert "agent set crab" in told(KEY)[0]
    _spend(house, 100_000)
    assert (len(told(KEY)), len(told(OTHER))) == (1, 1)


def test_one_that_ends_the_day_at_once_is_told_once(
    house: CoreFixture, told: Callable[[CubicleKey], list[str]]
) -> None:
    """No word at four fifths after that."""
    _spend(house, 3_000_000)
    house.agents.update_agent("crab", {"daily_budget_usd": 3.5})
    _spend(house, 1)
    assert len(told(KEY)) == 1


def test_what_calls_under_way_hold_is_not_used_up(house: CoreFixture, told: Callable[[CubicleKey], list[str]]) -> None:
    """A call that is refused beside them is no word worth; one that is refused without them is."""
    hold = _hold(house, 2_000_000)
    with pytest.raises(OverBudget):
        _hold(house, 2_000_000)
    assert told(KEY) == []
    house.budget.settle_hold(hold, 1_500_000, TokenUse())
    with pytest.raises(OverBudget):
        _hold(house, 2_000_000)
    assert "does not cover another call" in told(KEY)[0]


def test_tokens_are_told_of_too(house: CoreFixture, told: Callable[[CubicleKey], list[str]]) -> None:
    """With how many there are."""
    house.agents.update_agent("crab", {"daily_budget_tokens": 1_000})
    hold = _hold_tokens(house, 900)
    house.budget.settle_hold(hold, 1, TokenUse(prompt=800, completion=50), tokens=850)
    assert "850 of 1,000 tokens" in told(KEY)[0]


def test_an_agent_that_is_gone_is_booked_quietly(house: CoreFixture, told: Callable[[CubicleKey], list[str]]) -> None:
    """Its call ends after it does, and its person may be gone as well."""
    hold = house.budget.reserve(house.crab, CubicleKey("crab", 99), None, provider="fake", model="m", micro=3_000_000)
    house.budget.settle_hold(hold, 3_000_000, TokenUse())
    assert len(told(KEY)) == 1
    house.agents.update_agent("crab", {"daily_budget_usd": 9})
    last = _hold(house)
    house.agents.remove("crab")
    house.budget.settle_hold(last, 9_000_000, TokenUse())
    assert house.budget.get_today("crab").spent_micro == 12_000_000


def test_whoever_follows_hears_of_each_level_once(house: CoreFixture, told: Callable[[CubicleKey], list[str]]) -> None:
    """For each person who was told, once that is committed."""
    crossed: list[BudgetCrossed] = []
    house.hooks.budget_crossed.subscribe(crossed.append)
    _spend(house, 2_390_000)
    assert crossed == []
    _spend(house, 100_000, OTHER)
    day = house.budget.last_days(1)[0]
    assert set(crossed) == {BudgetCrossed("crab", key.user, day, NEARLY) for key in (KEY, OTHER)}
    _spend(house, 510_000)
    assert [(each.user, each.level) for each in crossed[2:]] == [(KEY.user, WHOLLY)]
    assert len(told(KEY)) == 2
