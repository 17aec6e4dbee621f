"""Which models a provider offers, and which of them is meant when nobody named one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from orchestrator.errors import UpstreamFailed
from orchestrator.llm.upstreams.http import Exchange
from orchestrator.llm.upstreams.reading import json_object

MAX_NAME = 200
LIST_TIMEOUT_S = 20.0


class _Offering(Protocol):
    name: str
    default_model: str

    def models(self) -> list[str]: ...


def list_models(exchange: Exchange, path: str, headers: Mapping[str, str]) -> list[str]:
    """The model names, sorted. Raises UpstreamFailed."""
    try:
        status = exchange.send("GET", path, None, headers)
        if status != 200:
            raise exchange.failure(status)
        exchange.hurry(LIST_TIMEOUT_S)
        document = json_object(exchange.whole())
    finally:
        if not exchange.is_done:
            exchange.close()
    found = document.get("data") if document is not None else None
    if not isinstance(found, list):
        raise exchange.broken("gave a list of models that cannot be read", may_retry=False)
    return sorted({name for entry in found if (name := _name(entry))})


def default_model_of(upstream: _Offering) -> str:
    """The upstream's default; for one that has none (a local server with whatever was installed) its first model."""
    if upstream.default_model:
        return upstream.default_model
    names = upstream.models()
    if not names:
        text = f"The provider {upstream.name} has no model yet. Install one there, or name one in the agent's settings."
        raise UpstreamFailed(text, may_retry=False)
    upstream.default_model = names[0]
    return names[0]


def _name(entry: Any) -> str:
    name = entry.get("id") if isinstance(entry, dict) else None
    if not isinstance(name, str) or len(name) > MAX_NAME or not name.isprintable():
        return ""
    return name.removeprefix("models/")  # as Gemini writes them
