"""The viewer's own page: who they are here, and the clock that they live by."""

from __future__ import annotations

import zoneinfo

from flask import Blueprint, render_template

from dashboard.pages.asking import pending
from dashboard.pages.views import agent_views

pages = Blueprint("you", __name__)


@pages.get("/you")
def you() -> str:
    """The whole page."""
    return render_template("you.html", agents=agent_views(), waiting=pending(), zones=zones())


def zones() -> list[str]:
    """The clocks that there are to choose from."""
    return sorted(zone for zone in zoneinfo.available_timezones() if "/" in zone or zone == "UTC")
