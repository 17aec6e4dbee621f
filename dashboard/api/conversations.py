"""Conversations with an agent: listed, begun, named, deleted. Their messages are read and sent elsewhere."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, request

from dashboard import bodies
from dashboard.auth import own_cubicle
from dashboard.services import get_services
from dashboard.shapes import conversation_json
from orchestrator.core.errors import BadInput

api = Blueprint("conversations", __name__)

_MOST_QUERY = 2_000


@api.get("/api/agents/<name>/conversations")
def list_conversations(name: str) -> Any:
    """A page of them, the one that was used last first; with ``q`` those with these words."""
    key, words = own_cubicle(name), request.args.get("q", "")
    if len(words) > _MOST_QUERY:
        raise BadInput(f"q: send at most {_MOST_QUERY:,} characters.")
    limit, before = bodies.limit_arg(default=50, most=200), bodies.whole_arg("before")
    conversations = get_services().conversations
    first = conversations.get(key).id
    found = conversations.list_conversations(key, words=words, limit=limit + 1, before=before)
    unread = get_services().read_marks.count_by_conversation(key)
    page = found[:limit]
    return {
        "conversations": [conversation_json(one, first=first, unread=unread.get(one.id, 0)) for one in page],
        "next": page[-1].id if len(found) > limit else None,
    }


@api.post("/api/agents/<name>/conversations")
def add_conversation(name: str) -> Any:
    """Begin one; a name may be left out, and the whole body with it."""
    key, body = own_cubicle(name), bodies.json_body("name") if request.content_length else {}
    named = bodies.text_field(body, "name") if body.get("name") is not None else ""
    conversations = get_services().conversations
    made = conversations.create(key, named)
    return conversation_json(made, first=conversations.get(key).id), 201


@api.patch("/api/agents/<name>/conversations/<id:conversation>")
def rename_conversation(name: str, conversation: int) -> Any:
    """Give it another name."""
    key, named = own_cubicle(name), bodies.text_field(bodies.json_body("name"), "name")
    conversations = get_services().conversations
    renamed = conversations.rename(key, conversation, named)
    return conversation_json(renamed, first=conversations.get(key).id)


@api.delete("/api/agents/<name>/conversations/<id:conversation>")
def delete_conversation(name: str, conversation: int) -> Any:
    """It leaves every list, and the agent forgets it."""
    get_services().conversations.delete(own_cubicle(name), conversation)
    return "", 204
