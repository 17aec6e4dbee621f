"""Which models a provider offers, and which of them is meant when nobody named one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.core.errors import UpstreamFailed
from orchestrator.core.models import Upstream
from orchestrator.llm.upstreams.http import Exchange
from orchestrator.llm.upstreams.lenient_json import json_object

MAX_NAME = 200
LIST_TIMEOUT_S = 20.0
UNNAMED = "default"
"""What a server is asked for that has neither a list nor, mostly, more than one model."""
_NO_LIST = (404, 405, 501)


class NoList(UpstreamFailed):
    """The provider answers, but not to the question which models it has."""


def list_models(exchange: Exchange, path: str, headers: Mapping[str, str]) -> list[str]:
    """The model names, sorted. Raises UpstreamFailed, NoList among them."""
    try:
        status = exchange.send("GET", path, None, headers)
        if status in _NO_LIST:
            raise NoList(exchange.failure(status).message, may_retry=False)
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


def default_model_of(upstream: Upstream) -> str:
    """The upstream's default; for one that has none (a local server with whatever was installed) its first model, or
    any name where it keeps no list."""
    if upstream.default_model:
        return upstream.default_model
    try:
        names = upstream.models()
    except NoList:
        names = [UNNAMED]
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
