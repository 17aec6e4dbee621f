"""Lessons: what an agent learned from failures, for its person to see, add, keep and forget."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, request

from dashboard import bodies
from dashboard.auth import own_cubicle, require_asker
from dashboard.services import get_services
from dashboard.times import with_iso_times
from orchestrator.capabilities.lessons.capability import MOST_FOUND
from orchestrator.capabilities.lessons.lessons import lesson_json
from orchestrator.core.errors import BadInput

api = Blueprint("lessons", __name__)

_MOST_QUERY = 2_000


@api.get("/api/agents/<name>/lessons")
def list_lessons(name: str) -> Any:
    """A page of lessons, the newest first, or the best for a query."""
    key, query = own_cubicle(name), request.args.get("q", "")
    if len(query) > _MOST_QUERY:
        raise BadInput(f"q: send at most {_MOST_QUERY:,} characters.")
    limit, before = bodies.limit_arg(default=50, most=200), bodies.whole_arg("before")
    if query.strip():
        found, more = get_services().lessons.search_lessons(key, query, min(limit, MOST_FOUND)), None
    else:
        found = get_services().lessons.list_lessons(key, before=before, limit=limit + 1)
        more = found[limit - 1].id if len(found) > limit else None
    return {"lessons": [with_iso_times(lesson_json(lesson)) for lesson in found[:limit]], "next": more}


@api.post("/api/agents/<name>/lessons")
def add_lesson(name: str) -> Any:
    """Note one."""
    key, body = own_cubicle(name), bodies.json_body("when", "fix", "holds")
    when, fix = bodies.text_field(body, "when"), bodies.text_field(body, "fix")
    holds = bodies.text_field({"holds": "", **body}, "holds")
    lesson = get_services().lessons.add_lesson(key, when, fix, holds, by=require_asker().user.name)
    return with_iso_times(lesson_json(lesson)), 201


@api.patch("/api/agents/<name>/lessons/<id:lesson>")
def keep_lesson(name: str, lesson: int) -> Any:
    """One that waits is used from now on."""
    key, body = own_cubicle(name), bodies.json_body("is_held")
    if bodies.flag_field(body, "is_held"):
        raise BadInput("is_held: send false. A lesson that is used can be forgotten, not held back.")
    kept = get_services().lessons.keep_lesson(key, lesson, by=require_asker().user.name)
    return with_iso_times(lesson_json(kept))


@api.delete("/api/agents/<name>/lessons/<id:lesson>")
def remove_lesson(name: str, lesson: int) -> Any:
    """Forget one."""
    get_services().lessons.remove_lesson(own_cubicle(name), lesson, by=require_asker().user.name)
    return "", 204
