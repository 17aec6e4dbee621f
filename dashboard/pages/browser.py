"""An agent's browser as its person watches it. What it shows comes by the API; the page itself starts nothing."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, render_template

from dashboard.pages.frame import agent_frame, own_key
from dashboard.services import get_services
from orchestrator.capabilities.browser.addresses import host_in
from orchestrator.capabilities.browser.live_view import BrowserLook
from orchestrator.core.models import CubicleKey

pages = Blueprint("browser", __name__)


@pages.get("/agents/<name>/browser")
def browser(name: str) -> str:
    """The whole page."""
    framed = agent_frame(name, "browser")
    return render_template(
        "browser.html",
        **framed,
        can_browse="browser" in framed["agent"].toolsets,
        remote_host=get_services().live_views.remote_host,
        **_logins_of(own_key(name)),
    )


@pages.get("/parts/kept-logins/<name>")
def kept_logins(name: str) -> str:
    """The sites whose logins stay."""
    found = _logins_of(own_key(name))
    return render_template("parts/kept_logins.html", agent=get_services().agents.get(name), **found)


@pages.get("/parts/browser/<name>")
def sign(name: str) -> str:
    """The sign in the chat that the browser is open, or nothing."""
    key = own_key(name)
    return render_template("parts/browser_sign.html", agent=get_services().agents.get(name), browser=browser_sign(key))


def _logins_of(key: CubicleKey) -> dict[str, Any]:
    kept = get_services().kept_logins
    return {"kept_logins": kept.list_logins(key), "cookie_names": kept.list_cookies(key)}


def browser_sign(key: CubicleKey) -> tuple[BrowserLook, str]:
    """The viewer's browser with the agent, and the host of its page."""
    look = get_services().live_views.look(key)
    return look, host_in(look.url)
