"""Imports as the API and the page show them."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from dashboard.services import get_services
from orchestrator.operations.agent_import.planning import ImportPlan


def plan_json(number: str, plan: ImportPlan) -> dict[str, Any]:
    """The dry run."""
    persona = plan.persona
    return {
        "id": number,
        "product": plan.product.value,
        "name": free_name(persona.display_name or plan.product.value),
        "time_zone": plan.time_zone,
        "persona": {
            "display_name": persona.display_name,
            "avatar": persona.avatar,
            "role": persona.role,
            "personality": persona.personality,
        },
        "memories": [{"text": fact.text, "path": fact.path} for fact in plan.facts],
        "files": [{"name": file.name, "path": file.path, "size": len(file.content)} for file in plan.files],
        "schedules": [{**one.fields, "when": one.rhythm, "was_on": one.was_on} for one in plan.entries],
        "left_out": [{"path": one.path, "why": one.why} for one in plan.left_out],
        "secrets": [{"path": path, "why": why} for path, why in sorted(plan.secrets.items())],
    }


def free_name(called: str) -> str:
    """A technical name that goes with what an agent is called, and is free."""
    plain = unicodedata.normalize("NFKD", called).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9]+", "-", plain)[:28].strip("-") or "imported"
    taken = {agent.name for agent in get_services().agents.list_agents()}
    number = 2
    free = name
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free
