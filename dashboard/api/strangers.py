"""Strangers who wrote to a bot, for the operator: who waits to be let in, and the answer. What they wrote was not
read."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from dashboard import bodies
from dashboard.auth import operator_only, require_asker
from dashboard.services import get_services
from dashboard.times import iso_time
from orchestrator.core.errors import BadInput

api = Blueprint("strangers", __name__)

_KINDS = {"allow": "allow", "refuse": "ignore", "block": "block"}


@api.get("/api/strangers")
@operator_only
def list_strangers() -> Any:
    """Who waits."""
    found = get_services().strangers()
    return {
        "strangers": [
            {"agent": known.agent, "telegram_id": known.person, "name": known.name, "wrote_at": iso_time(known.told_at)}
            for known in found
        ]
    }


@api.post("/api/strangers/<name>/<id:person>")
@operator_only
def decide_stranger(name: str, person: int) -> Any:
    """Let them in as a member, or don't; their card on Telegram shows it."""
    decision = bodies.text_field(bodies.json_body("decision"), "decision")
    if decision not in _KINDS:
        raise BadInput(f"decision: send one of {', '.join(_KINDS)}.")
    member = get_services().decide_stranger(name, person, _KINDS[decision], require_asker().user)
    return {"user": None if member is None else member.id}
