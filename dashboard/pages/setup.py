"""The first-run page: who runs this install, which model answers, a bot on Telegram; then straight into the chat. Only
the link that ``./hermit up`` prints leads here, and only until it was done once. Each step may be skipped.
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint, redirect, render_template

from dashboard import qr
from dashboard.auth import operator_only, require_asker
from dashboard.languages import say, to_say
from dashboard.pages.devices import phone_parts
from dashboard.pages.providers import REHEARSAL, views
from dashboard.services import get_services
from orchestrator.channels.telegram.accounts.rows import BotState, BotStatus, CodeWay

pages = Blueprint("setup", __name__)

STEPS = (("/setup", to_say("You")), ("/setup/model", to_say("Model")), ("/setup/telegram", "Telegram"))


@pages.get("/setup")
@operator_only
def you() -> Any:
    """Name and password."""
    who = require_asker().user
    return _step(0, has_password=get_services().users.has_password(who.id))


@pages.get("/setup/model")
@operator_only
def model() -> Any:
    """Which model answers."""
    known = views()
    default = next((view.state.name for view in known if view.state.is_default), REHEARSAL)
    chosen = known[0].state.name if default == REHEARSAL else default
    return _step(1, providers=known, chosen=chosen, prices_date=get_services().prices.get_table().date)


@pages.get("/setup/telegram")
@operator_only
def telegram() -> Any:
    """A bot for the first agent."""
    return _step(2, bot=bot_of(_first_agent()), **phone_parts())


@pages.get("/parts/setup/bot")
@operator_only
def bot() -> str:
    """How the first agent's bot is."""
    return render_template("parts/setup_bot.html", agent=_first_agent(), bot=bot_of(_first_agent()))


def _step(at: int, **given: Any) -> Any:
    if get_services().install_settings.is_set_up:
        return redirect("/settings", 303)
    following = STEPS[at + 1][0] if at + 1 < len(STEPS) else ""
    return render_template("setup.html", steps=STEPS, at=at, following=following, agent=_first_agent(), **given)


def _first_agent() -> str:
    agents = get_services().agents.list_agents()
    return agents[0].name if agents else ""


def bot_of(agent: str) -> dict[str, Any] | None:
    """The agent's bot, a code only where it is to be sent to it."""
    found: BotState | None = get_services().bots.find_bot(agent) if agent else None
    if found is None:
        return None
    return {
        "name": f"@{found.username}" if found.username else say("the bot"),
        "username": found.username,
        "qr": qr.of_bot(found.username),
        "problem": found.problem or "",
        "is_paired": found.state is BotStatus.PAIRED,
        "is_revoked": found.state is BotStatus.REVOKED,
        "code": found.code if found.code_way is CodeWay.SHOWN else "",
        "is_sent": found.code_way is CodeWay.SENT,
    }
