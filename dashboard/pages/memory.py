"""What an agent remembers of the viewer: looked through, added to, forgotten."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, render_template, request

from dashboard import bodies
from dashboard.pages.frame import agent_frame, own_key
from dashboard.services import get_services

pages = Blueprint("memory", __name__)

PAGE = 50
MOST_LESSONS = 100
MAX_QUERY_CHARS = 200


@pages.get("/agents/<name>/memory")
def memory(name: str) -> str:
    """The whole page."""
    summary = get_services().history.get_summary(own_key(name))
    return render_template(
        "memory.html", **agent_frame(name, "memory"), **_found(name), **_lessons(name), summary=summary
    )


@pages.get("/parts/memory/<name>")
def facts(name: str) -> str:
    """The list."""
    return render_template("parts/memory.html", agent=get_services().agents.get(name), **_found(name))


@pages.get("/parts/lessons/<name>")
def lessons(name: str) -> str:
    """The lessons."""
    return render_template("parts/lessons.html", agent=get_services().agents.get(name), **_lessons(name))


def _lessons(name: str) -> dict[str, Any]:
    """The newest lessons, those that wait first."""
    found = get_services().lessons.list_lessons(own_key(name), limit=MOST_LESSONS)
    return {
        "lessons": sorted(found, key=lambda lesson: not lesson.is_held),
        "has_lessons": "lessons" in get_services().agents.get(name).toolsets,
    }


def _found(name: str) -> dict[str, Any]:
    """What fits the query, the best first; without one a page of all, newest first."""
    key, services = own_key(name), get_services()
    query, before = request.args.get("q", "").strip()[:MAX_QUERY_CHARS], bodies.whole_arg("before")
    has_memory = "memory" in services.agents.get(name).toolsets
    given: dict[str, Any] = {"query": query, "before": before, "has_memory": has_memory, "older": None}
    if query:
        return {**given, "facts": services.memories.search_facts(key, query, PAGE)}
    found = services.memories.list_facts(key, before=before, limit=PAGE + 1)
    older = found[PAGE - 1].id if len(found) > PAGE else None
    return {**given, "facts": found[:PAGE], "older": older}
