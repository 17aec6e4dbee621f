"""The first page: what waits for you, and your agents. Its parts are fetched again when there is news."""

from __future__ import annotations

from flask import Blueprint, render_template

from dashboard.apps import shared_apps
from dashboard.pages.asking import pending
from dashboard.pages.cards import card_views
from dashboard.pages.frame import shell_frame

pages = Blueprint("home", __name__)


@pages.get("/")
def home() -> str:
    """The whole page."""
    return render_template("home.html", **shell_frame(), cards=card_views(), shared=shared_apps())


@pages.get("/parts/waiting")
def waiting() -> str:
    """The questions that wait."""
    return render_template("parts/waiting.html", waiting=pending())


@pages.get("/parts/agents")
def agents() -> str:
    """The agents as cards."""
    return render_template("parts/agents.html", cards=card_views())


@pages.get("/parts/side")
def side() -> str:
    """The agents as a list beside every page."""
    return render_template("parts/side.html", **shell_frame())
