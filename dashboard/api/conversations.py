"""Conversations with an agent: listed, begun, named, deleted. Their messages are read and sent elsewhere."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request, stream_with_context

from dashboard import bodies
from dashboard.auth import own_cubicle
from dashboard.exports import TYPES, export_conversation, file_name
from dashboard.services import get_services
from dashboard.shapes import conversation_json, source_json, use_json
from orchestrator.core.errors import BadInput
from orchestrator.turns.transcripts import read_transcript

api = Blueprint("conversations", __name__)

_MOST_QUERY = 2_000
MAX_IMPORT_BYTES, MAX_IMPORT_ITEMS = 64 << 20, 1_000_000


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
    """Begin one, with nothing or where a turn ended; the whole body may be left out."""
    key, body = own_cubicle(name), bodies.json_body("name", "turn") if request.content_length else {}
    named = bodies.text_field(body, "name") if body.get("name") is not None else ""
    conversations = get_services().conversations
    made = conversations.create(key, named, turn=bodies.optional_int_field(body, "turn"))
    return conversation_json(made, first=conversations.get(key).id), 201


@api.patch("/api/agents/<name>/conversations/<id:conversation>")
def change_conversation(name: str, conversation: int) -> Any:
    """Give it another name, or go on with the branch of another turn."""
    key, body = own_cubicle(name), bodies.json_body("name", "turn")
    services, turn = get_services(), bodies.optional_int_field(body, "turn")
    named = bodies.text_field(body, "name") if "name" in body or turn is None else None
    found = services.conversations.get(key, conversation)
    if named is not None:
        found = services.conversations.rename(key, conversation, named)
    if turn is not None:
        found = services.branches.select(found, turn)
    return conversation_json(found, first=services.conversations.get(key).id)


@api.get("/api/agents/<name>/conversations/<id:conversation>/use")
def get_use(name: str, conversation: int) -> Any:
    """What it takes: cost, tokens, and how much of what the model can read at once it fills."""
    services = get_services()
    return use_json(services.budget.read_use(services.conversations.get(own_cubicle(name), conversation).id))


@api.get("/api/agents/<name>/conversations/<id:conversation>/sources")
def list_sources(name: str, conversation: int) -> Any:
    """What it has read that strangers may have written, the oldest first."""
    conversations = get_services().conversations
    found = conversations.get(own_cubicle(name), conversation)
    return {"sources": [source_json(source) for source in conversations.list_sources(found.id)]}


@api.get("/api/agents/<name>/conversations/<id:conversation>/export")
def export_one(name: str, conversation: int) -> Response:
    """It as a file: ``?format=md``, ``html`` or ``json``."""
    how = request.args.get("format", "md")
    if how not in TYPES:
        raise BadInput(f"format: choose one of {', '.join(TYPES)}.")
    found = get_services().conversations.get(own_cubicle(name), conversation)
    pieces = iter(()) if request.method == "HEAD" else stream_with_context(export_conversation(found, how))
    response = Response(pieces, content_type=TYPES[how])
    response.headers["Content-Disposition"] = f'attachment; filename="{file_name(found, how)}"'
    return response


@api.post("/api/agents/<name>/conversations/import")
def import_one(name: str) -> Any:
    """An export in JSON is a new conversation."""
    key = own_cubicle(name)
    told = read_transcript(bodies.large_json_body(max_bytes=MAX_IMPORT_BYTES, max_items=MAX_IMPORT_ITEMS))
    conversations = get_services().conversations
    made = conversations.import_transcript(key, told)
    return conversation_json(made, first=conversations.get(key).id), 201


@api.delete("/api/agents/<name>/conversations/<id:conversation>")
def delete_conversation(name: str, conversation: int) -> Any:
    """It leaves every list, and the agent forgets it."""
    get_services().conversations.delete(own_cubicle(name), conversation)
    return "", 204
