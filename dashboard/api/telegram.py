"""An agent's Telegram bot, for the operator: set up, its handshake, taken away. The token goes in and never comes out;
a code comes out only where it proves something to send it back."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from dashboard import bodies
from dashboard.auth import operator_only
from dashboard.services import get_services
from dashboard.shapes import bot_json

api = Blueprint("telegram", __name__)


@api.get("/api/agents/<name>/telegram")
@operator_only
def get_bot(name: str) -> Any:
    """How the agent's bot is."""
    get_services().agents.get(name)
    return bot_json(get_services().bots.get_bot(name))


@api.post("/api/agents/<name>/telegram")
@operator_only
def set_up(name: str) -> Any:
    """The agent has the bot of this token."""
    token = bodies.text_field(bodies.json_body("token"), "token")
    return bot_json(get_services().bots.set_up(name, token)), 201


@api.delete("/api/agents/<name>/telegram")
@operator_only
def remove_bot(name: str) -> Any:
    """The agent has no bot any more."""
    get_services().agents.get(name)
    get_services().bots.remove_bot(name)
    return "", 204


@api.post("/api/agents/<name>/telegram/confirm")
@operator_only
def confirm_code(name: str) -> Any:
    """The operator read this code in Telegram."""
    code = bodies.text_field(bodies.json_body("code"), "code")
    get_services().agents.get(name)
    return bot_json(get_services().bots.confirm_code(name, code))


@api.post("/api/agents/<name>/telegram/code")
@operator_only
def new_code(name: str) -> Any:
    """Another code."""
    get_services().agents.get(name)
    return bot_json(get_services().bots.new_code(name))
