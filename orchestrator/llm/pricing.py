"""What a model call costs: before it (an upper bound to reserve) and after it (what is charged).

Owns the price table, which is data (``prices.json`` beside this file, and an optional file of the user's over it). Pure
apart from reading these files. An unknown model is never free, and no sum is ever negative, a fraction or NaN.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from orchestrator.core.errors import ConfigError
from orchestrator.core.models import MICRO, TokenUse

TABLE_FILE = Path(__file__).with_name("prices.json")
MTOK = 1_000_000

BYTES_PER_TOKEN = 2.5
"""What we count a token as when only bytes are known. English and code have 3 to 4 bytes a token, Chinese and emoji
about 3, so this bounds what people and commands write. It is no bound for bytes that are close to noise (long numbers,
base64), where a token can be one byte; reserving for that would make every call look 3 times dearer than it is, and
``compute_cost`` charges the true count afterwards in any case."""
TOKENS_PER_MESSAGE = 16
"""Role marks and separators around each message; real ones need 3 to 7."""

MAX_TOKENS_BELIEVED = 1_000_000_000
MAX_COST_MICRO_BELIEVED = 10_000 * MICRO
"""A single call over 10,000 dollars is a mistake of the provider's, not a price."""

_VENDORS = {"anthropic": "anthropic", "openai": "openai", "google": "gemini", "mistralai": "mistral", "x-ai": "xai"}
"""How OpenRouter calls the makers of models, by the name of our rows; the others keep their own names."""
_MAX_PRICE_USD = 100_000.0


@dataclass(frozen=True, slots=True)
class Price:
    """Micro-dollars per million tokens."""

    prompt_micro_per_mtok: int
    completion_micro_per_mtok: int
    known: bool
    """A row of the table names the model; otherwise this is the fallback."""
    cached_micro_per_mtok: int = 0
    written_micro_per_mtok: int = 0
    long_over: int | None = None
    """Prompts of more tokens than this cost the two prices below."""
    long_prompt_micro_per_mtok: int = 0
    long_completion_micro_per_mtok: int = 0


@dataclass(frozen=True, slots=True)
class PriceRow:
    """A price and the models that it is for."""

    provider: str
    pattern: str
    price: Price


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Rows in order of precedence, and what an unknown model costs."""

    date: str
    rows: tuple[PriceRow, ...]
    fallback: Price


def load_prices(override: Path | None = None) -> PriceTable:
    """The table, with the rows of ``override`` (when that file exists) before ours. Raises ConfigError naming what is
    wrong with the user's file."""
    table = _parse_table(TABLE_FILE.read_text(encoding="utf-8"), "prices.json")
    if override is None:
        return table
    try:
        text = override.read_text(encoding="utf-8")
    except FileNotFoundError:
        return table
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"{override} cannot be read. Check who owns it, or remove it.") from None
    own = _parse_table(text, str(override), default=table.fallback)
    return PriceTable(own.date or table.date, own.rows + table.rows, own.fallback)


def price_of(provider: str, model: str, table: PriceTable) -> Price:
    """The price of a provider's model: that of the first row that fits, or the fallback."""
    name = normal_name(model)
    found = _find_row(provider, name, table)
    if found is None and provider == "openrouter":
        # OpenRouter passes the makers' prices on, and names its models MAKER/MODEL.
        maker, _, inner = name.removeprefix("~").partition("/")
        if inner.endswith(":free"):
            return Price(0, 0, known=True)
        found = _find_row(_VENDORS.get(maker, maker), inner.partition(":")[0], table)
    return found or table.fallback


def reserve_for(price: Price, messages_bytes: int, max_tokens: int, *, messages: int = 1) -> int:
    """Micro-dollars that a call may cost at most: every byte of the messages a share of a token, nothing from a cache,
    the dearest price that could apply, and an answer of full length."""
    prompt = _most_prompt(messages_bytes, messages)
    per_prompt, per_completion = _highest_price(price, prompt)
    return _rounded_up(prompt * per_prompt + max(0, max_tokens) * per_completion)


def tokens_reserved(price: Price, messages_bytes: int, max_tokens: int, *, messages: int = 1) -> int:
    """Tokens that a call may use at most, by the same bound; 0 where the price is known and dollars say enough."""
    return 0 if price.known else _most_prompt(messages_bytes, messages) + max(0, max_tokens)


def tokens_used(use: TokenUse, reserved: int) -> int:
    """Tokens to count where some were reserved: the provider's count, or the whole reservation when it said none."""
    if not reserved or use.prompt is None or use.completion is None:
        return reserved
    return max(0, use.prompt) + max(0, use.completion)


def check_usage(use: TokenUse) -> TokenUse:
    """What a provider said it used, without what can't be true: no text, nothing negative, NaN or without end. What is
    left out counts as not said, and what was not said costs the reservation."""
    return TokenUse(
        prompt=_check_count(use.prompt, MAX_TOKENS_BELIEVED),
        completion=_check_count(use.completion, MAX_TOKENS_BELIEVED),
        cost_micro=_check_count(use.cost_micro, MAX_COST_MICRO_BELIEVED),
        cached=_check_count(use.cached, MAX_TOKENS_BELIEVED) or 0,
        cache_written=_check_count(use.cache_written, MAX_TOKENS_BELIEVED) or 0,
    )


def _check_count(value: object, most: int) -> int | None:
    return value if type(value) is int and 0 <= value <= most else None


def _most_prompt(messages_bytes: int, messages: int) -> int:
    return math.ceil(max(0, messages_bytes) / BYTES_PER_TOKEN) + TOKENS_PER_MESSAGE * max(1, messages)


def compute_cost(price: Price, use: TokenUse, reserved: int) -> int:
    """Micro-dollars to charge: the provider's own figure, or its counts at our price, or, when it said neither, the
    whole reservation."""
    if use.cost_micro is not None:
        return max(0, use.cost_micro)
    if use.prompt is None or use.completion is None:
        return max(0, reserved)
    cached, written = _cached_parts(use)
    per_prompt, per_completion = price.prompt_micro_per_mtok, price.completion_micro_per_mtok
    per_cached, per_written = price.cached_micro_per_mtok, price.written_micro_per_mtok
    if price.long_over is not None and use.prompt > price.long_over:
        per_prompt, per_completion = price.long_prompt_micro_per_mtok, price.long_completion_micro_per_mtok
        # We know no separate cache prices for long prompts: the plain ones are never too low.
        per_cached, per_written = per_prompt, _with_premium(per_prompt, price)
    fresh = max(0, use.prompt - cached - written)
    prompt = fresh * per_prompt + cached * per_cached + written * per_written
    return _rounded_up(prompt + max(0, use.completion) * per_completion)


def _highest_price(price: Price, prompt_tokens: int) -> tuple[int, int]:
    per_prompt = max(price.prompt_micro_per_mtok, price.written_micro_per_mtok)
    if price.long_over is None or prompt_tokens <= price.long_over:
        return per_prompt, price.completion_micro_per_mtok
    long_prompt = _with_premium(price.long_prompt_micro_per_mtok, price)
    return max(per_prompt, long_prompt), max(price.completion_micro_per_mtok, price.long_completion_micro_per_mtok)


def _with_premium(per_prompt: int, price: Price) -> int:
    """What writing into the cache costs for long prompts, at the premium that it has for short ones."""
    if price.prompt_micro_per_mtok <= 0:
        return max(per_prompt, price.written_micro_per_mtok)
    return -(-per_prompt * price.written_micro_per_mtok // price.prompt_micro_per_mtok)


def _cached_parts(use: TokenUse) -> tuple[int, int]:
    """How much of the prompt came from the cache and went into it, never more than there was."""
    prompt = max(0, use.prompt or 0)
    cached = min(max(0, use.cached), prompt)
    return cached, min(max(0, use.cache_written), prompt - cached)


def _rounded_up(micro_per_mtok_tokens: int) -> int:
    return -(-max(0, micro_per_mtok_tokens) // MTOK)


def _find_row(provider: str, name: str, table: PriceTable) -> Price | None:
    rows = (row for row in table.rows if row.provider == provider and fnmatchcase(name, row.pattern))
    return next((row.price for row in rows), None)


def normal_name(model: str) -> str:
    """One spelling for a name that every provider spells differently: ``claude-sonnet-4.5``, ``Claude-Sonnet-4-5``."""
    return model.strip().lower().replace(".", "-")


def check_row(entry: dict[str, Any]) -> PriceRow:
    """A row as somebody gives it; raises ConfigError naming what is wrong."""
    unknown = sorted(set(entry) - {"provider", "model", "in", "out", "cached", "written"})
    if unknown:
        raise ConfigError(f"{unknown[0][:40]}: a price has no such part; there are in, out, cached and written.")
    if not all(isinstance(text, str) and 0 < len(text) <= 200 for text in (entry["provider"], entry["model"])):
        raise ConfigError("Name a provider and a model (or a pattern such as gpt-*).")
    return _parse_row(entry, "This price")


def _parse_table(text: str, file: str, *, default: Price | None = None) -> PriceTable:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise ConfigError(f"{file} is not valid JSON. See docs/providers.md for its form.") from None
    if not isinstance(document, dict) or not isinstance(document.get("prices", []), list):
        raise ConfigError(f'{file} must be an object with a list "prices". See docs/providers.md for its form.')
    rows = tuple(_parse_row(entry, f"{file}, price {n}") for n, entry in enumerate(document.get("prices", []), start=1))
    given = document.get("fallback")
    fallback = default if given is None else _parse_price(given, f"{file}, fallback", known=False)
    if fallback is None:
        raise ConfigError(f'{file} has no "fallback".')
    return PriceTable(str(document.get("date", ""))[:32], rows, fallback)


def _parse_row(entry: Any, where: str) -> PriceRow:
    price = _parse_price(entry, where, known=True)
    provider, model = entry.get("provider"), entry.get("model")
    if not isinstance(provider, str) or not isinstance(model, str) or not provider or not model:
        raise ConfigError(f'{where}: "provider" and "model" must be texts.')
    return PriceRow(provider, normal_name(model), price)


def _parse_price(entry: Any, where: str, *, known: bool) -> Price:
    if not isinstance(entry, dict):
        raise ConfigError(f'{where} must be an object such as {{"provider", "model", "in", "out"}}.')
    prompt, completion = _to_micro(entry, "in", where), _to_micro(entry, "out", where)
    cached = _to_micro(entry, "cached", where) if "cached" in entry else prompt
    written = max(prompt, _to_micro(entry, "written", where)) if "written" in entry else prompt
    long = entry.get("long")
    if long is None:
        return Price(prompt, completion, known, cached, written)
    if not isinstance(long, dict) or isinstance(long.get("over"), bool) or not isinstance(long.get("over"), int):
        raise ConfigError(f'{where}: "long" must be an object with "over", "in" and "out".')
    long_prompt, long_completion = _to_micro(long, "in", where), _to_micro(long, "out", where)
    return Price(prompt, completion, known, cached, written, long["over"], long_prompt, long_completion)


def _to_micro(entry: dict[str, Any], key: str, where: str) -> int:
    value = entry.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _MAX_PRICE_USD:
        raise ConfigError(f'{where}: "{key}" must be dollars per million tokens, 0 or more.')
    return math.ceil(round(value * MICRO, 6))
