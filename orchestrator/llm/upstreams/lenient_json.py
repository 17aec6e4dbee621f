"""Careful reading of what a provider wrote: JSON that may be odd, counts that may be lies, text that may be cut.

Pure. Every function takes whatever came and returns a usable value or None (or an empty text), and never raises on odd
input; nothing here acts on what was read.
"""

from __future__ import annotations

import json
import math
from typing import Any

from orchestrator.core.models import MICRO, TokenUse
from orchestrator.llm.pricing import MAX_COST_MICRO_BELIEVED, MAX_TOKENS_BELIEVED

_HIGH_SURROGATES = range(0xD800, 0xDC00)


def json_object(text: bytes) -> dict[str, Any] | None:
    """The JSON object in ``text``, or None when it is anything else."""
    try:
        found = _DECODER.decode(text.decode())
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def get_object(parent: dict[str, Any], key: str) -> dict[str, Any]:
    """The object under ``key``; an empty one when there is none."""
    found = parent.get(key)
    return found if isinstance(found, dict) else {}


def first_child(parent: dict[str, Any], key: str) -> dict[str, Any]:
    """The first object of the list under ``key``; an empty one when there is none."""
    found = parent.get(key)
    return found[0] if isinstance(found, list) and found and isinstance(found[0], dict) else {}


def text_of(content: Any) -> str:
    """The text of a message's content: a string, or a list of parts of which the text parts count."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part for part in content if isinstance(part, dict) and part.get("type") == "text")
    return "".join(text for part in parts if isinstance(text := part.get("text"), str))


def get_token_count(value: Any) -> int | None:
    """A count of tokens, or None when it cannot be one."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_TOKENS_BELIEVED:
        return None
    return value


def cost_micro(value: Any) -> int | None:
    """A price in dollars as micro-dollars, rounded up, or None when it cannot be one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not 0 <= value <= MAX_COST_MICRO_BELIEVED / MICRO:  # NaN and infinity fail here too
        return None
    return math.ceil(round(value * MICRO, 6))


def chat_usage(usage: dict[str, Any]) -> TokenUse:
    """What an OpenAI-like ``usage`` says."""
    cost = cost_micro(usage.get("cost"))
    if cost is not None and usage.get("is_byok") is True:
        # With the user's own key OpenRouter's cost is its fee alone; the provider's bill stands beside it.
        cost += cost_micro(get_object(usage, "cost_details").get("upstream_inference_cost")) or 0
    prompt = get_token_count(usage.get("prompt_tokens"))
    cached = get_token_count(get_object(usage, "prompt_tokens_details").get("cached_tokens")) or 0
    return TokenUse(
        prompt=prompt,
        completion=get_token_count(usage.get("completion_tokens")),
        cost_micro=cost,
        cached=min(cached, prompt or 0),
    )


class TextJoiner:
    """Makes each delta valid Unicode: a pair of surrogates that was split over two deltas is put together again."""

    def __init__(self) -> None:
        self._half = ""

    def push_text(self, text: str) -> str:
        """The part of ``text`` that can go out now."""
        if text.isascii() and not self._half:
            return text
        text = self._half + text
        self._half = ""
        if text and ord(text[-1]) in _HIGH_SURROGATES:
            text, self._half = text[:-1], text[-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _no_number(_name: str) -> None:
    """NaN and Infinity are no JSON; they become null, which every reader here treats as absent."""


_DECODER = json.JSONDecoder(parse_constant=_no_number)
"""Made once: ``json.loads`` would make one for every event of a stream."""
