"""What stands under the field of a conversation: its model, how full the context is, what it cost, and the choice of
another model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Blueprint, render_template

from dashboard import bodies
from dashboard.pages.frame import own_key
from dashboard.pages.money import money_of
from dashboard.pages.providers import ModelView, list_models
from dashboard.pages.views import REHEARSAL
from dashboard.services import get_services
from orchestrator.core.models import Agent
from orchestrator.llm.conversation_use import ConversationUse

pages = Blueprint("meter", __name__)


@dataclass(frozen=True, slots=True)
class ModelMeter:
    """A conversation's line."""

    provider: str
    model: str
    """The one that is asked next."""
    use: ConversationUse
    choices: tuple[ModelView, ...]


@pages.get("/parts/meter/<name>")
def meter(name: str) -> str:
    """The line as it stands."""
    key = own_key(name)
    found = get_services().conversations.get(key, bodies.whole_arg("conversation"))
    return render_template("parts/meter.html", **meter_facts(get_services().agents.get(name), found.id))


def meter_facts(agent: Agent, conversation: int) -> dict[str, Any]:
    """For the template; nothing in the demo, which costs nothing and forgets nothing."""
    services = get_services()
    provider = agent.provider or services.providers.default()
    if provider == REHEARSAL:
        return {"meter": None}
    state = services.providers.get_state(provider)
    use = services.budget.read_use(conversation)
    suggested = state.suggestions[0].name if state.suggestions else ""
    model = agent.model or state.model or suggested or use.model
    found = ModelMeter(state.label, model, use, list_models(state))
    return {"agent": agent, "meter": found, "money": money_of(agent.name)}
