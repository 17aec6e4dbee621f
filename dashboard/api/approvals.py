"""The inbox of questions, and the answers. A decision is a person's: by API token, or by hand on a page of ours."""

from __future__ import annotations

import time
from typing import Any

from flask import Blueprint, request

from dashboard import bodies
from dashboard.api.grants import scope_in
from dashboard.approval_filters import read_filters
from dashboard.auth import may_see, require_asker
from dashboard.services import get_services
from dashboard.shapes import approval_json
from orchestrator.approvals.answers import DecisionDetails
from orchestrator.core.errors import BadInput, Conflict, NotFound
from orchestrator.core.models import Approval

api = Blueprint("approvals", __name__)

MIN_AGE_S = 0.5
"""Nobody has read a younger question: a click on it was meant for what lay there before."""


@api.get("/api/approvals")
def list_approvals() -> Any:
    """The newest questions that match; ``next`` is the ``before`` of the next page."""
    limit = bodies.limit_arg(default=200, most=500)
    found = get_services().approvals.list_history(
        read_filters(), before=request.args.get("before", ""), limit=limit + 1
    )
    page = found[:limit]
    return {
        "approvals": [approval_json(approval) for approval in page],
        "next": page[-1].id if len(found) > limit else None,
    }


@api.post("/api/approvals/<approval>")
def decide_approval(approval: str) -> Any:
    """Approve or deny, once."""
    return approval_json(decide_from_request(approval))


def decide_from_request(approval: str) -> Approval:
    """What the request decides about a question of the asker's; raises NotFound, BadInput, Conflict, Forbidden."""
    who, services = require_asker(), get_services()
    body = bodies.json_body("decision", "always", "scope", "note")
    decision, always = body.get("decision"), body.get("always", False)
    if decision not in ("approve", "deny"):
        raise BadInput("decision: send 'approve' or 'deny'.")
    if not isinstance(always, bool):
        raise BadInput("always: send true or false.")
    said = DecisionDetails(note=bodies.text_field({"note": "", **body}, "note").strip(), scope=scope_in(body))
    found = _find_visible(approval)
    if who.session and time.time() - found.asked_at < MIN_AGE_S:
        raise Conflict("This question appeared only just now. Read it, then decide.")
    return services.approvals.decide(
        found.id, approve=decision == "approve", by=who.user, surface=who.surface, always=always, said=said
    )


def _find_visible(approval: str) -> Approval:
    """The approval, when it is the asker's to see; raises NotFound."""
    found = get_services().approvals.get(approval)
    if not may_see(found.cubicle):
        raise NotFound("There is no approval with this id. './hermit approvals' shows what is waiting.")
    return found
