"""Agents: everybody who may talk to them sees them, the operator makes and changes them."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from dashboard import bodies
from dashboard.auth import asker, operator_only, own_cubicle
from dashboard.house import services
from dashboard.shapes import activity, agent_json
from orchestrator.core.models import Agent

api = Blueprint("agents", __name__)

_NO_TOKEN = (None, "")


@api.get("/api/agents")
def every() -> Any:
    """All agents."""
    house, who = services(), asker()
    now = activity(house)
    return {
        "agents": [agent_json(house, agent, now.of(agent.name, who.user), who.user) for agent in house.agents.every()]
    }


@api.post("/api/agents")
@operator_only
def create() -> Any:
    """A new agent. A bot's token is looked at before anything is made."""
    house, body = services(), bodies.json_body()
    token = body.pop("telegram_token", None)
    proof = None if token in _NO_TOKEN else house.bots.look_at(token)
    agent = house.agents.create(body)
    if proof is not None:
        house.bots.set_bot(agent.name, proof)
    return _shown(agent), 201


@api.get("/api/agents/<name>")
def one(name: str) -> Any:
    """One agent."""
    return _shown(services().agents.get(name))


@api.patch("/api/agents/<name>")
@operator_only
def change(name: str) -> Any:
    """Other settings for an agent; they hold from its next turn. A bot's token is looked at before anything is
    changed."""
    house, body = services(), bodies.json_body()
    has_token, token = "telegram_token" in body, body.pop("telegram_token", None)
    agent = house.agents.get(name)
    proof = None if token in _NO_TOKEN else house.bots.look_at(token, agent=name)
    if body or not has_token:
        agent = house.agents.change(name, body)
    if proof is not None:
        house.bots.set_bot(name, proof)
    elif has_token and house.bots.find_bot(name) is not None:
        house.bots.remove_bot(name)
    return _shown(agent)


@api.delete("/api/agents/<name>")
@operator_only
def remove(name: str) -> Any:
    """An agent goes, with its cubicles and workspaces."""
    services().remove_agent(name)
    return "", 204


@api.get("/api/agents/<name>/log")
def log(name: str) -> Any:
    """The end of the agent's own log, as the agent wrote it."""
    return {"log": services().log_text(own_cubicle(name))}


def _shown(agent: Agent) -> dict[str, Any]:
    house, viewer = services(), asker().user
    return agent_json(house, agent, activity(house).of(agent.name, viewer), viewer)
