"""An agent's Telegram bot, for the operator: set up, its handshake, taken away. The token goes in and never comes out;
a code comes out only where it proves something to send it back."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from dashboard import bodies
from dashboard.auth import operator_only
from dashboard.house import services
from dashboard.shapes import bot_json

api = Blueprint("telegram", __name__)


@api.get("/api/agents/<name>/telegram")
@operator_only
def one(name: str) -> Any:
    """How the agent's bot is."""
    services().agents.get(name)
    return bot_json(services().bots.get_bot(name))


@api.post("/api/agents/<name>/telegram")
@operator_only
def set_up(name: str) -> Any:
    """The agent has the bot of this token."""
    token = bodies.text(bodies.json_body("token"), "token")
    return bot_json(services().bots.set_up(name, token)), 201


@api.delete("/api/agents/<name>/telegram")
@operator_only
def remove(name: str) -> Any:
    """The agent has no bot any more."""
    services().agents.get(name)
    services().bots.remove_bot(name)
    return "", 204


@api.post("/api/agents/<name>/telegram/confirm")
@operator_only
def confirm(name: str) -> Any:
    """The operator read this code in Telegram."""
    code = bodies.text(bodies.json_body("code"), "code")
    services().agents.get(name)
    return bot_json(services().bots.confirm_code(name, code))


@api.post("/api/agents/<name>/telegram/code")
@operator_only
def new_code(name: str) -> Any:
    """Another code."""
    services().agents.get(name)
    return bot_json(services().bots.new_code(name))
