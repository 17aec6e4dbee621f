"""New ways in, made by the operator: an API token for a program, a one-time login link for a person. Each is shown
once.
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint, request

from dashboard import bodies
from dashboard.auth import asker, operator_only
from dashboard.house import services

api = Blueprint("tokens", __name__)


@api.post("/api/tokens")
@operator_only
def make_token() -> Any:
    """An API token, for the asker or for the person that is named."""
    body = bodies.json_body("name", "user")
    name = bodies.text(body, "name")
    return {"name": name, "token": services().people.make_token(name, _for_whom(body))}, 201


@api.post("/api/login-links")
@operator_only
def make_link() -> Any:
    """A login link that works once, within 15 minutes, for the asker or for the person that is named."""
    body = bodies.json_body("user") if request.content_length else {}
    code = services().people.make_link(_for_whom(body))
    return {"url": f"{services().settings.link_url}/login/{code}"}, 201


def _for_whom(body: dict[str, Any]) -> int:
    return services().people.get(bodies.whole(body, "user", default=asker().user.id)).id
