"""The web apps of an agent for the viewer: all of them as cards, and each on a page that holds it in a frame. That page
alone may hold anything, and only this one app.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, render_template

from dashboard import headers
from dashboard.apps import SeenApp, apps_of, guests_of, own_app, seen_app, shared_apps
from dashboard.auth import own_cubicle, require_asker
from dashboard.pages import log as log_lines
from dashboard.pages.frame import agent_frame, own_key, shell_frame
from dashboard.services import get_services
from orchestrator.apps.previews.csp import SANDBOX
from orchestrator.core.errors import NotFound, Unavailable
from orchestrator.files import agent_log

pages = Blueprint("apps", __name__)


@dataclass(frozen=True, slots=True)
class HeldApp:
    """An app on a page that holds it."""

    seen: SeenApp
    url: str
    """What its frame shows; empty when it can't be shown."""
    why_not: str
    sandbox: str = SANDBOX


def held(seen: SeenApp) -> HeldApp:
    """The page that is being made may hold this app."""
    try:
        url = seen.frame_url()
    except Unavailable as error:
        return HeldApp(seen, "", error.message)
    headers.allow_frame(url)
    return HeldApp(seen, url, "")


@pages.get("/agents/<name>/apps")
def gallery(name: str) -> str:
    """All apps."""
    return render_template("apps.html", **agent_frame(name, "apps"), **_found(name))


@pages.get("/parts/apps/<name>")
def cards(name: str) -> str:
    """All apps, as they stand."""
    return render_template("parts/apps.html", agent=get_services().agents.get(name), **_found(name))


@pages.get("/agents/<name>/apps/<app>")
def one(name: str, app: str) -> str:
    """One app in its frame."""
    seen = seen_app(name, app)
    return render_template(
        "app.html",
        agent=get_services().agents.get(name),
        **shell_frame(),
        held=held(seen),
        **_sharing(seen),
    )


@pages.get("/agents/<name>/apps/<app>/thumbnail")
def thumbnail(name: str, app: str) -> Response:
    """What it looks like: a picture that a stranger's browser made, handed on as it is."""
    seen = seen_app(name, app)
    path = get_services().thumbnails.picture_of(seen.app.cubicle, seen.app.name)
    if path is None:
        raise NotFound("There is no picture of this app.")
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:  # a newer one is there just now
        raise NotFound("There is no picture of this app.") from error
    kept = {"Content-Security-Policy": headers.HELD, "Cache-Control": headers.PRIVATE}
    return Response(content, mimetype="image/png", headers=kept)


@pages.get("/parts/app-guests/<name>/<app>")
def guests(name: str, app: str) -> str:
    """With whom it is shared."""
    seen = own_app(name, app)
    return render_template("parts/app_guests.html", seen=seen, **_sharing(seen))


@pages.get("/parts/app-log/<name>")
def log(name: str) -> str:
    """What the agent did, by its own log."""
    page = agent_log.read_latest(get_services().workspaces, own_cubicle(name))
    return render_template("parts/app_log.html", **log_lines.shown(page))


def _found(name: str) -> dict[str, Any]:
    return {"apps": apps_of(own_key(name)), "shared": shared_apps(name), "trouble": get_services().previews.trouble}


def _sharing(seen: SeenApp) -> dict[str, Any]:
    """Who may open it, and whom the viewer can name: only an operator is told who else there is."""
    if seen.is_guest:
        return {"guests": [], "others": []}
    found = guests_of(seen.app)
    known = {seen.owner.id, *(user.id for user in found)}
    everybody = get_services().users.list_users() if require_asker().is_operator else []
    return {"guests": found, "others": [user for user in everybody if user.id not in known]}
