"""What agents made, as tiles: web apps with their pictures, files that were delivered. The newest of both for the first
page, and all of each on a page of its own, over all agents.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from operator import attrgetter

from flask import Blueprint, render_template

from dashboard import bodies
from dashboard.apps import SeenApp, apps_of, shared_apps
from dashboard.auth import own_agents, require_asker
from dashboard.languages import size
from dashboard.pages.frame import shell_frame
from dashboard.paths import encode_path
from dashboard.services import get_services
from dashboard.sights import sight_of
from orchestrator.capabilities.delivery.messages import format_size
from orchestrator.core.errors import OrchestratorError
from orchestrator.core.models import CubicleKey, Delivery

pages = Blueprint("made", __name__)

TILES = 8
"""On the first page."""
_AT_LEAST = TILES // 2
"""Of apps, and of files, where there are so many."""
PAGE = 48
MOST_APPS = 300
_LOOKED_AT = 4 * TILES
_PICTURE_BYTES = 4 * 1024**2
"""Nothing here makes pictures smaller, so a large one has a sign in its place."""
_ENDING = re.compile(r"\.([A-Za-z0-9]{1,4})$")


@dataclass(frozen=True, slots=True)
class FileTile:
    """A file that was delivered."""

    delivery: Delivery
    url: str
    """Where it is to be seen; empty when it is gone."""
    picture: str
    """It itself, where it is a picture that may be shown; else empty."""

    @property
    def at(self) -> float:
        """When it was delivered."""
        return self.delivery.at

    @property
    def size(self) -> str:
        """How large it is."""
        return size(format_size(self.delivery.size_bytes))

    @property
    def ending(self) -> str:
        """What kind of file its name says it is, for its sign: ``PDF``; empty when that says nothing."""
        found = _ENDING.search(self.delivery.name)
        return found[1].upper() if found else ""


@dataclass(frozen=True, slots=True)
class AppTile:
    """A web app."""

    seen: SeenApp

    @property
    def at(self) -> float:
        """When it was changed."""
        return self.seen.app.changed_at


def newest_made(agents: Collection[str]) -> list[AppTile | FileTile]:
    """The newest that these agents made for the viewer, and apps that others share with them, newest first."""
    apps, files = _newest_apps(agents), _newest_files(agents)
    some = max(_AT_LEAST, TILES - len(files))
    shown: list[AppTile | FileTile] = [*apps[:some], *files[: TILES - len(apps[:some])]]
    return sorted(shown, key=attrgetter("at"), reverse=True)


@pages.get("/parts/made")
def made_now() -> str:
    """The newest, as they stand."""
    return render_template("parts/made.html", made=newest_made(_agents()))


@pages.get("/apps")
def apps() -> str:
    """All apps over all agents, the newest first, and those that others share with the viewer."""
    return render_template("all_apps.html", **shell_frame(), **_all_apps())


@pages.get("/parts/all-apps")
def apps_now() -> str:
    """All apps, as they stand."""
    return render_template("parts/all_apps.html", **_all_apps())


@pages.get("/files")
def files() -> str:
    """All files that were delivered, over all agents, page by page."""
    before, user = bodies.whole_arg("before"), require_asker().user.id
    found = get_services().recaps.list_files(user, limit=PAGE + 1, before=before)
    known = set(_agents())
    return render_template(
        "all_files.html",
        **shell_frame(),
        tiles=[_file_tile(one) for one in found[:PAGE] if one.cubicle.agent in known],
        newest="/files" if before else "",
        older=f"/files?before={found[PAGE - 1].id}" if len(found) > PAGE else "",
    )


def _all_apps() -> dict[str, object]:
    user = require_asker().user.id
    own = [seen for name in _agents() for seen in _apps_with(CubicleKey(name, user))]
    own.sort(key=lambda seen: seen.app.changed_at, reverse=True)
    return {
        "apps": own[:MOST_APPS],
        "more": len(own[MOST_APPS:]),
        "shared": shared_apps(),
        "trouble": get_services().previews.trouble,
    }


def _apps_with(key: CubicleKey) -> list[SeenApp]:
    """One agent's; a workspace that can't be read hides no other's."""
    try:
        return apps_of(key)
    except OrchestratorError:
        return []


def _newest_apps(agents: Collection[str]) -> list[AppTile]:
    services, user = get_services(), require_asker().user
    found = [AppTile(seen) for seen in shared_apps() if seen.is_open]
    for made in services.recaps.list_made_apps(user.id):
        if made.agent not in agents:
            continue
        try:
            app = services.previews.get_app(CubicleKey(made.agent, user.id), made.name)
        except OrchestratorError:  # it is gone
            continue
        tile = AppTile(SeenApp(app, user, is_guest=False))
        found += [tile] if tile.seen.is_open else []
        if len(found) >= _LOOKED_AT:
            break
    return sorted(found, key=attrgetter("at"), reverse=True)[:TILES]


def _newest_files(agents: Collection[str]) -> list[FileTile]:
    """Each file once, as it was delivered last."""
    known: dict[tuple[str, bytes], Delivery] = {}
    for delivery in get_services().recaps.list_files(require_asker().user.id, limit=_LOOKED_AT):
        if delivery.cubicle.agent in agents:
            known.setdefault((delivery.cubicle.agent, delivery.path), delivery)
    return [_file_tile(delivery) for delivery in list(known.values())[:TILES]]


def _file_tile(delivery: Delivery) -> FileTile:
    """By its private copy; where that is not kept any more, by what lies in its place."""
    home = f"/agents/{delivery.cubicle.agent}"
    if delivery.copy:
        url = f"{home}/delivered/{delivery.id}"
        is_small = delivery.size_bytes <= _PICTURE_BYTES
        is_picture = is_small and sight_of(delivery).sort == "picture"
        return FileTile(delivery, url, f"{url}/content" if is_picture else "")
    parts = (b"out", *delivery.path.split(b"/"))
    try:
        entry = get_services().workspaces.get_entry(delivery.cubicle, parts)
    except OrchestratorError:
        return FileTile(delivery, "", "")
    return FileTile(delivery, "" if entry.kind == "other" else f"{home}/files/{encode_path(*parts)}", "")


def _agents() -> list[str]:
    return [agent.name for agent in own_agents()]
