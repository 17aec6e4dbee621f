"""Long-term memory: what an agent remembers of a person, who may look, add and delete."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, request

from dashboard import bodies
from dashboard.auth import own_cubicle, require_asker
from dashboard.services import get_services
from dashboard.times import with_iso_times
from orchestrator.capabilities.memory.facts import as_json
from orchestrator.core.errors import BadInput

api = Blueprint("memories", __name__)

_MOST_QUERY = 2_000


@api.get("/api/agents/<name>/memories")
def list_memories(name: str) -> Any:
    """A page of facts, the newest first, or the best for a query."""
    key, query = own_cubicle(name), request.args.get("q", "")
    if len(query) > _MOST_QUERY:
        raise BadInput(f"q: send at most {_MOST_QUERY:,} characters.")
    limit, before = bodies.limit_arg(default=50, most=200), bodies.whole_arg("before")
    if query.strip():
        found, more = get_services().memories.search_facts(key, query, limit), None
    else:
        found = get_services().memories.list_facts(key, before=before, limit=limit + 1)
        more = found[limit - 1].id if len(found) > limit else None
    return {"memories": [with_iso_times(as_json(fact)) for fact in found[:limit]], "next": more}


@api.post("/api/agents/<name>/memories")
def add_memory(name: str) -> Any:
    """Note a fact."""
    key, text = own_cubicle(name), bodies.text_field(bodies.json_body("text"), "text")
    fact = get_services().memories.add_fact(key, text, by=require_asker().user.name)
    return with_iso_times(as_json(fact)), 201


@api.get("/api/agents/<name>/memories/<id:memory>")
def get_memory(name: str, memory: int) -> Any:
    """One fact."""
    return with_iso_times(as_json(get_services().memories.get_fact(own_cubicle(name), memory)))


@api.delete("/api/agents/<name>/memories/<id:memory>")
def remove_memory(name: str, memory: int) -> Any:
    """Forget a fact."""
    get_services().memories.remove_fact(own_cubicle(name), memory, by=require_asker().user.name)
    return "", 204
