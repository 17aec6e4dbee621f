"""The page that holds a terminal. What is shown on it comes by the API; the page itself starts nothing. It is there
only where the install's settings say so."""

from __future__ import annotations

from flask import Blueprint, render_template

from dashboard.auth import operator_only
from dashboard.pages.frame import agent_frame

pages = Blueprint("terminal_page", __name__)


@pages.get("/agents/<name>/terminal")
@operator_only
def terminal(name: str) -> str:
    """A terminal in the viewer's own cubicle."""
    return render_template("terminal.html", **agent_frame(name, "terminal"))
