"""An agent's Telegram bot as its settings show it: none, on its way, paired, refused. The token goes in by a form and
is never seen again; a code is shown only where sending it to the bot proves something.
"""

from __future__ import annotations

from dataclasses import dataclass

from flask import Blueprint, render_template
from markupsafe import Markup

from dashboard import qr
from dashboard.auth import operator_only
from dashboard.languages import say
from dashboard.services import get_services
from orchestrator.channels.telegram.accounts.rows import BotState, BotStatus, CodeWay

pages = Blueprint("bot_page", __name__)


@dataclass(frozen=True, slots=True)
class BotView:
    """A bot."""

    bot: BotState

    @property
    def name(self) -> str:
        """What people call it."""
        return f"@{self.bot.username}" if self.bot.username else say("the bot")

    @property
    def qr(self) -> Markup:
        """Its chat in Telegram, for a phone's camera."""
        return qr.of_bot(self.bot.username)

    @property
    def state(self) -> str:
        """``paired``, ``refused``, ``shown`` (a code to be sent to it), ``sent`` (one that it sent), ``waiting``."""
        if self.bot.state is BotStatus.PAIRED:
            return "paired"
        if self.bot.state is BotStatus.REVOKED:
            return "refused"
        if self.bot.code_way is CodeWay.SHOWN:
            return "shown"
        return "sent" if self.bot.code_way is CodeWay.SENT else "waiting"

    @property
    def code(self) -> str:
        """Six digits, only where they are to be sent to the bot."""
        return (self.bot.code or "") if self.state == "shown" else ""


def bot_of(agent: str) -> BotView | None:
    """The agent's bot."""
    found = get_services().bots.find_bot(agent)
    return None if found is None else BotView(found)


@pages.get("/parts/bot/<name>")
@operator_only
def bot(name: str) -> str:
    """How it is."""
    return render_template("parts/bot.html", agent=get_services().agents.get(name), bot=bot_of(name))
