"""What calls through the proxy cost: held before, booked after, and never less than is certain."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.core.errors import OverBudget, UpstreamFailed
from orchestrator.core.models import TokenUse
from orchestrator.llm.price_table import Prices
from tests.support.core_fixture import CoreFixture, at_once, core_fixture
from tests.support.fakes import Reply, cut_off, failing
from tests.support.proxy_fixture import line_of, swallow


@pytest.fixture
def install(tmp_path: Path) -> Iterator[CoreFixture]:
    """The rules over a fresh database."""
    with core_fixture(tmp_path / "home") as made:
        yield made


def test_over_budget_nothing_is_sent(install: CoreFixture) -> None:
    """The person is told what it would take."""
    install.agents.update_agent("crab", {"daily_budget_usd": 0.000001})
    line = line_of(install)
    with pytest.raises(OverBudget):
        line.ask()
    assert line.fake.requests == []


def test_fifty_calls_at_once_with_a_budget_for_three(install: CoreFixture) -> None:
    """The provider sees exactly three."""
    line = line_of(install, Reply(), Reply(hold_head=True))
    line.ask()
    with install.store.reading() as db:
        hold = db.execute("SELECT reserved_micro FROM spending").fetchone()[0]
    install.agents.update_agent("crab", {"daily_budget_usd": (line.spent()[0] + 3.5 * hold) / 1e6})
    refused: list[Any] = []
    crowd = threading.Thread(target=lambda: at_once(*[lambda: refused.append(swallow(line.ask))] * 50))
    crowd.start()
    while len(refused) < 47 and crowd.is_alive():
        crowd.join(0.01)
    assert all(isinstance(result, OverBudget) for result in refused)
    line.fake.release.set()
    crowd.join(20)
    assert len(line.fake.requests) == 1 + 3
    assert line.spent()[1] == 0


@pytest.mark.parametrize(
    "use",
    [TokenUse(), TokenUse(prompt=100), TokenUse(completion=5), TokenUse(cached=10)],
)
def test_without_a_bill_the_whole_hold_is_paid(install: CoreFixture, use: TokenUse) -> None:
    """Missing counts are never free."""
    line = line_of(install, Reply(use=use))
    line.ask()
    with install.store.reading() as db:
        row = db.execute("SELECT reserved_micro, cost_micro FROM spending").fetchone()
    assert row["cost_micro"] == row["reserved_micro"] == line.spent()[0]


def test_a_broken_stream_costs_its_hold(install: CoreFixture) -> None:
    """Each try that broke off is kept whole."""
    line = line_of(install, cut_off("hel", may_retry=True), Reply())
    assert line.ask()["output"] == '{"message": "hello"}'
    with install.store.reading() as db:
        assert [row["state"] for row in db.execute("SELECT state FROM spending ORDER BY id")] == ["kept", "settled"]
    assert line.spent()[1] == 0


@pytest.mark.parametrize(("may_have_cost", "state"), [(False, "released"), (True, "kept")])
def test_a_refusal_costs_nothing_unless_it_may_have(install: CoreFixture, may_have_cost: bool, state: str) -> None:  # noqa: FBT001 - a table's column
    """What the upstream says of the failure decides."""
    line = line_of(install, failing(may_retry=False, may_have_cost=may_have_cost))
    with pytest.raises(UpstreamFailed):
        line.ask()
    with install.store.reading() as db:
        assert [row["state"] for row in db.execute("SELECT state FROM spending")] == [state]


def test_fifty_calls_at_once_with_tokens_for_three(install: CoreFixture) -> None:
    """A model without a price: the provider sees exactly three, however many dollars there are."""
    line = line_of(install, Reply(), Reply(hold_head=True))
    install.agents.update_agent("crab", {"daily_budget_usd": 1_000})
    line.ask()
    with install.store.reading() as db:
        hold = db.execute("SELECT reserved_tokens FROM spending").fetchone()[0]
    assert hold > 4_096
    install.agents.update_agent("crab", {"daily_budget_tokens": 110 + 3 * hold + hold // 2})
    refused: list[Any] = []
    crowd = threading.Thread(target=lambda: at_once(*[lambda: refused.append(swallow(line.ask))] * 50))
    crowd.start()
    while len(refused) < 47 and crowd.is_alive():
        crowd.join(0.01)
    assert all("daily_budget_tokens" in result.message for result in refused)
    line.fake.release.set()
    crowd.join(20)
    assert len(line.fake.requests) == 1 + 3
    assert install.budget.get_standing("crab").tokens == 4 * 110


NO_COUNTS: dict[str, Any] = {
    "negative": -1,
    "NaN": float("nan"),
    "without end": float("inf"),
    "a text": "10",
    "a fraction": 1.5,
    "truth": True,
    "huge": 10**30,
    "a list": [1],
    "nothing": None,
}


@pytest.mark.parametrize("odd", NO_COUNTS.values(), ids=NO_COUNTS)
@pytest.mark.parametrize("field", ["prompt", "completion", "both"])
def test_a_bill_that_can_not_be_true_costs_the_hold(install: CoreFixture, odd: Any, field: str) -> None:
    """In dollars and in tokens; the day's sums stay whole numbers that only grow."""
    counts = {
        "prompt": 100,
        "completion": 10,
        **dict.fromkeys(("prompt", "completion") if field == "both" else (field,), odd),
    }
    line = line_of(install, Reply(use=TokenUse(**counts)))
    line.ask()
    with install.store.reading() as db:
        row = db.execute("SELECT reserved_micro, cost_micro, reserved_tokens, cost_tokens FROM spending").fetchone()
    assert row["cost_micro"] == row["reserved_micro"] == line.spent()[0] > 0
    assert row["cost_tokens"] == row["reserved_tokens"] == install.budget.get_today("crab").spent_tokens > 0


@pytest.mark.parametrize("odd", [value for value in NO_COUNTS.values() if value is not None])
def test_a_figure_in_dollars_that_can_not_be_true_is_left_out(install: CoreFixture, odd: Any) -> None:
    """Then the counts are charged at our price; the same goes for odd counts of the cache."""
    plain, strange = (
        line_of(install, Reply(use=TokenUse(prompt=1_000, completion=100))),
        TokenUse(1_000, 100, odd, odd, odd),
    )
    plain.ask()
    cost = plain.spent()[0]
    line_of(install, Reply(use=strange)).ask()
    assert plain.spent() == (2 * cost, 0)


def test_the_providers_own_figure_wins(install: CoreFixture) -> None:
    """Above and below the counts at our price, and above the hold, which is noted."""
    line = line_of(
        install, Reply(use=TokenUse(100, 10, cost_micro=7)), Reply(use=TokenUse(100, 10, cost_micro=4_000_000))
    )
    line.ask()
    assert line.spent() == (7, 0)
    line.ask()
    assert line.spent() == (4_000_007, 0)
    assert ["held" in row.text for row in install.audited("model.call")] == [False, True]


def test_more_than_was_held_is_booked_whole(install: CoreFixture) -> None:
    """A provider that counts more than we thought possible is paid, and the day is over."""
    line = line_of(install, Reply(use=TokenUse(prompt=900_000_000, completion=10)))
    line.ask()
    with pytest.raises(OverBudget):
        line.ask()
    assert len(line.fake.requests) == 1


def test_hanging_up_early_is_no_way_to_save(install: CoreFixture) -> None:
    """A hundred calls that are cut after the first token: each costs its hold, until nothing is left."""
    install.agents.update_agent("crab", {"daily_budget_usd": 1})
    line = line_of(install, cut_off("h", may_retry=False))
    ends = [swallow(line.ask) for _ in range(100)]
    assert isinstance(ends[0], UpstreamFailed)
    assert isinstance(ends[-1], OverBudget)
    seen, (spent, held) = len(line.fake.requests), line.spent()
    assert 0 < seen < 20
    assert held == 0
    assert spent <= 1_000_000 < spent * (seen + 1) / seen


def test_a_price_that_is_set_counts_from_the_next_call(install: CoreFixture, tmp_path: Path) -> None:
    """No restart: then the model has a price, its tokens are counted no more, and it costs what was said."""
    prices = Prices(tmp_path / "prices.json", install.store)
    line = line_of(install, prices=prices.get_table)
    line.ask()
    before, tokens = line.spent()[0], install.budget.get_standing("crab").tokens
    assert [(model.provider, model.model, model.calls) for model in prices.list_unknown()] == [("fake", "fake-1", 1)]
    prices.set_price("fake", "Fake-1", {"in": 1, "out": 2}, by="ada")
    line.ask()
    assert line.spent()[0] - before == 100 * 1 + 10 * 2
    assert install.budget.get_standing("crab").tokens == tokens
    assert prices.list_unknown() == []
