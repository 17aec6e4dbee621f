"""The audit log, for the operator: everything that happened, newest first, with a search, or all of it as a file."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any

from flask import Blueprint, Response, request

from dashboard import bodies
from dashboard.api.audit_export import TYPES, export_lines
from dashboard.auth import operator_only, require_asker
from dashboard.services import get_services
from dashboard.shapes import audit_json
from dashboard.transfers import get_transfers
from orchestrator.core.errors import BadInput

api = Blueprint("audit", __name__)


@api.get("/api/audit")
@operator_only
def search_audit() -> Any:
    """The newest rows that match everything given; ``next`` is the ``before`` of the next page. With ``format`` all of
    them, as a download."""
    wanted: dict[str, Any] = {
        "words": request.args.get("q", ""),
        "agent": request.args.get("agent") or None,
        "kind": request.args.get("kind") or None,
    }
    before, how = bodies.whole_arg("before"), request.args.get("format", "json")
    if how != "json":
        return _export_file(how, wanted, before)
    limit = bodies.limit_arg(default=100, most=499)
    found = get_services().audit.search_records(**wanted, before=before, limit=limit + 1)
    page = found[:limit]
    return {"rows": [audit_json(row) for row in page], "next": page[-1].id if len(found) > limit else None}


def _export_file(how: str, wanted: dict[str, Any], before: int | None) -> Response:
    if how not in TYPES:
        raise BadInput("format: choose json, jsonl or csv.")
    with ExitStack() as until_sent:
        until_sent.callback(get_transfers().begin_transfer(require_asker().user.id))
        response = Response(
            export_lines(get_services().audit.iterate_pages(**wanted, before=before), how), content_type=TYPES[how]
        )
        response.call_on_close(until_sent.pop_all().close)
    name = f"audit-{time.strftime('%Y-%m-%d', time.gmtime())}.{how}"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
