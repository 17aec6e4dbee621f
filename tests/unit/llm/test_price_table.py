"""``orchestrator.llm.price_table``: the person's own prices, changed while the install runs, over the API and in the
terminal.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orchestrator.__main__ import parser
from orchestrator.cli.context import Context
from orchestrator.core.config import load
from orchestrator.core.errors import BadInput, ConfigError, NotFound
from orchestrator.core.models import CubicleKey, TokenUse
from orchestrator.llm.price_table import Prices, words_of
from orchestrator.llm.pricing import Price, load_prices, price_of
from tests.support.app_fixture import AppFixture
from tests.support.core_fixture import CoreFixture, at_once, core_fixture
from tests.unit.conftest import Api, Browser

ROOT = Path(__file__).resolve().parents[3]
DAY = 1_782_900_000.0  # 2026-07-01
CHEAP = {"in": 1, "out": 2.5}


@pytest.fixture
def install(tmp_path: Path) -> Iterator[CoreFixture]:
    """Something to write the audit log in."""
    with core_fixture(tmp_path / "home") as made:
        yield made


@pytest.fixture
def prices(install: CoreFixture) -> Prices:
    """No own prices yet, on the first of July."""
    return Prices(install.home / "prices.json", install.store, now=lambda: DAY)


def _of(prices: Prices, provider: str, model: str) -> Price:
    return price_of(provider, model, prices.get_table())


def test_a_price_of_ones_own_wins_and_goes_again(prices: Prices, install: CoreFixture) -> None:
    """At once, for every spelling of the name; when it goes, ours counts again."""
    ours = _of(prices, "openai", "gpt-4o")
    row = prices.set_price("openai", "GPT-4o", CHEAP, by="ada (api)")
    assert (row.pattern, words_of(row.price)) == ("gpt-4o", "$1 in, $2.5 out")
    assert _of(prices, "openai", "gpt-4o") == row.price
    assert prices.list_own() == (row,)
    document = json.loads((install.home / "prices.json").read_text())
    assert (document["date"], prices.get_table().date) == ("2026-07-01", "2026-07-01")
    assert (install.home / "prices.json").stat().st_mode & 0o777 == 0o600
    prices.remove_price("openai", "gpt-4O", by="ada (api)")
    assert _of(prices, "openai", "gpt-4o") == ours
    assert [row.text for row in install.audited("prices.changed")] == [
        "The price of openai gpt-4o is $1 in, $2.5 out now. By ada (api).",
        "The price of openai gpt-4o was taken away. By ada (api).",
    ]


def test_the_last_that_was_set_comes_first(prices: Prices) -> None:
    """So an exact name wins over a pattern that was there before; setting it again replaces it."""
    prices.set_price("custom", "*", CHEAP, by="ada")
    prices.set_price("custom", "big", {"in": 9, "out": 9, "cached": 0.5, "written": 10}, by="ada")
    prices.set_price("custom", "big", {"in": 8, "out": 9}, by="ada")
    assert len(prices.list_own()) == 2
    assert _of(prices, "custom", "big").prompt_micro_per_mtok == 8_000_000
    assert _of(prices, "custom", "small").prompt_micro_per_mtok == 1_000_000


def test_what_else_the_file_says_stays(install: CoreFixture) -> None:
    """A fallback, and rows with prices for long prompts."""
    long = {"provider": "x", "model": "l", **CHEAP, "long": {"over": 10, "in": 2, "out": 3}}
    (install.home / "prices.json").write_text(json.dumps({"fallback": {"in": 7, "out": 7}, "prices": [long]}))
    prices = Prices(install.home / "prices.json")
    prices.set_price("custom", "a", CHEAP, by="ada")
    assert prices.get_table().fallback.prompt_micro_per_mtok == 7_000_000
    assert _of(prices, "x", "l").long_over == 10


def test_a_file_edited_by_hand_counts_at_once(prices: Prices, install: CoreFixture) -> None:
    """One that is broken changes nothing, is not written over, and counts as soon as it is fixed."""
    file = install.home / "prices.json"
    file.write_text(json.dumps({"prices": [{"provider": "custom", "model": "*", **CHEAP}]}))
    known = _of(prices, "custom", "x")
    assert known.known
    file.write_text("{")
    assert _of(prices, "custom", "x") == known
    for change in (
        partial(prices.set_price, "custom", "y", CHEAP, by="ada"),
        partial(prices.remove_price, "custom", "*", by="ada"),
    ):
        with pytest.raises(ConfigError):
            change()
    assert file.read_text() == "{"
    file.unlink()
    assert not _of(prices, "custom", "x").known


def test_a_broken_file_is_said_at_the_start(install: CoreFixture) -> None:
    """By its name."""
    (install.home / "prices.json").write_text("[]")
    with pytest.raises(ConfigError, match=r"prices\.json"):
        Prices(install.home / "prices.json")


@pytest.mark.parametrize(
    "price",
    [
        {},
        {"in": 1},
        {"in": -1, "out": 1},
        {"in": "1", "out": 1},
        {"in": float("nan"), "out": 1},
        {"in": 10**9, "out": 1},
        {"in": True, "out": 1},
        {"in": 1, "out": 1, "cached": -1},
        {"in": 1, "out": 1, "long": {}},
    ],
)
def test_what_is_no_price_is_refused(prices: Prices, install: CoreFixture, price: dict[str, Any]) -> None:
    """And nothing is written."""
    with pytest.raises(BadInput):
        prices.set_price("custom", "x", price, by="ada")
    with pytest.raises(BadInput):
        prices.set_price(" ", "x", CHEAP, by="ada")
    assert not (install.home / "prices.json").exists()
    with pytest.raises(NotFound):
        prices.remove_price("custom", "x", by="ada")


def test_many_changes_at_once_are_all_kept(prices: Prices) -> None:
    """While others read; the file is whole at every moment."""
    deeds: list[Callable[[], Any]] = [partial(prices.set_price, "custom", f"m{n}", CHEAP, by="ada") for n in range(10)]
    results = at_once(*deeds, *[partial(load_prices, prices._file)] * 10, *[prices.get_table] * 10)
    assert [result for result in results if isinstance(result, Exception)] == []
    assert {row.pattern for row in prices.list_own()} == {f"m{n}" for n in range(10)}


# --- over the API and in the terminal --------------------------------------------------------------------------


def test_prices_over_the_api(webapp: AppFixture, operator: Api) -> None:
    """Listed with one's own first, set and taken away, with models whose names hold slashes."""
    row = operator.call("PUT", "/prices/openrouter/maker/model-1", CHEAP)
    assert (row.status_code, row.get_json()["model"], row.get_json()["is_own"]) == (200, "maker/model-1", True)
    listed = operator.get("/prices")
    assert listed["prices"][0] == row.get_json()
    assert not listed["prices"][1]["is_own"]
    assert listed["fallback"]["in"] == 5
    assert operator.refused("PUT", "/prices/x/y", {"in": 1})[0] == 400
    assert operator.refused("PUT", "/prices/x/y", {**CHEAP, "long": 1})[0] == 400
    assert operator.call("DELETE", "/prices/openrouter/maker/model-1").status_code == 204
    assert operator.refused("DELETE", "/prices/openrouter/maker/model-1")[0] == 404
    [added, removed] = webapp.services.audit.search_records(kind="prices.changed")[::-1]
    assert "By ada (api)" in added.text
    assert "taken away" in removed.text


def test_models_without_a_price_are_listed(webapp: AppFixture, operator: Api) -> None:
    """With how often they were called, until they have one."""
    agent = webapp.services.agents.get("crab")
    hold = webapp.services.budget.reserve(
        agent, CubicleKey("crab", 1), None, provider="custom", model="own", micro=1, tokens=5
    )
    webapp.services.budget.book_hold(hold, TokenUse(), "nobody said")
    [unknown] = operator.get("/prices")["unknown"]
    assert (unknown["provider"], unknown["model"], unknown["calls"], unknown["tokens"]) == ("custom", "own", 1, 5)
    operator.call("PUT", "/prices/custom/own", CHEAP)
    assert operator.get("/prices")["unknown"] == []


def test_the_budget_over_the_api_and_in_the_terminal(
    webapp: AppFixture, operator: Api, member: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same numbers everywhere, for members too."""
    services = webapp.services
    hold = services.budget.reserve(
        services.agents.get("crab"), CubicleKey("crab", 1), None, provider="p", model="m", micro=500_000
    )
    services.budget.settle_hold(hold, 250_000, TokenUse())
    budget = member.get("/agents/crab/budget")
    assert (budget["spent_usd"], budget["held_usd"], budget["budget_usd"], budget["left_usd"]) == (0.25, 0, 5, 4.75)
    assert (budget["tokens"], budget["token_budget"], budget["is_stopped"]) == (0, 2_000_000, False)
    assert operator.get("/agents/crab")["budget"] == budget
    assert operator.refused("GET", "/agents/nobody/budget")[0] == 404
    for arguments in (("budget",), ("budget", "crab")):
        said = hermit(webapp, capsys, *arguments)
        assert "crab   $0.2500  $0.0000  $5.0000  $4.7500  0 of 2,000,000" in said
    assert json.loads(hermit(webapp, capsys, "budget", "--json"))["budgets"][0]["spent_usd"] == 0.25


def test_what_people_may_spend_over_the_api_on_pages_and_in_the_terminal(
    webapp: AppFixture, operator: Api, member: Api, browser: Browser, capsys: pytest.CaptureFixture[str]
) -> None:
    """An operator sets it; the person sees it for themselves and can't change it; everybody sees when it is used up."""
    services, user = webapp.services, member.user.id
    said = hermit(webapp, capsys, "user", "set", member.user.name, "daily_budget_usd=0.5", "monthly_budget_usd=8")
    assert "is changed" in said
    hold = services.budget.reserve(
        services.agents.get("crab"), CubicleKey("crab", user), None, provider="fake", model="fake-1", micro=500_000
    )
    services.budget.settle_hold(hold, 500_000, TokenUse())
    me = member.get("/me")
    assert (me["daily_budget_usd"], me["monthly_budget_usd"]) == (0.5, 8)
    assert me["budget"] | {"resets_at": "", "month_resets_at": ""} == {
        "today_usd": 0.5, "month_usd": 0.5, "left_usd": 0, "resets_at": "", "month_resets_at": "", "is_stopped": True,
    }  # fmt: skip
    assert member.refused("PATCH", "/me", {"time_zone": "UTC", "daily_budget_usd": 9})[0] == 400
    assert member.refused("PATCH", f"/users/{user}", {"daily_budget_usd": 9})[0] == 403
    row = next(line for line in hermit(webapp, capsys, "budget").splitlines() if line.startswith(member.user.name))
    assert row.split() == [member.user.name, "$0.5000", "$0.5000", "$0.5000", "$8.0000", "$0.0000,", "stopped"]
    assert "budget used up" in browser.client.get("/people").get_data(as_text=True)
    own = member.client.get("/you", headers={"Authorization": f"Bearer {member.token}"}).get_data(as_text=True)
    assert "$0.50 of $0.50" in own
    assert "Used up." in own
    hermit(webapp, capsys, "user", "set", member.user.name, "daily_budget_usd=", "monthly_budget_usd=")
    assert member.get("/me")["budget"]["left_usd"] is None
    assert operator.get("/me")["daily_budget_usd"] is None


def test_prices_in_the_terminal(webapp: AppFixture, capsys: pytest.CaptureFixture[str]) -> None:
    """Set, listed and taken away while the install runs, which knows at once."""
    assert hermit(webapp, capsys, "prices", "set", "custom", "llama-*", "in=0", "out=0.5") == (
        "custom llama-* costs $0 in and $0.5 out per million tokens.\n"
    )
    assert price_of("custom", "llama-4", webapp.services.prices.get_table()).known
    said = hermit(webapp, capsys, "prices", "list")
    assert "custom    llama-*          $0  $0.5  $0      you" in said
    assert "any       without a price" in said
    assert len(hermit(webapp, capsys, "prices", "list", "--all").splitlines()) > 100
    hermit(webapp, capsys, "prices", "rm", "custom", "llama-*")
    assert not price_of("custom", "llama-4", webapp.services.prices.get_table()).known


@pytest.mark.parametrize("given", ["in=1", "in=1 out=x", "in=1 out=-1", "in=1 out=nan", "in=1 out=inf", "in=1 up=2"])
def test_unusable_prices_in_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str], given: str) -> None:
    """One clear line, and nothing is written."""
    with pytest.raises(BadInput) as caught:
        resting(tmp_path, capsys, "prices", "set", "custom", "x", *given.split())
    assert "\n" not in caught.value.message
    assert not (tmp_path / "prices.json").exists()


def test_prices_in_the_terminal_while_the_install_rests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same commands, for the next start."""
    resting(tmp_path, capsys, "prices", "set", "custom", "x", "in=1", "out=2", "cached=0.1")
    assert "custom    x                $1  $2   $0.1    you" in resting(tmp_path, capsys, "prices", "list")
    assert load_prices(tmp_path / "prices.json").rows[0].price.cached_micro_per_mtok == 100_000
    resting(tmp_path, capsys, "prices", "rm", "custom", "x")
    with pytest.raises(NotFound):
        resting(tmp_path, capsys, "prices", "rm", "custom", "x")


def hermit(webapp: AppFixture, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command prints."""
    options = parser().parse_args(list(arguments))
    capsys.readouterr()
    assert options.run(Context(ROOT, {}, webapp.services.settings), options) == 0
    return capsys.readouterr().out


def resting(home: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command prints while nothing runs."""
    options = parser().parse_args(list(arguments))
    capsys.readouterr()
    assert options.run(Context(ROOT, {}, load({"HERMIT_HOME": str(home)}, home)), options) == 0
    return capsys.readouterr().out
