"""An agent's settings: who it is, its model, when it asks, what it may set in motion, its budget, its container, the
hosts that it may always fetch from, its bot, and its end. Members look, the operator changes.
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint, render_template

from dashboard.auth import asker
from dashboard.house import services
from dashboard.pages.bot import bot_of
from dashboard.pages.frame import frame
from dashboard.pages.money import money_of
from orchestrator.agents import BOUNDS, LIMITS
from orchestrator.nouns import Agent

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
POLICIES = (
    (
        "dangerous",
        "Before dangerous commands",
        "What deletes, overwrites or reaches far asks first; you see the exact command. Everything else runs at once.",
    ),
    ("all", "Before every command", "Nothing runs without your yes: slow, and good for looking on."),
    (
        "off",
        "Never",
        "Every command runs at once. Still no network and no files but its own; downloads and packages still ask.",
    ),
)
"""Each policy, what it is called, what it means."""
IMAGES = (
    ("base", "Base", "Small and quick: bash, Python, Node, git, ripgrep, jq, SQLite and the usual tools."),
    (
        "studio",
        "Studio",
        "NumPy, pandas, Matplotlib, Office, PDF, FFmpeg, ImageMagick too: 1.1 GB, minutes to make for the first time.",
    ),
)
LIMITS_SHOWN = (
    ("cpus", "CPUs", "How many processor cores it may keep busy; 0.5 is half of one.", "any"),
    ("memory_mb", "Memory, MB", "Whatever needs more is ended. 1,024 MB are 1 GB.", "1"),
    ("pids", "Processes", "How many programs and threads may run at once.", "1"),
    ("disk_mb", "Disk, MB", "What all files of one person’s workspace may take.", "1"),
)
"""Each limit, what it is called, what it means, and by which steps it goes."""
_WAITS = (60, 300, 900, 3_600, 4 * 3_600, 12 * 3_600, 86_400, 3 * 86_400, 7 * 86_400)
_RUNS = (10, 30, 60, 120, 300, 600, 1_800, 3_600, 6 * 3_600)
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


@pages.get("/agents/<name>/settings")
def settings(name: str) -> str:
    """The whole page."""
    framed, is_operator = frame(name, "settings"), asker().is_operator
    return render_template(
        "settings.html",
        **framed,
        **_choices(framed["agent"]),
        money=money_of(name),
        grants=services().grants.of_agent(name, viewer=asker().user),
        bot=bot_of(name) if is_operator else None,
    )


@pages.get("/parts/grants/<name>")
def grants(name: str) -> str:
    """What it may do without asking."""
    held = services().grants.of_agent(name, viewer=asker().user)
    return render_template("parts/grants.html", agent=services().agents.get(name), grants=held)


@pages.get("/parts/money/<name>")
def money(name: str) -> str:
    """How the day stands."""
    return render_template("parts/day.html", agent=services().agents.get(name), money=money_of(name))


def span(seconds: int) -> str:
    """``90 seconds``, ``1 hour``: in the largest unit that fits evenly."""
    size, unit = next((size, unit) for size, unit in _UNITS if seconds % size == 0)
    count = seconds // size
    return f"{count} {unit}" + ("" if count == 1 else "s")


def _choices(agent: Agent) -> dict[str, Any]:
    """What there is to choose from."""
    models = services().models()
    defaults = {provider["name"]: provider["default_model"] for provider in models["providers"]}
    return {
        "toolsets": TOOLSETS,
        "policies": POLICIES,
        "images": IMAGES,
        "limits": LIMITS_SHOWN,
        "limit_bounds": LIMITS,
        "bounds": BOUNDS,
        "waits": _spans(_WAITS, agent.approval_timeout_s),
        "runs": _spans(_RUNS, agent.command_timeout_s),
        "models": models,
        "default_model": defaults.get(models["default"], ""),
        "is_lost": bool(agent.provider) and agent.provider not in defaults,
    }


def _spans(usual: tuple[int, ...], now: int) -> list[tuple[int, str]]:
    """The usual times, with the present one among them."""
    return [(seconds, span(seconds)) for seconds in sorted({*usual, now})]
