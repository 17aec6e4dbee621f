"""Agents: everybody who may talk to them sees them, the operator makes and changes them."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from dashboard import bodies
from dashboard.auth import operator_only, own_cubicle, require_asker
from dashboard.house import get_services
from dashboard.shapes import agent_json, current_activity
from orchestrator.core.models import Agent

api = Blueprint("agents", __name__)

_NO_TOKEN = (None, "")


@api.get("/api/agents")
def list_agents() -> Any:
    """All agents."""
    house, who = get_services(), require_asker()
    now = current_activity(house)
    return {
        "agents": [
            agent_json(house, agent, now.of(agent.name, who.user), who.user) for agent in house.agents.list_agents()
        ]
    }


@api.post("/api/agents")
@operator_only
def create_agent() -> Any:
    """A new agent. A bot's token is looked at before anything is made."""
    house, body = get_services(), bodies.json_body()
    token = body.pop("telegram_token", None)
    proof = None if token in _NO_TOKEN else house.bots.look_at(token)
    agent = house.agents.create(body)
    if proof is not None:
        house.bots.set_bot(agent.name, proof)
    return _agent_json(agent), 201


@api.get("/api/agents/<name>")
def get_agent(name: str) -> Any:
    """One agent."""
    return _agent_json(get_services().agents.get(name))


@api.patch("/api/agents/<name>")
@operator_only
def change_agent(name: str) -> Any:
    """Other settings for an agent; they hold from its next turn. A bot's token is looked at before anything is
    changed."""
    house, body = get_services(), bodies.json_body()
    has_token, token = "telegram_token" in body, body.pop("telegram_token", None)
    agent = house.agents.get(name)
    proof = None if token in _NO_TOKEN else house.bots.look_at(token, agent=name)
    if body or not has_token:
        agent = house.agents.update_agent(name, body)
    if proof is not None:
        house.bots.set_bot(name, proof)
    elif has_token and house.bots.find_bot(name) is not None:
        house.bots.remove_bot(name)
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
    house, viewer = get_services(), require_asker().user
    return agent_json(house, agent, current_activity(house).of(agent.name, viewer), viewer)
