"""The viewer's own page: who they are here, the clock that they live by, their password and their logins."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, render_template

from dashboard.auth import require_asker
from dashboard.pages.devices import phone_parts, push_parts
from dashboard.pages.frame import shell_frame
from dashboard.services import get_services
from dashboard.shapes import session_facts
from orchestrator.core.time_zones import list_time_zones

pages = Blueprint("you", __name__)


@pages.get("/you")
def you() -> str:
    """The whole page."""
    services, user = get_services(), require_asker().user
    given = services.settings.secrets.get("HERMIT_ADMIN_PASSWORD")
    return render_template(
        "you.html",
        **shell_frame(),
        zones=zones(),
        sessions=_sessions(),
        has_password=services.users.has_password(user.id),
        **push_parts(),
        **phone_parts(),
        password_setting=bool(given) and user.id == services.users.get_operator().id,
    )


@pages.get("/parts/push")
def push() -> str:
    """Where one gets notifications."""
    return render_template("parts/push.html", **push_parts())


@pages.get("/parts/sessions")
def sessions() -> str:
    """Where one is logged in."""
    return render_template("parts/sessions.html", sessions=_sessions())


def _sessions() -> list[dict[str, Any]]:
    who = require_asker()
    return [session_facts(session, who.session) for session in get_services().users.list_sessions(who.user.id)]


def zones() -> tuple[str, ...]:
    """The clocks that there are to choose from."""
    return tuple(sorted(zone for zone in list_time_zones() if "/" in zone or zone == "UTC"))
