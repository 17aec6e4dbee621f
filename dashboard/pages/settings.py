"""An agent's settings: who it is, its model, when it asks, what it may set in motion, its budget, its container, the
hosts that it may always fetch from, its bot, and its end. Members look, the operator changes.
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint, render_template

from dashboard.auth import require_asker
from dashboard.languages import say, say_many, to_say
from dashboard.pages.bot import bot_of
from dashboard.pages.frame import agent_frame
from dashboard.pages.money import money_of
from dashboard.services import get_services
from orchestrator.agents.agent_fields import BOUNDS, LIMITS
from orchestrator.agents.looks import COLORS, SIGNS, Look
from orchestrator.capabilities.capability import Toolset
from orchestrator.capabilities.table import REGISTRY
from orchestrator.core.models import Agent, Role

pages = Blueprint("settings", __name__)

POLICIES = (
    (
        "dangerous",
        to_say("Before dangerous commands"),
        to_say(
            "Commands that delete, overwrite or affect a lot ask first, and you see them exactly. Others run at once."
        ),
    ),
    ("all", to_say("Before every command"), to_say("Every command needs your approval. Slow, but you see everything.")),
    (
        "off",
        to_say("Never"),
        to_say(
            "Every command runs at once. It still has no network and only its own files; "
            "downloads and packages still ask."
        ),
    ),
)
"""Each policy, what it is called, what it means."""
ASKS_AGAIN = (
    (
        "strict",
        to_say("After reading anything from others"),
        to_say("Pages, files from the internet, search results, packages, files you gave it and forwarded messages."),
    ),
    (
        "web",
        to_say("After reading something from the internet"),
        to_say("Files that you gave it and messages that you forwarded don’t count."),
    ),
    (
        "off",
        to_say("Never"),
        to_say("An allowed host stays allowed, whatever the agent reads there or elsewhere."),
    ),
)
"""What it may read before an allowed host is asked about again, what that is called, what it means."""
IMAGES = (
    (
        "base",
        to_say("Base"),
        to_say("Small and fast: bash, Python, Node, git, ripgrep, jq, SQLite and the usual tools."),
    ),
    (
        "studio",
        to_say("Studio"),
        to_say(
            "Adds NumPy, pandas, Matplotlib, Office, PDF, FFmpeg and ImageMagick. "
            "1.1 GB; the first build takes minutes."
        ),
    ),
)
LIMITS_SHOWN = (
    ("cpus", to_say("CPUs"), to_say("Processor cores it can use; 0.5 is half a core."), "any"),
    ("memory_mb", to_say("Memory, MB"), to_say("Processes above this are killed. 1,024 MB is 1 GB."), "1"),
    ("pids", to_say("Processes"), to_say("Most programs and threads at once."), "1"),
    ("disk_mb", to_say("Disk, MB"), to_say("Most that one person’s workspace can take up."), "1"),
)
"""Each limit, what it is called, what it means, and by which steps it goes."""
_WAITS = (60, 300, 900, 3_600, 4 * 3_600, 12 * 3_600, 86_400, 3 * 86_400, 7 * 86_400)
_RUNS = (10, 30, 60, 120, 300, 600, 1_800, 3_600, 6 * 3_600)
_UNITS = (86_400, 3_600, 60, 1)


def look_choices() -> dict[str, Any]:
    """The signs and colours that there are."""
    return {"signs": [Look(sign, "", "") for sign in SIGNS], "colors": COLORS}


@pages.get("/agents/<name>/settings")
def settings(name: str) -> str:
    """The whole page."""
    framed, is_operator = agent_frame(name, "settings"), require_asker().is_operator
    return render_template(
        "settings.html",
        **framed,
        **look_choices(),
        **_choices(framed["agent"]),
        money=money_of(name),
        grants=get_services().grants.of_agent(name, viewer=require_asker().user),
        bot=bot_of(name) if is_operator else None,
        **(_access(name) if is_operator else {}),
    )


@pages.get("/parts/grants/<name>")
def grants(name: str) -> str:
    """What it may do without asking."""
    held = get_services().grants.of_agent(name, viewer=require_asker().user)
    return render_template("parts/grants.html", agent=get_services().agents.get(name), grants=held)


@pages.get("/parts/money/<name>")
def money(name: str) -> str:
    """How the day stands."""
    return render_template("parts/day.html", agent=get_services().agents.get(name), money=money_of(name))


def format_span(seconds: int) -> str:
    """``90 seconds``, ``1 hour``: in the largest unit that fits evenly."""
    size = next(size for size in _UNITS if seconds % size == 0)
    count = seconds // size
    match size:
        case 86_400:
            return say_many("%(count)s day", "%(count)s days", count)
        case 3_600:
            return say_many("%(count)s hour", "%(count)s hours", count)
        case 60:
            return say_many("%(count)s minute", "%(count)s minutes", count)
        case _:
            return say_many("%(count)s second", "%(count)s seconds", count)


def _access(name: str) -> dict[str, Any]:
    """Whom the agent is for, and whom it could be for."""
    services = get_services()
    members = [user for user in services.users.list_users() if user.role is not Role.OPERATOR]
    return {"people": services.access.list_people(name), "members": members}


def _choices(agent: Agent) -> dict[str, Any]:
    """What there is to choose from."""
    models = get_services().models()
    defaults = {provider["name"]: provider["default_model"] for provider in models["providers"]}
    return {
        "toolsets": (*REGISTRY.toolsets.values(), *_mcp_toolsets()),
        "policies": POLICIES,
        "asks_again": ASKS_AGAIN,
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


def _mcp_toolsets() -> list[Toolset]:
    """One for each MCP server: what the form doesn't name is taken from the agent when it is saved."""
    does = say("Tools from others. You decide about each of them on the server’s own page.")
    return [Toolset(one.toolset, one.name, does) for one in get_services().mcp_servers.list_servers()]


def _spans(usual: tuple[int, ...], now: int) -> list[tuple[int, str]]:
    """The usual times, with the present one among them."""
    return [(seconds, format_span(seconds)) for seconds in sorted({*usual, now})]
