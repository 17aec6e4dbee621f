"""One field that asks any agent: who is asked by a name at the beginning or by a choice, in the conversation that was
used last or in a new one. With JavaScript the page calls the API instead, and keeps what could not be sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, redirect, request

from dashboard.auth import own_agents, require_asker
from dashboard.pages.views import AgentView
from dashboard.services import get_services
from orchestrator.core.errors import BadInput, NotFound
from orchestrator.core.models import Conversation, CubicleKey

pages = Blueprint("ask_any", __name__)

_BEHIND_A_NAME = re.compile(r"[\s:,]+|$")


@dataclass(frozen=True, slots=True)
class AskChoice:
    """An agent that may be asked."""

    name: str
    is_chosen: bool
    current: Conversation | None
    """Where a message goes that begins nothing new; None for the first one of all."""


def choices(agents: Iterable[AgentView]) -> list[AskChoice]:
    """These agents for the viewer, the one that they wrote to last chosen."""
    services, user = get_services(), require_asker().user.id
    names = [view.agent.name for view in agents]
    last = services.recaps.last_agent(user)
    chosen = last if last in names else next(iter(names), "")
    return [AskChoice(name, name == chosen, _current(CubicleKey(name, user))) for name in names]


def split_name(text: str, agents: Mapping[str, str]) -> tuple[str, str]:
    """``@Juno: hello`` as the agent's name and ``hello``; an empty name and the whole text where it begins with none
    of these. ``agents`` are their names by whatever people call them."""
    words = text.lstrip()
    for called in sorted(agents, key=len, reverse=True) if words.startswith("@") else ():
        end = 1 + len(called)
        behind = _BEHIND_A_NAME.match(words, end)
        if words[1:end].lower() == called.lower() and behind:
            return agents[called], words[behind.end() :]
    return "", text


@pages.post("/ask")
def ask() -> Any:
    """A message to an agent, from a form; on to the conversation."""
    names = {agent.name: agent.name for agent in own_agents()}
    known = {agent.display_name: agent.name for agent in own_agents() if agent.display_name} | names
    task = request.form.get("task", "")
    named, text = ("", task) if task else split_name(request.form.get("text", ""), known)
    agent = named or request.form.get("agent", "")
    if agent not in names:
        raise NotFound("There is no such agent. Choose one from the list.")
    if not text.strip():
        raise BadInput("The message is empty. Go back and write something.")
    services, key = get_services(), CubicleKey(agent, require_asker().user.id)
    place = _current(key)
    if request.form.get("place") == "new" and place is not None and place.head is not None:
        place = services.conversations.create(key)
    source = require_asker().surface
    turn = services.turns.submit(key, text, source=source, conversation=None if place is None else place.id)
    return redirect(f"/agents/{agent}?conversation={turn.conversation}", 303)


def _current(key: CubicleKey) -> Conversation | None:
    found = get_services().conversations.list_conversations(key, limit=1)
    return found[0] if found else None
