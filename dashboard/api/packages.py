"""Packages that agents asked for: what each request came to, and how it went. Decisions are made on approvals."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, request

from dashboard import bodies
from dashboard.auth import require_asker
from dashboard.services import get_services
from dashboard.times import with_iso_times
from orchestrator.capabilities.packages.records import STATUSES, as_json
from orchestrator.core.errors import BadInput

api = Blueprint("packages", __name__)


@api.get("/api/packages")
def list_installs() -> Any:
    """The newest requests, of one status where given."""
    who, wanted = require_asker(), request.args.get("status", "")
    if wanted and wanted not in STATUSES:
        raise BadInput(f"status: choose one of {', '.join(STATUSES)}.")
    found = get_services().packages.list_installs(
        status=wanted or None,
        user=None if who.is_operator else who.user.id,
        limit=bodies.limit_arg(default=200, most=500),
    )
    return {"packages": [with_iso_times(as_json(one)) for one in found]}
