"""An agent's settings: what it may set in motion, its budget, the hosts that it may always fetch from. Members look,
the operator changes.
"""

from __future__ import annotations

from flask import Blueprint, render_template

from dashboard.auth import asker, operator_only
from dashboard.house import services
from dashboard.pages.frame import frame
from dashboard.pages.money import money_of

pages = Blueprint("settings", __name__)

TOOLSETS = (
    (
        "calendar",
        "Calendar",
        "Plan messages to itself, once or again and again. You are told of each, and can cancel it.",
    ),
    ("memory", "Memory", "Note facts about you that outlast a conversation."),
    ("assets", "Files from the internet", "Ask for a file by its address. You see the address and decide."),
    ("packages", "Packages", "Ask for packages from PyPI or npm. You see the whole list and decide."),
    ("questions", "Questions", "Ask you something while it works, and wait for the answer."),
    ("video", "Videos", "Animate a text as a short video. No pictures, no network, nothing to approve."),
)
"""Name, what it is called, what it lets an agent do."""


@pages.get("/agents/<name>/settings")
def settings(name: str) -> str:
    """The whole page."""
    framed = frame(name, "settings")
    allowed = services().assets.hosts(name) if asker().is_operator else []
    return render_template("settings.html", **framed, toolsets=TOOLSETS, money=money_of(name), hosts=allowed)


@pages.get("/parts/hosts/<name>")
@operator_only
def hosts(name: str) -> str:
    """The hosts."""
    agent = services().agents.get(name)
    return render_template("parts/hosts.html", agent=agent, hosts=services().assets.hosts(name))


@pages.get("/parts/money/<name>")
def money(name: str) -> str:
    """How the day stands."""
    return render_template("parts/day.html", agent=services().agents.get(name), money=money_of(name))
