"""Imports: a zip of another product's folder is looked at, and comes when the operator says so."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from flask import Blueprint, request
from werkzeug.exceptions import LengthRequired

from dashboard import bodies
from dashboard.auth import operator_only, require_asker
from dashboard.imports import plan_json
from dashboard.services import get_services
from dashboard.transfers import get_transfers
from orchestrator.core.errors import TooLarge
from orchestrator.operations.agent_import.archive import MOST_ZIP_BYTES

api = Blueprint("imports", __name__)

_FIELDS = ("agent", "display_name", "color", "secrets")
_MOST_SECRETS = 500


@api.put("/api/imports")
@operator_only
def look() -> Any:
    """The body is the zip; nothing of it is written anywhere."""
    if request.content_length is None:
        raise LengthRequired("Send the zip as the request's body, with Content-Length.")
    if request.content_length > MOST_ZIP_BYTES:
        raise TooLarge(f"The zip is larger than {MOST_ZIP_BYTES >> 20} MB. Leave out media and conversations.")
    with ExitStack() as until_read:
        until_read.callback(get_transfers().begin_transfer(require_asker().user.id))
        request.max_content_length = MOST_ZIP_BYTES
        content = request.stream.read(MOST_ZIP_BYTES + 1)
    return plan_json(*get_services().imports.look(content, require_asker().user)), 201


@api.get("/api/imports/<number>")
@operator_only
def get_plan(number: str) -> Any:
    """The dry run again."""
    return plan_json(number, get_services().imports.get_plan(number, require_asker().user))


@api.post("/api/imports/<number>")
@operator_only
def carry_out(number: str) -> Any:
    """All of it comes."""
    body = bodies.json_body(*_FIELDS)
    ticked = bodies.texts_field(body, "secrets", most=_MOST_SECRETS)
    name = bodies.text_field(body, "agent").strip()
    fields = {field: value for field, value in body.items() if field not in ("agent", "secrets")}
    came = get_services().imports.carry_out(number, require_asker().user, name, fields, ticked)
    return {
        "agent": came.agent,
        "is_new": came.is_new,
        "memories": came.facts,
        "schedules": came.entries,
        "files": came.files,
        "pending": came.pending,
    }, 201
