"""Prices: the table, the bound that is reserved, and what is charged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.core.errors import ConfigError
from orchestrator.core.models import TokenUse
from orchestrator.llm.pricing import TABLE_FILE, Price, PriceTable, compute_cost, load_prices, price_of, reserve_for

TABLE = load_prices()
DOLLAR = 1_000_000


def test_the_table_names_its_date_and_sources() -> None:
    """Whoever doubts a price finds when and where it was read."""
    document = json.loads(TABLE_FILE.read_text())
    assert document["date"] == TABLE.date
    assert document["currency"] == "USD"
    assert {row["provider"] for row in document["prices"]} - document["sources"].keys() == {"ollama", "rehearsal"}


def test_no_row_is_hidden_behind_another() -> None:
    """For the name that is its own pattern each row's price is found."""
    hidden = [
        row.pattern for row in TABLE.rows if price_of(row.provider, row.pattern.replace("*", ""), TABLE) != row.price
    ]
    assert hidden == []


@pytest.mark.parametrize(
    ("provider", "model", "prompt", "completion"),
    [
        ("anthropic", "claude-sonnet-4-5-20250929", 3, 15),
        ("anthropic", "Claude-Sonnet-4.5", 3, 15),
        ("anthropic", "claude-opus-4-1", 15, 75),
        ("anthropic", "claude-opus-4-5", 5, 25),
        ("openai", "gpt-4o-mini-2024-07-18", 0.15, 0.6),
        ("openai", "gpt-4o", 2.5, 10),
        ("openai", "gpt-5-mini", 0.25, 2),
        ("openai", "gpt-5", 1.25, 10),
        ("openai", "gpt-5-2025-08-07", 1.25, 10),
        ("openai", "gpt-5.2-2025-12-11", 1.75, 14),
        ("openai", "gpt-4.1-2025-04-14", 2, 8),
        ("openai", "gpt-4-1106-preview", 10, 30),
        ("anthropic", "claude-fable-5-20260601", 10, 50),
        ("gemini", "gemini-2.5-pro", 1.25, 10),
        ("groq", "llama-3.3-70b-versatile", 0.59, 0.79),
        ("openrouter", "anthropic/claude-sonnet-4.5", 3, 15),
        ("openrouter", "openai/gpt-4o-mini", 0.15, 0.6),
        ("openrouter", "google/gemini-2.5-flash:nitro", 0.3, 2.5),
        ("openrouter", "x-ai/grok-4", 3, 15),
        ("openrouter", "meta-llama/llama-3.3-70b:free", 0, 0),
        ("ollama", "anything:7b", 0, 0),
        ("rehearsal", "", 0, 0),
    ],
)
def test_known_prices(provider: str, model: str, prompt: float, completion: float) -> None:
    """Names are found however they are spelled, through OpenRouter too."""
    price = price_of(provider, model, TABLE)
    assert price.known
    assert (price.prompt_micro_per_mtok, price.completion_micro_per_mtok) == (prompt * DOLLAR, completion * DOLLAR)


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("custom", "gpt-4o"),
        ("custom", ""),
        ("openai", "gpt-99"),
        ("openrouter", "somebody/new"),
        ("openrouter", ""),
        ("unheard-of", "rehearsal"),
        ("openai", "rehearsal:free"),
    ],
)
def test_an_unknown_model_is_never_free(provider: str, model: str) -> None:
    """What no row knows costs the stated fallback."""
    price = price_of(provider, model, TABLE)
    assert not price.known
    assert (price.prompt_micro_per_mtok, price.completion_micro_per_mtok) == (5 * DOLLAR, 25 * DOLLAR)


PLAIN = Price(3 * DOLLAR, 15 * DOLLAR, known=True, cached_micro_per_mtok=300_000, written_micro_per_mtok=3_750_000)
TIERED = Price(
    2 * DOLLAR,
    10 * DOLLAR,
    known=True,
    cached_micro_per_mtok=200_000,
    written_micro_per_mtok=2_500_000,
    long_over=1000,
    long_prompt_micro_per_mtok=4 * DOLLAR,
    long_completion_micro_per_mtok=15 * DOLLAR,
)
FREE = Price(0, 0, known=True)


@pytest.mark.parametrize(
    ("price", "use", "reserved", "expected"),
    [
        (PLAIN, TokenUse(1000, 100), 9, 3000 + 1500),
        (PLAIN, TokenUse(1, 0), 9, 3),
        (PLAIN, TokenUse(0, 0), 9, 0),
        (PLAIN, TokenUse(1000, 100, 7), 9, 7),
        (PLAIN, TokenUse(None, None, 0), 9, 0),
        (PLAIN, TokenUse(), 9, 9),
        (PLAIN, TokenUse(1000, None), 9, 9),
        (PLAIN, TokenUse(None, 100), 9, 9),
        (PLAIN, TokenUse(-5, -5), 9, 0),
        (PLAIN, TokenUse(5, 5, -5), 9, 0),
        (PLAIN, TokenUse(), -9, 0),
        (PLAIN, TokenUse(1000, 0, cached=1000), 9, 300),
        (PLAIN, TokenUse(1000, 0, cached=400, cache_written=500), 9, 120 + 1875 + 300),
        (PLAIN, TokenUse(1000, 0, cached=9000, cache_written=9000), 9, 300),
        (TIERED, TokenUse(1000, 10), 9, 2000 + 100),
        (TIERED, TokenUse(1001, 10), 9, 4004 + 150),
        (TIERED, TokenUse(2000, 0, cached=1000), 9, 8000),
        (TIERED, TokenUse(2000, 0, cache_written=2000), 9, 10_000),
        (FREE, TokenUse(10**6, 10**6), 0, 0),
        (Price(1, 1, known=True), TokenUse(1, 0), 9, 1),
    ],
)
def test_cost(price: Price, use: TokenUse, reserved: int, expected: int) -> None:
    """The provider's figure wins, then its counts, then the reservation; always rounded up, never below zero."""
    charged = compute_cost(price, use, reserved)
    assert charged == expected
    assert type(charged) is int


@given(
    st.integers(0, 200_000),
    st.integers(0, 20_000),
    st.integers(1, 500),
    st.sampled_from([PLAIN, TIERED, FREE, TABLE.fallback]),
    st.sampled_from(["none", "cached", "written"]),
)
def test_the_reservation_covers_the_cost(size: int, max_tokens: int, messages: int, price: Price, caching: str) -> None:
    """Whatever of the prompt came from the cache or went into it, a call with the tokens that its bytes stand for
    costs no more than was reserved."""
    prompt = int(size / 2.5)
    use = TokenUse(
        prompt,
        max_tokens,
        cached=prompt if caching == "cached" else 0,
        cache_written=prompt if caching == "written" else 0,
    )
    held = reserve_for(price, size, max_tokens, messages=messages)
    assert 0 <= compute_cost(price, use, held) <= held


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The quick brown fox jumps over the lazy dog. " * 20, 200),
        ("def f(x):\n    return x\n" * 20, 200),
        ("你好世界" * 50, 200),
    ],
)
def test_the_bound_holds_for_usual_text(text: str, tokens: int) -> None:
    """English, code and Chinese (their tokens counted with o200k_base, rounded up) stay under the bound."""
    held = reserve_for(Price(DOLLAR, 0, known=True), len(text.encode()), 0)
    assert held >= tokens


def test_free_models_reserve_nothing() -> None:
    """A rehearsal needs no budget."""
    assert reserve_for(price_of("rehearsal", "rehearsal", TABLE), 10**6, 10**5, messages=100) == 0


def write(path: Path, document: Any) -> Path:
    """A price file."""
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def test_the_users_file_comes_first(tmp_path: Path) -> None:
    """Its rows win over ours, ours stay behind them, and its fallback counts."""
    own = {
        "date": "2027-01-01",
        "prices": [
            {"provider": "custom", "model": "*", "in": 0, "out": 0},
            {"provider": "openai", "model": "GPT-4o", "in": 1, "out": 2},
        ],
        "fallback": {"in": 1, "out": 1},
    }
    table = load_prices(write(tmp_path / "prices.json", own))
    assert table.date == "2027-01-01"
    assert price_of("custom", "mine", table) == Price(0, 0, known=True)
    assert price_of("openai", "gpt-4o", table).completion_micro_per_mtok == 2 * DOLLAR
    assert price_of("openai", "gpt-4o-mini", table).completion_micro_per_mtok == 600_000
    assert price_of("openai", "gpt-99", table).prompt_micro_per_mtok == DOLLAR


def test_a_file_without_rows_changes_nothing(tmp_path: Path) -> None:
    """No file, and an empty one, leave our table as it is."""
    assert load_prices(tmp_path / "none.json") == TABLE
    assert load_prices(write(tmp_path / "prices.json", {})) == TABLE


ROW = {"provider": "a", "model": "b", "in": 1, "out": 1}


@pytest.mark.parametrize(
    ("document", "says_so"),
    [
        ("{", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ([], '"prices"'),
        ({"prices": 7}, '"prices"'),
        ({"prices": [7]}, "price 1 must be an object"),
        ({"prices": [ROW, {**ROW, "in": -1}]}, 'price 2: "in"'),
        ({"prices": [{**ROW, "out": "1"}]}, '"out"'),
        ({"prices": [{**ROW, "out": True}]}, '"out"'),
        ('{"prices": [{"provider": "a", "model": "b", "in": NaN, "out": 1}]}', '"in"'),
        ({"prices": [{**ROW, "provider": ""}]}, '"provider"'),
        ({"prices": [{**ROW, "model": 7}]}, '"model"'),
        ({"prices": [{**ROW, "long": {"over": "x", "in": 1, "out": 1}}]}, '"long"'),
        ({"prices": [{**ROW, "cached": -1}]}, '"cached"'),
        ({"fallback": {"in": 1}}, "fallback"),
    ],
)
def test_a_mistake_in_the_users_file_is_named(tmp_path: Path, document: Any, says_so: str) -> None:
    """The message names the file, the place and the field."""
    with pytest.raises(ConfigError) as refused:
        load_prices(write(tmp_path / "prices.json", document))
    assert says_so in refused.value.message
    assert "prices.json" in refused.value.message


def test_written_never_costs_less_than_fresh(tmp_path: Path) -> None:
    """A price for writing into the cache that is below the plain one is a slip and does not count."""
    table = load_prices(write(tmp_path / "prices.json", {"prices": [{**ROW, "written": 0.5}]}))
    assert price_of("a", "b", table).written_micro_per_mtok == DOLLAR
    assert isinstance(table, PriceTable)
