"""The viewer's own page: who they are here, the clock that they live by, their password and their logins."""

from __future__ import annotations

import zoneinfo
from functools import cache
from typing import Any

from flask import Blueprint, render_template

from dashboard.auth import require_asker
from dashboard.pages.frame import shell_frame
from dashboard.services import get_services
from dashboard.shapes import session_facts

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
        budget=services.budget.get_person_standing(user.id),
        has_password=services.users.has_password(user.id),
        password_setting=bool(given) and user.id == services.users.get_operator().id,
    )


@pages.get("/parts/sessions")
def sessions() -> str:
    """Where one is logged in."""
    return render_template("parts/sessions.html", sessions=_sessions())


def _sessions() -> list[dict[str, Any]]:
    who = require_asker()
    return [session_facts(session, who.session) for session in get_services().users.list_sessions(who.user.id)]


@cache
def zones() -> tuple[str, ...]:
    """The clocks that there are to choose from; looking through the files that say so takes a while."""
    return tuple(sorted(zone for zone in zoneinfo.available_timezones() if "/" in zone or zone == "UTC"))
