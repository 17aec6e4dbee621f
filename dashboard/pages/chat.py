"""The conversation with one agent. Each turn is a part of its own, so that news replace it alone."""

from __future__ import annotations

from flask import Blueprint, render_template

from dashboard import bodies
from dashboard.auth import asker, own_turn
from dashboard.house import services
from dashboard.pages.views import agent_views, disk_of, is_rehearsal, page_of_turns, pending, turn_view
from orchestrator.attachments import MOST
from orchestrator.nouns import CubicleKey

pages = Blueprint("chat", __name__)

PAGE = 20


@pages.get("/agents/<name>")
def chat(name: str) -> str:
    """The whole page."""
    agent = services().agents.get(name)
    turns, earlier = page_of_turns(CubicleKey(name, asker().user.id), None, PAGE)
    return render_template(
        "chat.html",
        agent=agent,
        agents=agent_views(),
        waiting=pending(),
        turns=turns,
        earlier=earlier,
        is_rehearsal=is_rehearsal(agent),
        disk=disk_of(agent),
        most_files=MOST,
    )


@pages.get("/parts/disk/<name>")
def disk(name: str) -> str:
    """A word about the disk, where there is one to say."""
    agent = services().agents.get(name)
    return render_template("parts/disk.html", agent=agent, disk=disk_of(agent))


@pages.get("/agents/<name>/turns")
def turns(name: str) -> str:
    """A page of turns, for reading back."""
    agent = services().agents.get(name)
    found, earlier = page_of_turns(CubicleKey(name, asker().user.id), bodies.whole_arg("before"), PAGE)
    return render_template("parts/turns.html", agent=agent, turns=found, earlier=earlier)


@pages.get("/parts/turns/<id:turn>")
def one_turn(turn: int) -> str:
    """One turn as it stands."""
    found = own_turn(turn)
    return render_template("parts/turn.html", agent=services().agents.get(found.cubicle.agent), view=turn_view(found))
