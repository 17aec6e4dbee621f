"""The audit log, for the operator: everything that happened, newest first, with a search."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, request

from dashboard import bodies
from dashboard.auth import operator_only
from dashboard.house import services
from dashboard.shapes import audit_json

api = Blueprint("audit", __name__)


@api.get("/api/audit")
@operator_only
def search() -> Any:
    """The newest rows that match everything given; ``next`` is the ``before`` of the next page."""
    limit = bodies.limit_arg(default=100, most=499)
    found = services().audit.search(
        words=request.args.get("q", ""),
        agent=request.args.get("agent") or None,
        kind=request.args.get("kind") or None,
        before=bodies.whole_arg("before"),
        limit=limit + 1,
    )
    page = found[:limit]
    return {"rows": [audit_json(row) for row in page], "next": page[-1].id if len(found) > limit else None}
