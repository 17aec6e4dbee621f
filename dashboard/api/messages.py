"""Messages and what becomes of them: a message makes a turn, a turn has steps, and the turns of one person are the
history.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from flask import Blueprint, request

from dashboard import bodies
from dashboard.auth import own_cubicle, own_turn, require_asker
from dashboard.paths import decode_path
from dashboard.services import get_services
from dashboard.shapes import outcome_json, source_json, summary_json, turn_json
from orchestrator.core.errors import BadInput, NotFound, UnsafePath
from orchestrator.core.models import Conversation, CubicleKey, Turn
from orchestrator.core.text import one_line
from orchestrator.files.attachments import MOST, Attachment, prompt_with_files
from orchestrator.files.mime_types import HEAD_BYTES, type_of
from orchestrator.turns.plans import plan_json

api = Blueprint("messages", __name__)

DEFAULT_WAIT_S = 120.0
MAX_WAIT_S = 600.0
_AUTHOR_CHARS = 200


@api.post("/api/agents/<name>/messages")
def send_message(name: str) -> Any:
    """A message to an agent, with files that were uploaded before: with ``wait`` the answer comes when the turn has
    ended or the time is up, else at once.
    """
    key, turns = own_cubicle(name), get_services().turns
    body = bodies.json_body("text", "files", "wait", "timeout", "conversation", "forwarded")
    files = bodies.texts_field(body, "files", most=MOST)
    text = "" if files and "text" not in body else bodies.text_field(body, "text")
    is_waiting, forwarded = bodies.flag_field(body, "wait"), _read_author(body)
    timeout_s = bodies.seconds_field(body, "timeout", default=DEFAULT_WAIT_S, most=MAX_WAIT_S)
    text = prompt_with_files(text, [_find_attachment(key, file) for file in files])
    turn = turns.submit(
        key,
        text,
        source=require_asker().surface,
        origin=origin_of_request(name),
        conversation=bodies.optional_int_field(body, "conversation"),
        forwarded=forwarded,
    )
    if not is_waiting:
        return outcome_json(turn), 202
    return outcome_json(turns.wait_for_end(turn.id, timeout_s))


@api.get("/api/turns/<id:turn>")
def get_turn(turn: int) -> Any:
    """A turn with its steps, and what its conversation has read; not one that was deleted."""
    found = own_turn(turn)
    if found.was_deleted:
        raise NotFound(f"There is no message {turn} any more.")
    read = get_services().conversations.list_sources(found.conversation)
    plan = plan_json(get_services().plans.list_items(found.id))
    return {**_turns_json([found])[0], "plan": plan, "sources": [source_json(source) for source in read]}


@api.post("/api/turns/<id:turn>/stop")
def stop_turn(turn: int) -> Any:
    """A turn ends as soon as it can, and a command that runs in it too. Again is fine."""
    found = get_services().turns.stop(own_turn(turn).id)
    return _turns_json([found])[0]


@api.post("/api/turns/<id:turn>/withdraw")
def withdraw_turn(turn: int) -> Any:
    """A message that still waits is taken back and leaves the conversation."""
    found = get_services().turns.withdraw(own_turn(turn).id)
    return _turns_json([found])[0]


@api.delete("/api/turns/<id:turn>")
def delete_turn(turn: int) -> Any:
    """A message goes with its answer, and the agent forgets both; files, memories and the audit log stay."""
    services, found = get_services(), own_turn(turn)
    services.branches.delete_turn(found.id, by=require_asker().user.name)
    return "", 204


@api.get("/api/agents/<name>/history")
def read_history(name: str) -> Any:
    """The newest turns of a conversation, the first one where none is named, oldest first; with ``q`` those that fit
    its words, the best first, in all conversations where none is named. ``next`` is the ``before`` of the next page."""
    key, services = own_cubicle(name), get_services()
    conversation, place = _conversation_arg(key), None
    limit, before, words = bodies.limit_arg(default=50, most=200), bodies.whole_arg("before"), request.args.get("q", "")
    if words.replace("\0", " ").strip():
        found = services.history.search_turns(key, words, conversation=conversation, limit=limit + 1, before=before)
        page = found[:limit]
        oldest = page[-1:]
    else:
        place = services.conversations.get(key, conversation)
        found = services.turns.list_history(key, conversation=place.id, limit=limit + 1, before=before)
        page = found[-limit:]
        oldest = page[:1]
    return {
        "turns": _turns_json([services.turns.get(turn.id) for turn in page], place),
        "next": oldest[0].id if len(found) > limit else None,
        "summary": summary_json(services.history.get_summary(key, conversation)),
    }


@api.put("/api/agents/<name>/seen")
def mark_read(name: str) -> Any:
    """The asker has looked at their conversation up to this turn."""
    key, body = CubicleKey(get_services().agents.get(name).name, require_asker().user.id), bodies.json_body("turn")
    get_services().read_marks.mark_read(key, bodies.int_field(body, "turn", default=0))
    return "", 204


@api.delete("/api/agents/<name>/history")
def clear_history(name: str) -> Any:
    """The agent forgets a conversation, the first one where none is named; the audit log keeps it."""
    key = own_cubicle(name)
    get_services().turns.clear_history(key, _conversation_arg(key))
    return "", 204


def _turns_json(turns: Sequence[Turn], place: Conversation | None = None) -> list[dict[str, Any]]:
    """Turns as they stand in a conversation, or each in its own for None."""
    services = get_services()
    siblings = services.branches.list_siblings(turns, place)
    return [
        turn_json(
            turn,
            services.turns.list_steps(turn.id),
            siblings=siblings.get(turn.id, (turn.id,)),
            children=services.branches.list_children(turn.id),
        )
        for turn in turns
    ]


def _read_author(body: dict[str, Any]) -> str:
    """Who wrote a message that is only passed on; empty for the sender. Raises BadInput."""
    name = bodies.text_field(body, "forwarded").strip() if "forwarded" in body else ""
    if len(name) > _AUTHOR_CHARS:
        raise BadInput(f"forwarded: use at most {_AUTHOR_CHARS} characters.")
    return name


def _conversation_arg(key: CubicleKey) -> int | None:
    """``?conversation=``, where it is given; raises NotFound for what is not the cubicle's."""
    wanted = bodies.whole_arg("conversation")
    return None if wanted is None else get_services().conversations.get(key, wanted).id


def _find_attachment(key: CubicleKey, file: str) -> Attachment:
    """A file in ``in/``, by the path that its upload was answered with; raises BadInput."""
    parts, workspaces = decode_path(file), get_services().workspaces
    refusal = BadInput(f"files: {one_line(file)} is no file in in/. Upload it first (PUT …/files/in/NAME).")
    if len(parts) != 2 or parts[0] != b"in":
        raise refusal
    try:
        head = workspaces.read_head(key, parts, max_bytes=HEAD_BYTES)
        size_bytes = workspaces.get_entry(key, parts).size_bytes
    except (NotFound, UnsafePath) as error:
        raise refusal from error
    name = os.fsdecode(parts[1])
    return Attachment(f"in/{name}", size_bytes, type_of(name, head))


def origin_of_request(agent: str) -> str | None:
    """What makes a repeated request the same message: the sender's own Idempotency-Key, when there is one."""
    key = request.headers.get("Idempotency-Key", "")
    if len(key) > 100:
        raise BadInput("Idempotency-Key: send at most 100 characters.")
    return f"api:{require_asker().user.id}:{agent}:{key}" if key else None
