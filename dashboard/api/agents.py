"""Agents: everybody who may talk to them sees them, the operator makes and changes them."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from dashboard import bodies
from dashboard.auth import asker, operator_only, own_cubicle
from dashboard.house import services
from dashboard.shapes import activity, agent_json
from orchestrator.nouns import Agent

api = Blueprint("agents", __name__)


@api.get("/api/agents")
def every() -> Any:
    """All agents."""
    house, who = services(), asker()
    now = activity(house)
    return {"agents": [agent_json(house, agent, now.of(agent.name, who.user)) for agent in house.agents.every()]}


@api.post("/api/agents")
@operator_only
def create() -> Any:
    """A new agent."""
    return _shown(services().agents.create(bodies.json_body())), 201


@api.get("/api/agents/<name>")
def one(name: str) -> Any:
    """One agent."""
    return _shown(services().agents.get(name))


@api.patch("/api/agents/<name>")
@operator_only
def change(name: str) -> Any:
    """Other settings for an agent; they hold from its next turn."""
    return _shown(services().agents.change(name, bodies.json_body()))


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
    house = services()
    return agent_json(house, agent, activity(house).of(agent.name, asker().user))
