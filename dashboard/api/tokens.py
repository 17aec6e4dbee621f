"""Ways in, made and taken away by the operator: API tokens for programs and one-time login links for people, each shown
once; and everybody's logins ended at once.
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint, request

from dashboard import bodies, origin
from dashboard.auth import operator_only, require_asker
from dashboard.services import get_services
from dashboard.times import iso_time
from orchestrator.agents import public_url as reach
from orchestrator.agents.users import LINK_S

api = Blueprint("tokens", __name__)


@api.get("/api/tokens")
@operator_only
def list_tokens() -> Any:
    """Every API token, without what it is."""
    return {
        "tokens": [
            {
                "name": token.name,
                "user": token.user,
                "created_at": iso_time(token.created_at),
                "used_at": iso_time(token.used_at),
            }
            for token in get_services().users.list_tokens()
        ]
    }


@api.post("/api/tokens")
@operator_only
def make_token() -> Any:
    """An API token, for the asker or for the person that is named."""
    body = bodies.json_body("name", "user")
    name = bodies.text_field(body, "name")
    return {"name": name, "token": get_services().users.make_token(name, _for_whom(body))}, 201


@api.delete("/api/tokens/<path:token>")
@operator_only
def remove_token(token: str) -> Any:
    """An API token works no more."""
    get_services().users.remove_token(token)
    return "", 204


@api.post("/api/login-links")
@operator_only
def make_link() -> Any:
    """A login link that works once: for the asker, within 15 minutes, or for the person that is named, within a day."""
    body, services = bodies.json_body("user") if request.content_length else {}, get_services()
    user = services.users.get(_for_whom(body))
    base, valid_for_s = services.settings.link_url, LINK_S
    if user.id != require_asker().user.id:
        came_by = origin.own_origin(services.settings.public_url)
        base = reach.get_public_url(services.settings, services.install_settings, came_by=came_by)
        valid_for_s = reach.OTHERS_LINK_S
    code = services.users.make_link(user.id, good_for_s=valid_for_s)
    answer = {"url": f"{base}/login/{code}", "valid_for_s": valid_for_s, "is_local": reach.is_local(base)}
    return {**answer, "name": user.name}, 201


@api.delete("/api/sessions")
@operator_only
def log_everybody_out() -> Any:
    """Nobody is logged in any more, the asker neither."""
    who = require_asker()
    get_services().users.log_everybody_out(by=f"{who.user.name} ({who.surface})")
    return "", 204


def _for_whom(body: dict[str, Any]) -> int:
    return get_services().users.get(bodies.int_field(body, "user", default=require_asker().user.id)).id
