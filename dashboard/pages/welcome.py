"""The first page of somebody who was added and came in by their link: a password, their time zone, what the agents are.
It may be skipped; the same is under *You*.
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint, redirect, render_template

from dashboard.auth import require_asker
from dashboard.pages.you import zones
from dashboard.services import get_services

pages = Blueprint("welcome", __name__)


@pages.get("/welcome")
def welcome() -> Any:
    """The whole page; nothing for somebody who has a password already."""
    users, user = get_services().users, require_asker().user
    if users.has_password(user.id):
        return redirect("/", 303)
    logins = get_services().oidc
    return render_template(
        "welcome.html",
        host=users.get_operator().name,
        zones=zones(),
        oidc=logins.settings,
        oidc_account=logins.account_of(user.id),
    )
