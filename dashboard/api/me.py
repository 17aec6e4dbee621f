"""Oneself: every person may look at their own entry, and say which clock they live by."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from dashboard import bodies
from dashboard.auth import asker
from dashboard.house import services
from dashboard.shapes import user_json

api = Blueprint("me", __name__)


@api.get("/api/me")
def me() -> Any:
    """Who asks."""
    return user_json(asker().user)


@api.patch("/api/me")
def change() -> Any:
    """Another time zone. With ``if_unknown`` only where none was ever said: a browser's guess overrides nobody."""
    who, body = asker().user, bodies.json_body("time_zone", "if_unknown")
    zone, is_guess = bodies.text(body, "time_zone"), bodies.flag(body, "if_unknown")
    if is_guess and who.time_zone_known:
        return user_json(who)
    return user_json(services().people.change(who.id, {"time_zone": zone}))
