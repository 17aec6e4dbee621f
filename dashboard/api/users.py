"""People: the operator's list of who may talk to agents."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from dashboard import bodies
from dashboard.auth import operator_only
from dashboard.services import get_services
from dashboard.shapes import user_json

api = Blueprint("users", __name__)


@api.get("/api/users")
@operator_only
def list_users() -> Any:
    """All people."""
    return {"users": [user_json(get_services(), user) for user in get_services().users.list_users()]}


@api.post("/api/users")
@operator_only
def add_user() -> Any:
    """A new person."""
    return user_json(get_services(), get_services().users.add(bodies.json_body())), 201


@api.patch("/api/users/<id:user>")
@operator_only
def change_user(user: int) -> Any:
    """Other settings for a person."""
    return user_json(get_services(), get_services().users.update_user(user, bodies.json_body()))


@api.delete("/api/users/<id:user>/sessions")
@operator_only
def log_out(user: int) -> Any:
    """A person is logged out on every browser."""
    get_services().users.log_out_everywhere(user)
    return "", 204


@api.delete("/api/users/<id:user>")
@operator_only
def remove_user(user: int) -> Any:
    """A person goes, with sessions and tokens."""
    get_services().remove_user(user)
    return "", 204
