"""What the person who asks may see of web apps: their own, another person's for an operator, and single ones that
somebody shares with them. And where each is found: its page here, and its frame on the preview origin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from flask import request

from dashboard import origin
from dashboard.auth import login_digest, own_cubicle, require_asker
from dashboard.services import get_services
from dashboard.times import iso_time
from orchestrator.apps.previews.apps import AppKind, WebApp
from orchestrator.core.errors import Forbidden, NotFound, OrchestratorError, Unavailable
from orchestrator.core.models import CubicleKey, Turn, User


@dataclass(frozen=True, slots=True)
class SeenApp:
    """An app as the asker sees it."""

    app: WebApp
    owner: User
    is_guest: bool
    """The asker sees it because it is shared with them, and sees nothing else of its owner."""

    @property
    def is_own(self) -> bool:
        """It is the asker's."""
        return self.owner.id == require_asker().user.id

    @property
    def is_open(self) -> bool:
        """There is something to look at."""
        return self.app.kind is not AppKind.INCOMPLETE

    @property
    def is_live(self) -> bool:
        """It is a server in the cubicle."""
        return self.app.kind is AppKind.LIVE

    @property
    def whose(self) -> str:
        """What a URL needs to say whose it is; empty for the asker's own."""
        return "" if self.is_own else f"?user={self.owner.id}"

    @property
    def path(self) -> str:
        """Its page here."""
        return f"/agents/{self.app.cubicle.agent}/apps/{quote_name(self.app.name)}{self.whose}"

    @property
    def picture(self) -> str:
        """What it looks like, as a path; empty while nobody has taken a picture."""
        found = get_services().thumbnails.picture_of(self.app.cubicle, self.app.name)
        if found is None:
            return ""
        path, mark, whose = self.path.partition("?")
        return f"{path}/thumbnail?v={found.stem}{'&' if mark else ''}{whose}"

    @property
    def letters(self) -> str:
        """The first letters of its title, to be drawn where there is no picture; empty when it has none."""
        return "".join(word[0] for word in self.app.title.split() if word[0].isalnum())[:2].upper()

    @property
    def api_path(self) -> str:
        """Where it is shared."""
        return f"/api/agents/{self.app.cubicle.agent}/apps/{quote_name(self.app.name)}/share{self.whose}"

    def frame_url(self) -> str:
        """Where its frame finds it, for some hours; raises Unavailable with the reason."""
        if not self.is_open:
            raise Unavailable(self.app.missing)
        return get_services().previews.frame_url(self.app, dashboard=dashboard_origin(), login=login_digest())


def dashboard_origin() -> str:
    """How the asker's browser calls us."""
    return origin.own_origin(get_services().settings.public_url)


def quote_name(name: str) -> str:
    """An app's name as a part of a path."""
    return quote(name, safe="")


def apps_of(key: CubicleKey) -> list[SeenApp]:
    """All apps of a cubicle that is the asker's to look into."""
    owner = get_services().users.get(key.user)
    return [SeenApp(app, owner, is_guest=False) for app in get_services().previews.apps.list_apps(key)]


def shared_apps(agent: str = "") -> list[SeenApp]:
    """What others share with the asker, of one agent or of all; what is no longer there is left out."""
    services, viewer = get_services(), require_asker().user
    found = []
    for key, name in services.previews.shares.shared_with(viewer.id):
        if (agent and key.agent != agent) or not _may_visit(key):
            continue
        try:
            app, owner = services.previews.get_app(key, name), services.users.get(key.user)
        except OrchestratorError:
            continue
        found.append(SeenApp(app, owner, is_guest=not require_asker().is_operator))
    return found


def seen_app(agent: str, name: str) -> SeenApp:
    """One app, with ``?user=ID`` another person's: for an operator, or when it is shared with the asker. Raises
    NotFound, Forbidden."""
    key, is_guest = _owner_of(agent, name)
    services = get_services()
    return SeenApp(services.previews.get_app(key, name), services.users.get(key.user), is_guest)


def own_app(agent: str, name: str) -> SeenApp:
    """One app that the asker may decide about; raises NotFound, Forbidden for a guest."""
    key = own_cubicle(agent)
    return SeenApp(get_services().previews.get_app(key, name), get_services().users.get(key.user), is_guest=False)


def changed_in(turn: Turn) -> list[SeenApp]:
    """The apps that a turn made or changed, those that are still there."""
    found = []
    for name in turn.apps:
        try:
            app, owner = (
                get_services().previews.get_app(turn.cubicle, name),
                get_services().users.get(turn.cubicle.user),
            )
        except NotFound:
            continue
        found.append(SeenApp(app, owner, is_guest=False))
    return [seen for seen in found if seen.is_open]


def guests_of(app: WebApp) -> list[User]:
    """With whom an app is shared."""
    services = get_services()
    guests = set(services.previews.shares.list_guests(app.cubicle, app.name))
    return [user for user in services.users.list_users() if user.id in guests]


def app_json(seen: SeenApp) -> dict[str, Any]:
    """An app with its addresses; without the second there is the reason."""
    app = seen.app
    try:
        frame_url, reason = seen.frame_url(), None
    except Unavailable as error:
        frame_url, reason = None, error.message
    return {
        "name": app.name,
        "title": app.title,
        "kind": str(app.kind),
        "port": app.port,
        "missing": app.missing or None,
        "changed_at": iso_time(app.changed_at) if app.changed_at else None,
        "agent": app.cubicle.agent,
        "user": seen.owner.id,
        "owner": seen.owner.name,
        "shared_with": [] if seen.is_guest else [{"id": user.id, "name": user.name} for user in guests_of(app)],
        "view_url": f"{dashboard_origin()}{seen.path}",
        "thumbnail_url": f"{dashboard_origin()}{picture}" if (picture := seen.picture) else None,
        "frame_url": frame_url,
        "reason": reason,
    }


def _owner_of(agent: str, name: str) -> tuple[CubicleKey, bool]:
    """Whose app is meant, and whether the asker is a guest there."""
    try:
        return own_cubicle(agent), False
    except Forbidden:
        wanted = request.args.get("user", "")
        if not wanted.isdecimal() or len(wanted) > 15:
            raise
        key = CubicleKey(agent, int(wanted))
        if not _may_visit(key) or not get_services().previews.shares.has_guest(key, name, require_asker().user.id):
            raise
        return key, True


def _may_visit(key: CubicleKey) -> bool:
    """The agent is open to the asker, and to whom the app belongs."""
    who, access = require_asker(), get_services().access
    return who.is_operator or (access.is_open(key) and access.is_open(CubicleKey(key.agent, who.user.id)))
