"""The search engines, for the operator: their keys go in, are replaced and forgotten, and never come out; each can be
tried by a real search.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flask import Blueprint

from dashboard import bodies
from dashboard.api.providers import current_actor
from dashboard.auth import operator_only
from dashboard.services import get_services
from orchestrator.capabilities.search.engine_keys import EngineSetup, EngineState
from orchestrator.capabilities.search.engines import SearchQuery
from orchestrator.core.errors import Conflict, OrchestratorError

api = Blueprint("search_engines", __name__)

_TRIED = SearchQuery("weather", 1)


@api.get("/api/search-engines")
@operator_only
def list_engines() -> Any:
    """All that we know, set up or not."""
    return {"engines": [engine_json(state) for state in get_services().search_engines.list_engines()]}


@api.put("/api/search-engines/<engine>")
@operator_only
def set_engine(engine: str) -> Any:
    """Its key, or the address of one's own server; it holds from the next search on."""
    key, base_url = _given()
    return engine_json(get_services().search_engines.save_key(engine, key, base_url, by=current_actor()))


@api.delete("/api/search-engines/<engine>")
@operator_only
def remove_engine(engine: str) -> Any:
    """What was given here is forgotten."""
    get_services().search_engines.remove_key(engine, by=current_actor())
    return "", 204


@api.post("/api/search-engines/<engine>/test")
@operator_only
def test_engine(engine: str) -> Any:
    """A real search for “weather”: as the engine is set up, or with a key that is not kept for that."""
    services = get_services()
    key, base_url = _given()
    setup = services.search_engines.make_candidate(engine, key, base_url) if key or base_url else _known(engine)
    try:
        found = services.search_chain.ask_engine(setup, _TRIED)
    except OrchestratorError as error:
        return {"ok": False, "message": error.message}
    if not found.results:
        return {"ok": False, "message": f"{found.engine} answers, but found nothing for “weather”."}
    return {"ok": True, "message": f"{found.engine} works: a search for “weather” found {found.results[0].url}."}


def engine_json(state: EngineState) -> dict[str, Any]:
    """An engine as the API shows it; never its key."""
    return asdict(state)


def _known(name: str) -> EngineSetup:
    services = get_services()
    for setup in services.search_engines.list_setups():
        if setup.engine.name == name:
            return setup
    raise Conflict(f"{services.search_engines.get_state(name).label} is not set up yet. Give it a key first.")


def _given() -> tuple[str, str]:
    body = bodies.json_body("key", "base_url")
    key, base_url = (bodies.text_field(body, field) if field in body else "" for field in ("key", "base_url"))
    return key, base_url
