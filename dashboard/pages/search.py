"""A conversation searched by its words: what was found as passages, each a way to its place in the conversation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlencode

from flask import Blueprint, render_template, request
from markupsafe import Markup

from dashboard import bodies
from dashboard.pages.frame import agent_frame, own_key
from dashboard.services import get_services
from orchestrator.core.models import CALENDAR, CubicleKey, Turn
from orchestrator.core.text import chat_safe
from orchestrator.turns.history import Pieces

pages = Blueprint("search", __name__)

PAGE = 20
MAX_QUERY_CHARS = 200
_ADORNMENT = re.compile(r"\*\*|`+")


@dataclass(frozen=True, slots=True)
class HitView:
    """A turn that was found."""

    turn: Turn
    said: Markup
    replied: Markup
    place: str
    """The name of its conversation; empty where there is only one."""

    @property
    def is_run(self) -> bool:
        """The calendar made it, nobody wrote."""
        return self.turn.source == CALENDAR


@pages.get("/agents/<name>/search")
def search(name: str) -> str:
    """The whole page."""
    key, services = own_key(name), get_services()
    query, before = request.args.get("q", "").strip()[:MAX_QUERY_CHARS], bodies.whole_arg("before")
    found = services.history.find_passages(key, query, limit=PAGE + 1, before=before)
    places = _places(key, {hit.turn.conversation for hit in found[:PAGE]})
    return render_template(
        "search.html",
        **agent_frame(name, "chat"),
        query=query,
        hits=[
            HitView(
                hit.turn, highlight(hit.prompt), highlight(_unadorned(hit.reply)), places.get(hit.turn.conversation, "")
            )
            for hit in found[:PAGE]
        ],
        newest=_url(name, q=query) if query and before is not None else "",
        older=_url(name, q=query, before=found[PAGE - 1].turn.id) if len(found) > PAGE else "",
    )


def _places(key: CubicleKey, ids: set[int]) -> dict[int, str]:
    """The names of these conversations; of none where the person has only one."""
    conversations = get_services().conversations
    if len(conversations.list_conversations(key, limit=2)) < 2:
        return {}
    return {one: conversations.get(key, one).shown_name for one in ids}


def _unadorned(pieces: Pieces) -> Pieces:
    """Without the signs that make a reply's words bold or code: a passage is too short to be laid out."""
    return tuple((_ADORNMENT.sub("", text), is_found) for text, is_found in pieces)


def highlight(pieces: Pieces) -> Markup:
    """A passage on one line, the words that were looked for marked."""
    return Markup("").join(
        Markup("<mark>{}</mark>").format(_plain(text)) if is_found else Markup("{}").format(_plain(text))
        for text, is_found in pieces
    )


def _plain(text: str) -> str:
    return chat_safe(text.replace("\n", " ").replace("\t", " "))


def _url(name: str, **wanted: str | int) -> str:
    return f"/agents/{name}/search?{urlencode(wanted)}"
