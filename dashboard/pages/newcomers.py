"""The way to a new agent, for the operator: who it is, its model and budget, how to reach it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, render_template

from dashboard.auth import operator_only
from dashboard.languages import to_say
from dashboard.pages.frame import shell_frame
from dashboard.pages.settings import POLICIES
from dashboard.pages.views import REHEARSAL
from dashboard.roles import ROLES, RoleTemplate
from dashboard.services import get_services
from orchestrator.capabilities.table import REGISTRY

pages = Blueprint("newcomers", __name__)

STEPS = (to_say("Who it is"), to_say("Model and budget"), to_say("How to reach it"))


@dataclass(frozen=True, slots=True)
class RoleView:
    """A role to begin with, as a card."""

    role: RoleTemplate

    @property
    def filling(self) -> str:
        """What the form's fields become, as JSON."""
        role = self.role
        return json.dumps(
            {
                "name": role.name,
                "role": role.role,
                "personality": role.personality,
                "daily_budget_usd": role.daily_budget_usd,
                "image": role.image,
                "toolsets": role.toolsets,
            }
        )


@pages.get("/agents/new")
@operator_only
def wizard() -> str:
    """The three steps."""
    models = get_services().models()
    return render_template(
        "wizard.html",
        **shell_frame(),
        steps=STEPS,
        roles=[RoleView(role) for role in ROLES],
        policies=POLICIES,
        toolsets=REGISTRY.toolsets.values(),
        taken=[agent.name for agent in get_services().agents.list_agents()],
        **_models(models),
    )


def _models(models: dict[str, Any]) -> dict[str, Any]:
    providers = {provider["name"]: provider["default_model"] for provider in models["providers"]}
    default = models["default"]
    return {
        "providers": [(name, model) for name, model in providers.items() if name != REHEARSAL],
        "default": default,
        "default_model": providers.get(default, ""),
        "is_rehearsal": default == REHEARSAL,
    }
