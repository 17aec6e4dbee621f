"""People: the operator's list of who may talk to agents."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from dashboard import bodies
from dashboard.auth import operator_only
from dashboard.house import services
from dashboard.shapes import user_json

api = Blueprint("users", __name__)


@api.get("/api/users")
@operator_only
def every() -> Any:
    """All people."""
    return {"users": [user_json(user) for user in services().people.list_users()]}


@api.post("/api/users")
@operator_only
def add() -> Any:
    """A new person."""
    return user_json(services().people.add(bodies.json_body())), 201


@api.patch("/api/users/<id:user>")
@operator_only
def change(user: int) -> Any:
    """Other settings for a person."""
    return user_json(services().people.update_user(user, bodies.json_body()))


@api.delete("/api/users/<id:user>/sessions")
@operator_only
def log_out(user: int) -> Any:
    """A person is logged out on every browser."""
    services().people.log_out_everywhere(user)
    return "", 204


@api.delete("/api/users/<id:user>")
@operator_only
def remove(user: int) -> Any:
    """A person goes, with sessions and tokens."""
    services().remove_user(user)
    return "", 204
