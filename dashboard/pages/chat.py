"""The conversation with one agent. Each turn is a part of its own, so that news replace it alone."""

from __future__ import annotations

from flask import Blueprint, render_template, request

from dashboard import bodies
from dashboard.apps import own_app
from dashboard.auth import own_turn, require_asker
from dashboard.pages.apps import HeldApp, held
from dashboard.pages.asking import pending_in_chat
from dashboard.pages.frame import agent_frame, own_key
from dashboard.pages.money import money_of
from dashboard.pages.views import disk_of, is_rehearsal, page_after, page_around, page_of_talk, turn_view
from dashboard.services import get_services
from orchestrator.core.errors import NotFound
from orchestrator.core.models import Agent
from orchestrator.files.attachments import MOST

pages = Blueprint("chat", __name__)

PAGE = 20
DEMO_WORDS = (
    "run ls -la",
    "dangerous",
    "app",
    "file",
    "ask",
    "remind me in 1 minute to drink tea",
    "remember that I like tea",
    "long",
    "slow",
)
"""What the built-in demo (``llm.upstreams.rehearsal_script``) understands, to be pressed instead of typed."""
AROUND = 6
"""Turns before and after the one that a link leads to; more come as one reads on."""


@pages.get("/agents/<name>")
def chat(name: str) -> str:
    """The whole page."""
    framed, key = agent_frame(name, "chat"), own_key(name)
    get_services().prestart(key)
    talk, earlier = page_of_talk(key, None, PAGE)
    agent: Agent = framed["agent"]
    return render_template(
        "chat.html",
        **framed,
        asking=pending_in_chat(key),
        talk=talk,
        earlier=earlier,
        is_rehearsal=is_rehearsal(agent),
        demo_words=DEMO_WORDS,
        money=money_of(name),
        disk=disk_of(agent),
        most_files=MOST,
        beside=_beside(name),
        first_new=get_services().read_marks.first_unread(key),
        summary=get_services().history.get_summary(key),
    )


def _beside(name: str) -> HeldApp | None:
    """The app that is to be seen beside the conversation; one that is gone meanwhile is left out."""
    app = request.args.get("app", "")
    try:
        return held(own_app(name, app)) if app else None
    except NotFound:
        return None


@pages.get("/parts/budget/<name>")
def budget(name: str) -> str:
    """A word about the day's budget, where there is one to say."""
    return render_template("parts/budget.html", money=money_of(name))


@pages.get("/parts/disk/<name>")
def disk(name: str) -> str:
    """A word about the disk, where there is one to say."""
    agent = get_services().agents.get(name)
    return render_template("parts/disk.html", agent=agent, disk=disk_of(agent))


@pages.get("/agents/<name>/turns")
def turns(name: str) -> str:
    """A page of turns, for reading back, or on from a turn."""
    agent, after = get_services().agents.get(name), bodies.whole_arg("after")
    if after is not None:
        talk, later = page_after(own_key(name), after, PAGE)
        return render_template("parts/turns.html", agent=agent, talk=talk, later=later)
    talk, earlier = page_of_talk(own_key(name), bodies.whole_arg("before"), PAGE)
    return render_template("parts/turns.html", agent=agent, talk=talk, earlier=earlier)


@pages.get("/parts/asking/<name>")
def asking(name: str) -> str:
    """What the conversation waits for."""
    return render_template("parts/asking.html", asking=pending_in_chat(own_key(name)))


@pages.get("/parts/notices/<id:notice>")
def one_notice(notice: int) -> str:
    """One notice as it stands."""
    found = get_services().notifications.get(notice)
    if found.cubicle.user != require_asker().user.id:
        raise NotFound("There is no such notice.")
    return render_template("parts/notice_alone.html", notice=found)


@pages.get("/agents/<name>/turns/<id:turn>")
def turn_alone(name: str, turn: int) -> str:
    """The conversation around one turn."""
    found = own_turn(turn)
    if found.cubicle != own_key(name):
        raise NotFound(f"There is no turn {turn} here.")
    talk, earlier, later = page_around(found, AROUND)
    return render_template("turn.html", **agent_frame(name, ""), talk=talk, earlier=earlier, later=later, here=turn)


@pages.get("/parts/turns/<id:turn>")
def one_turn(turn: int) -> str:
    """One turn as it stands; nothing where its message was withdrawn."""
    found = own_turn(turn)
    if found.was_withdrawn:
        return ""
    return render_template(
        "parts/turn.html", agent=get_services().agents.get(found.cubicle.agent), view=turn_view(found)
    )
