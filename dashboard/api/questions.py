"""What agents asked people, and the answers: a person's, by API token or by hand on a page of ours."""

from __future__ import annotations

import time
from typing import Any

from flask import Blueprint, request

from dashboard import bodies
from dashboard.api.approvals import MIN_AGE_S
from dashboard.auth import may_see, require_asker
from dashboard.services import get_services
from dashboard.times import with_iso_times
from orchestrator.capabilities.ask.questions import STATUSES, as_json
from orchestrator.core.errors import BadInput, Conflict, NotFound

api = Blueprint("questions", __name__)


@api.get("/api/questions")
def list_questions() -> Any:
    """The newest questions, of one status where given."""
    who, wanted = require_asker(), request.args.get("status", "")
    if wanted and wanted not in STATUSES:
        raise BadInput(f"status: choose one of {', '.join(STATUSES)}.")
    found = get_services().questions.list_questions(
        status=wanted or None,
        user=None if who.is_operator else who.user.id,
        limit=bodies.limit_arg(default=200, most=500),
    )
    return {"questions": [with_iso_times(as_json(question)) for question in found]}


@api.post("/api/questions/<question>")
def answer_question(question: str) -> Any:
    """Answer, once."""
    who, services = require_asker(), get_services()
    text = bodies.text_field(bodies.json_body("answer"), "answer")
    found = services.questions.get_question(question)
    if not may_see(found.cubicle):
        raise NotFound("There is no question with this id. './hermit questions' shows what is waiting.")
    if who.session and time.time() - found.asked_at < MIN_AGE_S:
        raise Conflict("This question appeared only just now. Read it, then answer.")
    answered = services.questions.answer_question(found.id, text, by=who.user, surface=who.surface)
    return with_iso_times(as_json(answered))
