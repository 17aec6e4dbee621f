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
from orchestrator.llm.budget import Budget, Hold
from orchestrator.llm.budget_notifications import NEARLY, WHOLLY, BudgetNotifications
from orchestrator.llm.dollars import format_dollars
from orchestrator.llm.ledger_rows import SpendingDay
from tests.support.core_fixture import KEY, OTHER, CoreFixture, at_once, core_fixture, heard, of_kind, watching


@pytest.fixture
def install(tmp_path: Path) -> Iterator[CoreFixture]:
    """An agent with $3.00 a day."""
    with core_fixture(tmp_path / "home", daily_budget_usd=3) as made:
        yield made


def _hold(install: CoreFixture, micro: int = 1_000_000, turn: int | None = None) -> Hold:
    return install.budget.reserve(install.crab, KEY, turn, provider="fake", model="fake-1", micro=micro)


def _day(install: CoreFixture) -> tuple[int, int]:
    day = install.budget.get_today("crab")
    return day.spent_micro, day.reserved_micro


def test_fifty_calls_at_once_with_a_budget_for_three(install: CoreFixture) -> None:
    """Exactly three are let through, all others are told what it would take."""
    results = at_once(*[partial(_hold, install)] * 50)
    assert sum(isinstance(result, Hold) for result in results) == 3
    refusals = [result for result in results if isinstance(result, OverBudget)]
    assert len(refusals) == 47
    assert "daily_budget_usd" in refusals[0].message
    assert _day(install) == (0, 3_000_000)


def test_the_budget_is_the_agents_over_all_people(install: CoreFixture) -> None:
    """Two cubicles of one agent share it."""
    _hold(install, 2_500_000)
    with pytest.raises(OverBudget):
        install.budget.reserve(install.crab, OTHER, None, provider="fake", model="fake-1", micro=600_000)


def test_settling_books_the_cost_and_frees_the_rest(install: CoreFixture) -> None:
    """What was held above the cost can be held again."""
    hold = _hold(install, 3_000_000)
    install.budget.settle_hold(hold, 10_000, TokenUse(prompt=100, completion=20))
    assert _day(install) == (10_000, 0)
    _hold(install, 2_990_000)
    with pytest.raises(OverBudget):
        _hold(install, 1)


def test_a_cost_above_the_hold_is_booked_whole(install: CoreFixture) -> None:
    """The bill is the bill; the next call finds nothing left."""
    install.budget.settle_hold(_hold(install), 5_000_000, TokenUse(prompt=1, completion=1))
    assert _day(install) == (5_000_000, 0)
    with pytest.raises(OverBudget):
        _hold(install, 1)


def test_an_unknown_end_costs_the_whole_hold(install: CoreFixture) -> None:
    """Kept, not given back."""
    install.budget.book_hold(_hold(install), TokenUse(), "the answer broke off")
    assert _day(install) == (1_000_000, 0)


def test_a_refused_call_costs_nothing(install: CoreFixture) -> None:
    """Released."""
    install.budget.release_hold(_hold(install), "it was refused")
    assert _day(install) == (0, 0)


def test_a_hold_ends_once(install: CoreFixture) -> None:
    """Whatever comes second changes nothing, also from twenty threads."""
    hold = _hold(install)
    ends = [
        partial(install.budget.settle_hold, hold, 7, TokenUse(prompt=1, completion=1)),
        partial(install.budget.release_hold, hold, "x"),
    ]
    at_once(*ends * 10)
    assert _day(install) in ((7, 0), (0, 0))
    assert len(install.audited("model.call")) == 1


def test_what_was_under_way_at_a_death_is_booked_whole(tmp_path: Path) -> None:
    """Spent money stays spent; reconciling again changes nothing."""
    home = tmp_path / "home"
    with core_fixture(home, daily_budget_usd=3) as install:
        install.budget.settle_hold(_hold(install), 5, TokenUse(prompt=1, completion=1))
        _hold(install)
    for _ in range(2):
        with core_fixture(home) as install:
            install.budget.reconcile()
            assert _day(install) == (1_000_005, 0)


def test_the_day_is_that_of_the_hold(install: CoreFixture) -> None:
    """A call over midnight is booked on the day on which it was held."""
    hold = _hold(install)
    with install.store.writing() as db:
        db.execute("UPDATE spending SET day = '2000-01-01'")
        db.execute("UPDATE spending_days SET day = '2000-01-01'")
    install.budget.settle_hold(hold, 500, TokenUse(prompt=1, completion=1))
    assert _day(install) == (0, 0)
    with install.store.reading() as db:
        assert tuple(db.execute("SELECT day, cost_micro, reserved_micro FROM spending_days").fetchone()) == (
            "2000-01-01",
            500,
            0,
        )


def test_a_turn_knows_what_it_cost(install: CoreFixture) -> None:
    """Kept holds count, released ones do not."""
    turn = install.under_way()
    install.budget.settle_hold(_hold(install, turn=turn.id), 100, TokenUse(prompt=30, completion=4))
    install.budget.book_hold(_hold(install, 200, turn=turn.id), TokenUse(prompt=5), "it was cut off")
    install.budget.release_hold(_hold(install, turn=turn.id), "it was refused")
    found = install.turns.get(turn.id)
    assert (found.cost_micro, found.tokens) == (300, 39)


def test_no_budget_is_no_call_but_a_free_one_passes(install: CoreFixture) -> None:
    """With 0 dollars only what costs nothing goes through."""
    install.agents.update_agent("crab", {"daily_budget_usd": 0})
    with pytest.raises(OverBudget):
        _hold(install, 1)
    assert _hold(install, 0).micro == 0


def test_an_unknown_agent_has_spent_nothing(install: CoreFixture) -> None:
    """Asking is no error."""
    assert install.budget.get_today("nobody") == SpendingDay(0, 0)


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


def _hold_tokens(install: CoreFixture, tokens: int, micro: int = 1) -> Hold:
    return install.budget.reserve(install.crab, KEY, None, provider="own", model="x", micro=micro, tokens=tokens)


def test_fifty_calls_at_once_with_tokens_for_three(install: CoreFixture) -> None:
    """Exactly three are let through; the others are told what it would take, a price among it."""
    install.agents.update_agent("crab", {"daily_budget_tokens": 3_500})
    results = at_once(*[partial(_hold_tokens, install, 1_000)] * 50)
    assert sum(isinstance(result, Hold) for result in results) == 3
    refusals = [result.message for result in results if isinstance(result, OverBudget)]
    assert len(refusals) == 47
    assert all("daily_budget_tokens" in message and "prices set own x" in message for message in refusals)
    assert install.budget.get_standing("crab").tokens == 3_000


def test_tokens_are_booked_as_money_is(install: CoreFixture) -> None:
    """Settled at the count, kept whole, released to nothing; a death keeps what was held."""
    install.budget.settle_hold(_hold_tokens(install, 100), 1, TokenUse(prompt=30, completion=10), tokens=40)
    install.budget.book_hold(_hold_tokens(install, 100), TokenUse(), "the answer broke off")
    install.budget.release_hold(_hold_tokens(install, 100), "it was refused")
    _hold_tokens(install, 7)
    install.budget.reconcile()
    day = install.budget.get_today("crab")
    assert (day.spent_tokens, day.reserved_tokens) == (147, 0)


def test_tokens_of_models_with_a_price_do_not_count(install: CoreFixture) -> None:
    """There dollars say enough."""
    install.agents.update_agent("crab", {"daily_budget_tokens": 0})
    install.budget.settle_hold(_hold(install), 5, TokenUse(prompt=10**6, completion=10**6), tokens=2 * 10**6)
    assert install.budget.get_standing("crab").tokens == 0
    with pytest.raises(OverBudget):
        _hold_tokens(install, 1)


def test_dollars_hold_beside_tokens(install: CoreFixture) -> None:
    """A model without a price still can't spend more than the day has."""
    with pytest.raises(OverBudget, match="daily_budget_usd"):
        _hold_tokens(install, 1, micro=3_000_001)


# --- the day and the clock -------------------------------------------------------------------------------------

MORNING = 1_782_900_000.0  # 2026-07-01 10:00 UTC
DAY = 86_400.0


def test_a_clock_that_steps_refunds_nothing(install: CoreFixture) -> None:
    """Forty days back there is nothing left, and forty days on a new day, which is spent once as well."""
    clock = [MORNING]
    budget = Budget(install.store, now=lambda: clock[0])

    def spend() -> Hold:
        return budget.reserve(install.crab, KEY, None, provider="fake", model="fake-1", micro=3_000_000)

    def is_refused_at(moment: float) -> bool:
        clock[0] = moment
        with pytest.raises(OverBudget):
            budget.reserve(install.crab, KEY, None, provider="fake", model="fake-1", micro=1)
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
    with install.store.reading() as db:
        booked = db.execute("SELECT day, cost_micro, reserved_micro FROM spending_days ORDER BY day").fetchall()
    assert [tuple(row) for row in booked] == [("2026-07-01", 3_000_000, 0), ("2026-08-10", 3_000_000, 0)]


def test_how_the_day_stands(install: CoreFixture) -> None:
    """Spent, held and left, when it begins again, and whether the agent has stopped."""
    clock = [MORNING]
    budget = Budget(install.store, now=lambda: clock[0])
    hold = budget.reserve(install.crab, KEY, None, provider="own", model="x", micro=1_000_000, tokens=500)
    budget.reserve(install.crab, KEY, None, provider="fake", model="y", micro=500_000)
    budget.settle_hold(hold, 250_000, TokenUse(prompt=1, completion=2), tokens=3)
    standing = budget.get_standing("crab")
    assert (standing.spent_micro, standing.held_micro, standing.budget_micro) == (250_000, 500_000, 3_000_000)
    assert (standing.left_micro, standing.tokens, standing.token_budget) == (2_250_000, 3, 2_000_000)
    assert standing.resets_at == MORNING + 14 * 3600
    assert not standing.is_stopped
    with pytest.raises(NotFound):
        budget.get_standing("nobody")


def test_it_has_stopped_when_the_rest_covers_no_call(install: CoreFixture) -> None:
    """Until a call passes again, a hold is freed, or the budget is raised."""
    hold = _hold(install, 2_900_000)
    with pytest.raises(OverBudget):
        _hold(install, 200_000)
    assert install.budget.get_standing("crab").is_stopped
    install.budget.release_hold(hold, "it was refused")
    assert not install.budget.get_standing("crab").is_stopped
    install.budget.settle_hold(_hold(install), 3_000_000, TokenUse())
    assert install.budget.get_standing("crab").is_stopped
    install.agents.update_agent("crab", {"daily_budget_usd": 4})
    assert not install.budget.get_standing("crab").is_stopped


def test_the_refusal_says_what_to_do(install: CoreFixture) -> None:
    """How much is spent and held, when it goes on, and how it goes on now."""
    install.budget.settle_hold(_hold(install), 1_500_000, TokenUse())
    _hold(install)
    with pytest.raises(OverBudget) as caught:
        _hold(install, 600_000)
    for part in ("$1.50 of $3.00 spent", "$1.00 held", "may cost $0.60", "midnight UTC", "agent set crab daily_budget"):
        assert part in caught.value.message


# --- what people hear ------------------------------------------------------------------------------------------


@pytest.fixture
def told(install: CoreFixture) -> Callable[[CubicleKey], list[str]]:
    """What a cubicle's person was told of the budget."""
    notifications = Notifications(install.store, install.broker)
    install.budget._booked = BudgetNotifications(
        install.store, notifications, install.agents, install.hooks
    ).notify_booking
    return lambda key: [notice.text for notice in notifications.list_recent(key) if notice.kind == "budget"]


def _spend(install: CoreFixture, micro: int, key: CubicleKey = KEY, turn: int | None = None) -> None:
    hold = install.budget.reserve(install.crab, key, turn, provider="fake", model="m", micro=micro)
    install.budget.settle_hold(hold, micro, TokenUse())


def test_people_hear_at_four_fifths_and_at_the_end_once(
    install: CoreFixture, told: Callable[[CubicleKey], list[str]]
) -> None:
    """Not before, not again, and what they may do is said to whoever may do it."""
    _spend(install, 2_390_000)
    assert told(KEY) == []
    with watching(install.broker) as news:
        for _ in range(5):
            _spend(install, 10_000)
        assert len(of_kind(heard(news), "notice")) == 1
    assert len(told(KEY)) == 1
    assert "four fifths" in told(KEY)[0]
    assert "daily_budget_usd" in told(KEY)[0]
    _spend(install, 560_000)
    for _ in range(3):
        with pytest.raises(OverBudget):
            _hold(install, 1)
    assert len(told(KEY)) == 2
    assert "commands still work" in told(KEY)[1]
    assert told(OTHER) == []


def test_whoever_crossed_it_and_the_operator_hear(
    install: CoreFixture, told: Callable[[CubicleKey], list[str]]
) -> None:
    """A member can't raise it, so they are told who can; the operator hears without the turn."""
    turn = install.under_way(key=OTHER)
    _spend(install, 2_500_000, OTHER, turn.id)
    assert "The operator can raise it." in told(OTHER)[0]
    assert "agent set crab" in told(KEY)[0]
    _spend(install, 100_000)
    assert (len(told(KEY)), len(told(OTHER))) == (1, 1)


def test_one_that_ends_the_day_at_once_is_told_once(
    install: CoreFixture, told: Callable[[CubicleKey], list[str]]
) -> None:
    """No word at four fifths after that."""
    _spend(install, 3_000_000)
    install.agents.update_agent("crab", {"daily_budget_usd": 3.5})
    _spend(install, 1)
    assert len(told(KEY)) == 1


def test_what_calls_under_way_hold_is_not_used_up(
    install: CoreFixture, told: Callable[[CubicleKey], list[str]]
) -> None:
    """A call that is refused beside them is no word worth; one that is refused without them is."""
    hold = _hold(install, 2_000_000)
    with pytest.raises(OverBudget):
        _hold(install, 2_000_000)
    assert told(KEY) == []
    install.budget.settle_hold(hold, 1_500_000, TokenUse())
    with pytest.raises(OverBudget):
        _hold(install, 2_000_000)
    assert "does not cover another call" in told(KEY)[0]


def test_tokens_are_told_of_too(install: CoreFixture, told: Callable[[CubicleKey], list[str]]) -> None:
    """With how many there are."""
    install.agents.update_agent("crab", {"daily_budget_tokens": 1_000})
    hold = _hold_tokens(install, 900)
    install.budget.settle_hold(hold, 1, TokenUse(prompt=800, completion=50), tokens=850)
    assert "850 of 1,000 tokens" in told(KEY)[0]


def test_an_agent_that_is_gone_is_booked_quietly(install: CoreFixture, told: Callable[[CubicleKey], list[str]]) -> None:
    """Its call ends after it does, and its person may be gone as well."""
    hold = install.budget.reserve(
        install.crab, CubicleKey("crab", 99), None, provider="fake", model="m", micro=3_000_000
    )
    install.budget.settle_hold(hold, 3_000_000, TokenUse())
    assert len(told(KEY)) == 1
    install.agents.update_agent("crab", {"daily_budget_usd": 9})
    last = _hold(install)
    install.agents.remove("crab")
    install.budget.settle_hold(last, 9_000_000, TokenUse())
    assert install.budget.get_today("crab").spent_micro == 12_000_000


def test_whoever_follows_hears_of_each_level_once(
    install: CoreFixture, told: Callable[[CubicleKey], list[str]]
) -> None:
    """For each person who was told, once that is committed."""
    crossed: list[BudgetCrossed] = []
    install.hooks.budget_crossed.subscribe(crossed.append)
    _spend(install, 2_390_000)
    assert crossed == []
    _spend(install, 100_000, OTHER)
    day = install.budget.last_days(1)[0]
    assert set(crossed) == {BudgetCrossed("crab", key.user, day, NEARLY) for key in (KEY, OTHER)}
    _spend(install, 510_000)
    assert [(each.user, each.level) for each in crossed[2:]] == [(KEY.user, WHOLLY)]
    assert len(told(KEY)) == 2
