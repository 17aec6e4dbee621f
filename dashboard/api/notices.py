"""Notifications: what the install said about a cubicle, and the buttons under it."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from dashboard import bodies
from dashboard.auth import may_see, own_cubicle, require_asker
from dashboard.services import get_services
from dashboard.times import with_iso_times
from orchestrator.approvals.notifications import as_json
from orchestrator.core.errors import NotFound

api = Blueprint("notices", __name__)


@api.get("/api/agents/<name>/notices")
def list_notices(name: str) -> Any:
    """A page of notices, the newest last."""
    limit = bodies.limit_arg(default=50, most=200)
    found = get_services().notifications.list_recent(
        own_cubicle(name), before=bodies.whole_arg("before"), limit=limit + 1
    )
    page = found[-limit:]
    more = page[0].id if len(found) > limit else None
    return {"notices": [with_iso_times(as_json(notice)) for notice in page], "next": more}


@api.post("/api/notices/<id:notice>")
def press_offer(notice: int) -> Any:
    """Do what an offer says."""
    who, do = require_asker(), bodies.text_field(bodies.json_body("do"), "do")
    notifications = get_services().notifications
    if not may_see(notifications.get(notice).cubicle):
        raise NotFound("There is no such notice.")
    return with_iso_times(as_json(notifications.press_button(notice, do, by=who.user, surface=who.surface)))
