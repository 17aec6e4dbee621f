"""The way to a new agent, for the operator: who it is, its model and budget, how to reach it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, render_template

from dashboard.auth import operator_only
from dashboard.languages import to_say
from dashboard.pages.frame import shell_frame
from dashboard.pages.settings import POLICIES, look_choices
from dashboard.pages.views import REHEARSAL
from dashboard.services import get_services
from orchestrator.agents.looks import Look, look_of
from orchestrator.capabilities.roles import ROLES, RoleTemplate
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
        settings = self.role.settings
        limits = {f"limits.{name}": value for name, value in settings.pop("limits").items()}
        return json.dumps({"name": self.role.name, **settings, **limits})

    @property
    def look(self) -> Look:
        """Its sign and its colour."""
        return look_of(self.role.name, self.role.avatar, self.role.color)


@pages.get("/agents/new")
@operator_only
def wizard() -> str:
    """The three steps."""
    models = get_services().models()
    return render_template(
        "wizard.html",
        **shell_frame(),
        steps=STEPS,
        **look_choices(),
        chosen=RoleView(ROLES[0]).look,
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
