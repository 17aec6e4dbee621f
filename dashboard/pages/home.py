"""The first page, a picture of the day: what waits for you, what was done while you were away, what was made, what
comes next, your agents, and one field to ask any of them. Its parts are fetched again when there is news.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from flask import Blueprint, render_template, request

from dashboard import ages
from dashboard.auth import current_asker, own_agents, require_asker
from dashboard.languages import speech
from dashboard.pages.ask_any import choices
from dashboard.pages.asking import pending
from dashboard.pages.away import away_view
from dashboard.pages.cards import AheadView, card_views, next_entries
from dashboard.pages.first_tasks import first_tasks
from dashboard.pages.frame import shell_frame
from dashboard.pages.made import newest_made
from dashboard.pages.views import AgentView, agent_views
from dashboard.services import get_services
from orchestrator.llm.first_tasks import FirstTask

pages = Blueprint("home", __name__)

_MOST_TASKS = 3

_NO_VISIT = ("/api/", "/static/", "/parts/")
"""What a page fetches by itself, whether or not somebody looks at it."""


@pages.before_app_request
def mark_visit() -> None:
    """Whoever opens a page or does something is here."""
    who = current_asker()
    is_fetched = request.method in ("GET", "HEAD") and request.path.startswith(_NO_VISIT)
    if who is not None and who.session and not is_fetched:
        get_services().recaps.visits.mark_visit(who.user.id)


@pages.get("/")
def home() -> str:
    """The whole page."""
    framed = shell_frame()
    agents = framed["agents"]
    names = [view.agent.name for view in agents]
    zone, now = require_asker().user.time_zone, time.time()
    return render_template(
        "home.html",
        **framed,
        hello=ages.greeting(now, zone, speech()),
        today=ages.whole_day(now, zone, speech()),
        choices=choices(agents),
        tasks=_first_tasks(agents),
        away=away_view(agents, framed["waiting"]),
        cards=card_views(agents),
        ahead=next_entries(names),
        made=newest_made(names),
    )


def _first_tasks(agents: Sequence[AgentView]) -> list[FirstTask]:
    """For whoever begins: some that the agent which is chosen can do."""
    if not agents or not get_services().recaps.is_new_here(require_asker().user.id):
        return []
    agent = agents[0].agent
    return first_tasks(agent)[:_MOST_TASKS]


@pages.get("/parts/waiting")
def waiting() -> str:
    """The questions that wait."""
    return render_template("parts/waiting.html", waiting=pending())


@pages.get("/parts/away")
def away() -> str:
    """What was done while the viewer was away."""
    agents = agent_views()
    return render_template("parts/away.html", away=away_view(agents, pending()), ahead=_ahead())


@pages.get("/parts/agents")
def agents() -> str:
    """The agents as cards."""
    return render_template("parts/agents.html", cards=card_views(agent_views()))


@pages.get("/parts/next")
def coming() -> str:
    """What the calendar has next."""
    return render_template("parts/next.html", ahead=_ahead())


@pages.get("/parts/side")
def side() -> str:
    """The agents as a list beside every page."""
    return render_template("parts/side.html", **shell_frame())


def _ahead() -> list[AheadView]:
    return next_entries([agent.name for agent in own_agents()])
