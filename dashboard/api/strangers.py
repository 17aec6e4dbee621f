"""Strangers who wrote to a bot, for the operator: who waits to be let in, and the answer. What they wrote was not
read."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from dashboard import bodies
from dashboard.auth import asker, operator_only
from dashboard.house import services
from dashboard.times import iso
from orchestrator.core.errors import BadInput

api = Blueprint("strangers", __name__)

_KINDS = {"allow": "allow", "refuse": "ignore", "block": "block"}


@api.get("/api/strangers")
@operator_only
def every() -> Any:
    """Who waits."""
    found = services().strangers()
    return {
        "strangers": [
            {"agent": known.agent, "telegram_id": known.person, "name": known.name, "wrote_at": iso(known.told_at)}
            for known in found
        ]
    }


@api.post("/api/strangers/<name>/<id:person>")
@operator_only
def decide(name: str, person: int) -> Any:
    """Let them in as a member, or don't; their card on Telegram shows it."""
    decision = bodies.text(bodies.json_body("decision"), "decision")
    if decision not in _KINDS:
        raise BadInput(f"decision: send one of {', '.join(_KINDS)}.")
    member = services().decide_stranger(name, person, _KINDS[decision], asker().user)
    return {"user": None if member is None else member.id}
