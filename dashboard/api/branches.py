"""Branches of a conversation: a message sent again beside itself, and the tree of the whole."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from dashboard import bodies
from dashboard.api.messages import origin_of_request
from dashboard.auth import own_cubicle, require_asker
from dashboard.services import get_services
from dashboard.shapes import outcome_json, stretch_json

api = Blueprint("branches", __name__)


@api.post("/api/agents/<name>/conversations/<id:conversation>/branch")
def add_branch(name: str, conversation: int) -> Any:
    """A message is sent again beside itself: with other words, or as it was for another answer."""
    key, body = own_cubicle(name), bodies.json_body("turn", "text", "files")
    place = get_services().conversations.get(key, conversation)
    asked = bodies.int_field(body, "turn", default=-1)
    text = bodies.text_field(body, "text") if body.get("text") is not None else None
    if bodies.flag_field(body, "files"):
        get_services().branches.make_prompt(place, asked, text)  # what is refused should change nothing
        get_services().undo.put_back_files(asked, by=require_asker().user.name)
    turn = get_services().branches.send_again(
        place,
        asked,
        text,
        source=require_asker().surface,
        origin=origin_of_request(name),
    )
    return outcome_json(turn), 202


@api.get("/api/agents/<name>/conversations/<id:conversation>/tree")
def read_tree(name: str, conversation: int) -> Any:
    """The whole conversation with its branches."""
    place = get_services().conversations.get(own_cubicle(name), conversation)
    return {"branches": [stretch_json(stretch) for stretch in get_services().branches.get_tree(place)]}
