"""Where a person may go, found by words: pages, agents and their pages, conversations, and what was said in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flask import Blueprint, render_template, request
from markupsafe import Markup, escape

from dashboard.auth import own_agents, require_asker
from dashboard.languages import say
from dashboard.pages.filters import INSTALL_WAYS, TAB_NAMES
from dashboard.pages.search import MAX_QUERY_CHARS, highlight
from dashboard.services import get_services
from orchestrator.agents.looks import shown_name
from orchestrator.core.models import Agent, CubicleKey

pages = Blueprint("palette", __name__)

MOST_AGENTS = 30
"""So many agents are searched for what was said."""
_MOST_PLACES = 14
_MOST_FOUND = 4
"""Of each kind, of one agent."""
_TABS = ("files", "apps", "calendar", "memory", "history", "log", "cubicle", "settings")


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere to go."""

    label: Markup
    detail: str
    url: str
    sign: str
    """The name of its icon."""


@pages.get("/parts/palette")
def palette() -> str:
    """What is found; without words, the agents and the pages."""
    query = request.args.get("q", "").strip()[:MAX_QUERY_CHARS]
    words = query.casefold().split()
    places = [place for place in _places(deep=bool(words)) if _has_all(f"{place.label} {place.detail}", words)]
    said = list(_said(query)) if words else []
    return render_template("parts/palette.html", places=places[:_MOST_PLACES], said=said, query=query)


def _has_all(text: str, words: list[str]) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words)


def _places(*, deep: bool) -> Iterator[Place]:
    """Agents first; their own pages only where words are there to choose among them."""
    agents = _agents()
    for agent in agents:
        yield Place(escape(shown_name(agent)), _about(agent), f"/agents/{agent.name}", "talks")
    yield Place(escape(say("Home")), "", "/", "home")
    yield Place(escape(say("Approvals")), "", "/approvals", "approvals")
    yield Place(escape(say("Calendar")), "", "/calendar", "calendar")
    yield Place(escape(say("Apps")), "", "/apps", "apps")
    yield Place(escape(say("Files")), "", "/files", "file")
    if require_asker().is_operator:
        for url, label, sign in INSTALL_WAYS:
            yield Place(escape(say(label)), "", url, sign)
        yield Place(escape(say("New agent")), "", "/agents/new", "plus")
    yield Place(escape(say("You")), say("Your account"), "/you", "people")
    if deep:
        for agent in agents:
            for tab in _TABS:
                yield Place(escape(say(TAB_NAMES[tab])), shown_name(agent), f"/agents/{agent.name}/{tab}", "fold")


def _said(query: str) -> Iterator[Place]:
    """Conversations by their names, then messages and answers, each agent's newest first."""
    services, viewer = get_services(), require_asker().user.id
    for agent in _agents():
        key = CubicleKey(agent.name, viewer)
        for found in services.conversations.list_conversations(key, words=query, limit=_MOST_FOUND):
            url = f"/agents/{agent.name}?conversation={found.id}"
            yield Place(
                escape(found.shown_name), say("Conversation with %(agent)s", agent=shown_name(agent)), url, "talks"
            )
        for hit in services.history.find_passages(key, query, limit=_MOST_FOUND):
            url = f"/agents/{agent.name}/turns/{hit.turn.id}#turn-{hit.turn.id}"
            yield Place(highlight(hit.prompt) or highlight(hit.reply), shown_name(agent), url, "find")


def _about(agent: Agent) -> str:
    """Its role; and its own name, by which it is found as well."""
    return f"{agent.role} · {agent.name}" if agent.display_name else agent.role


def _agents() -> list[Agent]:
    return own_agents()[:MOST_AGENTS]
