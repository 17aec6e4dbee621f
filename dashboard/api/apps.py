"""The web apps that agents make in ``www/``, each with the page that holds it and the URL for a frame; and with whom
they are shared.
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from dashboard import bodies
from dashboard.apps import app_json, apps_of, own_app, seen_app, shared_apps
from dashboard.auth import own_agents, own_cubicle, require_asker
from dashboard.services import get_services
from orchestrator.core.errors import BadInput, NotFound
from orchestrator.core.models import CubicleKey, User
from orchestrator.core.text import one_line
from orchestrator.languages.told import worded

api = Blueprint("apps_api", __name__)


@api.get("/api/apps")
def list_all_apps() -> Any:
    """All apps that the asker may open: their own of every agent, and what others share with them."""
    me = require_asker().user.id
    own = [seen for agent in own_agents() for seen in apps_of(CubicleKey(agent.name, me))]
    return {"apps": [app_json(seen) for seen in (*own, *shared_apps())]}


@api.get("/api/agents/<name>/apps")
def list_apps(name: str) -> Any:
    """The apps of one cubicle, by name."""
    return {"apps": [app_json(seen) for seen in apps_of(own_cubicle(name))]}


@api.get("/api/agents/<name>/apps/<app>")
def get_app(name: str, app: str) -> Any:
    """One app."""
    return app_json(seen_app(name, app))


@api.post("/api/agents/<name>/apps/<app>/share")
def share_app(name: str, app: str) -> Any:
    """Somebody else of this install may open the app, too."""
    seen, who = own_app(name, app), require_asker()
    found = seen.app
    get_services().previews.shares.add_guest(
        found.cubicle, found.name, _person_in_body(), by=f"{who.user.name} ({who.surface})"
    )
    return app_json(seen)


@api.delete("/api/agents/<name>/apps/<app>/share")
def unshare_app(name: str, app: str) -> Any:
    """They may not any more, whether the app is still there or not."""
    key, who = own_cubicle(name), require_asker()
    get_services().previews.shares.remove_guest(key, app, _person_in_body(), by=f"{who.user.name} ({who.surface})")
    return "", 204


def _person_in_body() -> User:
    """Who is meant: by number, or by name as a person types it."""
    wanted = bodies.json_body("user").get("user")
    users = get_services().users
    if type(wanted) is int:
        return users.get(wanted)
    if not isinstance(wanted, str) or not wanted.strip():
        raise BadInput("user: send the number or the name of a person of this install.")
    name = wanted.strip().casefold()
    found = next((user for user in users.list_users() if user.name.casefold() == name), None)
    if found is None:
        raise NotFound(worded("Nobody here is called %(name)s.", name=one_line(wanted.strip(), 40)))
    return found
