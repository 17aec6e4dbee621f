"""Agents: everybody who may talk to them sees them, the operator makes and changes them."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from dashboard import bodies
from dashboard.auth import operator_only, own_agents, own_cubicle, require_asker
from dashboard.services import get_services
from dashboard.shapes import agent_json, current_activity
from orchestrator.capabilities.roles import ROLES, find_role, role_json
from orchestrator.core.models import Agent

api = Blueprint("agents", __name__)

_NO_TOKEN = (None, "")


@api.get("/api/agents")
def list_agents() -> Any:
    """All agents."""
    services, who = get_services(), require_asker()
    now = current_activity(services)
    return {"agents": [agent_json(services, agent, now.of(agent.name, who.user), who.user) for agent in own_agents()]}


@api.post("/api/agents")
@operator_only
def create_agent() -> Any:
    """A new agent. A bot's token is looked at before anything is made."""
    services, body = get_services(), bodies.json_body()
    token, people = body.pop("telegram_token", None), body.pop("people", None)
    if "template" in body:
        body = {**find_role(body.pop("template")).settings, **body}
    proof = None if token in _NO_TOKEN else services.bots.look_at(token)
    services.access.check_people(people)
    agent = services.agents.create(body)
    services.access.set_people(agent.name, people, by=require_asker().user.name)
    if proof is not None:
        services.bots.set_bot(agent.name, proof)
    return _agent_json(agent), 201


@api.get("/api/roles")
def list_roles() -> Any:
    """The templates that a new agent may begin with."""
    return {"roles": [role_json(template) for template in ROLES]}


@api.get("/api/agents/<name>")
def get_agent(name: str) -> Any:
    """One agent."""
    return _agent_json(get_services().agents.get(name))


@api.patch("/api/agents/<name>")
@operator_only
def change_agent(name: str) -> Any:
    """Other settings for an agent; they hold from its next turn. A bot's token is looked at before anything is
    changed."""
    services, body = get_services(), bodies.json_body()
    has_token, token = "telegram_token" in body, body.pop("telegram_token", None)
    has_people, people = "people" in body, body.pop("people", None)
    agent = services.agents.get(name)
    proof = None if token in _NO_TOKEN else services.bots.look_at(token, agent=name)
    if has_people:
        services.access.check_people(people)
    if body or not (has_token or has_people):
        agent = services.agents.update_agent(name, body)
    if has_people:
        services.access.set_people(name, people, by=require_asker().user.name)
    if proof is not None:
        services.bots.set_bot(name, proof)
    elif has_token and services.bots.find_bot(name) is not None:
        services.bots.remove_bot(name)
    return _agent_json(agent)


@api.delete("/api/agents/<name>")
@operator_only
def remove_agent(name: str) -> Any:
    """An agent goes, with its cubicles and workspaces."""
    get_services().remove_agent(name)
    return "", 204


@api.get("/api/agents/<name>/log")
def read_log(name: str) -> Any:
    """The end of the agent's own log, as the agent wrote it."""
    return {"log": get_services().log_text(own_cubicle(name))}


def _agent_json(agent: Agent) -> dict[str, Any]:
    services, viewer = get_services(), require_asker().user
    return agent_json(services, agent, current_activity(services).of(agent.name, viewer), viewer)
