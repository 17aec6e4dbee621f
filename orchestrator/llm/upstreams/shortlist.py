"""The models that we suggest for each provider, to choose among before there is a key: its recommended one first.

Only names, and how much they can hold where the provider says so; what they cost is for ``pricing``. Chosen in November
2026 together with the catalogue's defaults. A provider with a key says itself which models it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One model of a provider."""

    name: str
    """As the provider calls it."""
    context_tokens: int | None = None
    """How much it holds at once; None where we don't know."""


def _load_suggestions(*models: tuple[str, int | None]) -> tuple[Suggestion, ...]:
    return tuple(Suggestion(name, tokens) for name, tokens in models)


SHORTLIST: Mapping[str, tuple[Suggestion, ...]] = {
    "openrouter": _load_suggestions(
        ("anthropic/claude-sonnet-5.5", 1_000_000),
        ("anthropic/claude-opus-5.5", 1_000_000),
        ("openai/gpt-6.1-terra", 1_050_000),
        ("google/gemini-3.8-flash", 1_048_576),
        ("deepseek/deepseek-v4.1-flash", 1_048_576),
    ),
    "openai": _load_suggestions(("gpt-6.1-terra", 1_050_000), ("gpt-6.1-sol", 1_050_000), ("gpt-6-luna", 1_050_000)),
    "anthropic": _load_suggestions(
        ("claude-sonnet-5-5", 1_000_000), ("claude-opus-5-5", 1_000_000), ("claude-haiku-5-5", 1_000_000)
    ),
    "gemini": _load_suggestions(
        ("gemini-3.8-flash", 1_048_576), ("gemini-4-argon", 1_048_576), ("gemini-3.5-flash-lite", 1_048_576)
    ),
    "groq": _load_suggestions(
        ("openai/gpt-oss-120b", 131_072), ("openai/gpt-oss-20b", 131_072), ("qwen/qwen3.8-27b", 131_072)
    ),
    "mistral": _load_suggestions(
        ("mistral-medium-latest", None), ("mistral-large-latest", None), ("mistral-small-latest", None)
    ),
    "deepseek": _load_suggestions(("deepseek-v4-flash", 1_000_000), ("deepseek-v4-pro", 1_000_000)),
    "xai": _load_suggestions(("grok-4.7", 500_000), ("grok-build-0.1", 256_000)),
}
"""By provider, the recommended model first. Servers of one's own have whatever was installed there."""
