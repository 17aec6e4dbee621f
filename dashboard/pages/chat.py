"""The conversation with one agent. Each turn is a part of its own, so that news replace it alone."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, render_template, request

from dashboard import bodies
from dashboard.apps import own_app
from dashboard.auth import may_see, own_turn, require_asker
from dashboard.pages.apps import HeldApp, held
from dashboard.pages.asking import pending_in_chat
from dashboard.pages.browser import browser_sign
from dashboard.pages.delivered import ShownFile, find_file, shown_file
from dashboard.pages.first_tasks import first_tasks
from dashboard.pages.frame import agent_frame, own_key
from dashboard.pages.meter import meter_facts
from dashboard.pages.money import money_of
from dashboard.pages.views import disk_of, is_rehearsal, page_after, page_around, page_of_talk, turn_in, turn_view
from dashboard.services import get_services
from orchestrator.core.errors import NotFound
from orchestrator.core.models import Agent, Conversation, CubicleKey
from orchestrator.files.attachments import MOST

pages = Blueprint("chat", __name__)

PAGE = 20
LISTED = 100
"""Conversations beside the chat; a search finds the others."""
MAX_QUERY_CHARS = 200
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
TASKS_SHOWN = 6
"""Tasks to begin with that an empty conversation shows; the others are folded away."""
MOST_STRETCHES = 500
"""Of a tree: what is shown of it."""
AROUND = 6
"""Turns before and after the one that a link leads to; more come as one reads on."""


@pages.get("/agents/<name>")
def chat(name: str) -> str:
    """The whole page."""
    framed, key = agent_frame(name, "chat"), own_key(name)
    conversation = _shown_conversation(key)
    get_services().prestart(key)
    talk, earlier = page_of_talk(conversation, None, PAGE)
    agent: Agent = framed["agent"]
    return render_template(
        "chat.html",
        **framed,
        asking=pending_in_chat(key),
        talk=talk,
        earlier=earlier,
        is_rehearsal=is_rehearsal(agent),
        demo_words=DEMO_WORDS,
        tasks=first_tasks(agent),
        first_tasks=TASKS_SHOWN,
        money=money_of(name),
        meter=meter_facts(agent, conversation.id)["meter"],
        disk=disk_of(agent),
        browser=browser_sign(key),
        most_files=MOST,
        beside=_beside(name),
        beside_file=_beside_file(name),
        first_new=get_services().read_marks.first_unread(conversation),
        summary=get_services().history.get_summary(key, conversation.id),
        conversation=conversation,
        **_list(key, conversation.id),
    )


def _shown_conversation(key: CubicleKey) -> Conversation:
    """The one that the address names, else the one that was used last."""
    conversations, wanted = get_services().conversations, bodies.whole_arg("conversation")
    newest = conversations.list_conversations(key, limit=1) if wanted is None else []
    return newest[0] if newest else conversations.get(key, wanted)


def _list(key: CubicleKey, shown: int) -> dict[str, Any]:
    """The list of conversations, for its part of the page."""
    services, words = get_services(), request.args.get("find", "").strip()[:MAX_QUERY_CHARS]
    found = services.conversations.list_conversations(key, words=words, limit=LISTED + 1)
    return {
        "conversations": found[:LISTED],
        "has_more": len(found) > LISTED,
        "unread": services.read_marks.count_by_conversation(key),
        "shown": shown,
        "find": words,
    }


@pages.get("/parts/conversations/<name>")
def conversations(name: str) -> str:
    """The list of conversations, or those that were looked for."""
    shown = bodies.whole_arg("conversation") or 0
    agent = get_services().agents.get(name)
    return render_template("parts/conversations.html", agent=agent, **_list(own_key(name), shown))


def _beside(name: str) -> HeldApp | None:
    """The app that is to be seen beside the conversation; one that is gone meanwhile is left out."""
    app = request.args.get("app", "")
    try:
        return held(own_app(name, app)) if app else None
    except NotFound:
        return None


def _beside_file(name: str) -> ShownFile | None:
    """The delivered file that is to be seen beside the conversation."""
    wanted = bodies.whole_arg("delivered")
    try:
        return None if wanted is None else shown_file(find_file(name, wanted))
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
    agent, key, after = get_services().agents.get(name), own_key(name), bodies.whole_arg("after")
    if after is not None:
        found = own_turn(after)
        if found.cubicle != key:
            raise NotFound(f"There is no turn {after} here.")
        talk, later = page_after(found, PAGE)
        return render_template("parts/turns.html", agent=agent, talk=talk, later=later)
    conversation = _shown_conversation(key)
    talk, earlier = page_of_talk(conversation, bodies.whole_arg("before"), PAGE, back_to=bodies.whole_arg("back_to"))
    return render_template("parts/turns.html", agent=agent, talk=talk, earlier=earlier, shown=conversation.id)


@pages.get("/parts/asking/<name>")
def asking(name: str) -> str:
    """What the conversation waits for."""
    return render_template("parts/asking.html", asking=pending_in_chat(own_key(name)))


@pages.get("/parts/notices/<id:notice>")
def one_notice(notice: int) -> str:
    """One notice as it stands."""
    found = get_services().notifications.get(notice)
    if found.cubicle.user != require_asker().user.id or not may_see(found.cubicle):
        raise NotFound("There is no such notice.")
    return render_template("parts/notice_alone.html", notice=found)


@pages.get("/agents/<name>/turns/<id:turn>")
def turn_alone(name: str, turn: int) -> str:
    """The conversation around one turn."""
    found = own_turn(turn)
    if found.cubicle != own_key(name):
        raise NotFound(f"There is no turn {turn} here.")
    if found.was_deleted:
        raise NotFound("This message was deleted.")
    talk, earlier, later = page_around(found, AROUND)
    return render_template(
        "turn.html",
        **agent_frame(name, ""),
        talk=talk,
        earlier=earlier,
        later=later,
        here=turn,
        shown=found.conversation,
    )


@pages.get("/parts/turns/<id:turn>")
def one_turn(turn: int) -> str:
    """One turn as it stands; nothing where its message was withdrawn or deleted."""
    found = own_turn(turn)
    if found.was_withdrawn or found.was_deleted:
        return ""
    place = bodies.whole_arg("conversation")
    shown = get_services().conversations.get(found.cubicle, place) if place else None
    return render_template(
        "parts/turn.html",
        agent=get_services().agents.get(found.cubicle.agent),
        view=turn_in(shown, found) if shown else turn_view(found),
    )


@pages.get("/agents/<name>/branches")
def branches(name: str) -> str:
    """The tree of a conversation."""
    conversation = _shown_conversation(own_key(name))
    tree = get_services().branches.get_tree(conversation)
    return render_template(
        "branches.html",
        **agent_frame(name, ""),
        conversation=conversation,
        tree=tree[:MOST_STRETCHES],
        count=len(tree),
        ends={stretch.last.id for stretch in tree} - {stretch.first.parent for stretch in tree},
    )
