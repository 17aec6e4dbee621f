"""Changing a workspace by hand over the API: another name or place, a new folder, the text of a file, and many at once.

Paths in bodies are percent-encoded as in URLs, so every name that a file has can be meant.
"""

from __future__ import annotations

import re
from typing import Any

from flask import Blueprint, request
from werkzeug.exceptions import LengthRequired

from dashboard import bodies, hand_changes
from dashboard.auth import own_cubicle
from dashboard.paths import asked_for, decode_path, encode_path
from orchestrator.core.errors import BadInput, OrchestratorError, TooLarge
from orchestrator.core.models import CubicleKey
from orchestrator.files.mime_types import HEAD_BYTES, type_of
from orchestrator.files.person_changes import MOST_SAVED_BYTES
from orchestrator.languages.told import worded

api = Blueprint("file_changes", __name__)

MOST_AT_ONCE = 200
_MOST_BODY_BYTES = 1 << 20
_HASH = re.compile(r'"([0-9a-f]{64})"')
_NO_MATCH = 'If-Match: send the ETag of the file as you read it, such as "…64 digits…".'

Parts = tuple[bytes, ...]


@api.patch("/api/agents/<name>/files/<any_path:path>")
def move_path(name: str, path: str) -> Any:  # noqa: ARG001 - the path is read as it was sent
    """A file or folder gets another name or place."""
    key, parts = own_cubicle(name), asked_for()
    to = decode_path(bodies.text_field(bodies.json_body("to"), "to"))
    with hand_changes.remembered(key, parts, to):
        return {"path": encode_path(*hand_changes.move(key, parts, to))}


@api.post("/api/agents/<name>/files/<any_path:path>")
def make_folder(name: str, path: str) -> Any:  # noqa: ARG001 - as above
    """A new folder."""
    key, parts = own_cubicle(name), asked_for()
    with hand_changes.remembered(key, parts):
        hand_changes.make_folder(key, parts)
    return {"path": encode_path(*parts)}, 201


@api.post("/api/agents/<name>/files/", strict_slashes=False)
def change_many(name: str) -> Any:
    """Several files and folders are deleted, or moved into a folder. Each that can't be is told, and the others go
    on."""
    key = own_cubicle(name)
    body = bodies.large_json_body(max_bytes=_MOST_BODY_BYTES, max_items=2 * MOST_AT_ONCE)
    paths = [decode_path(path) for path in bodies.texts_field(body, "paths", most=MOST_AT_ONCE)]
    deed = body.get("do")
    if deed not in ("delete", "move") or set(body) - {"do", "paths", "to"}:
        raise BadInput("do: send delete or move, with paths, and with to where they are moved.")
    into = decode_path(bodies.text_field(body, "to")) if deed == "move" else None
    if into is not None:
        hand_changes.check_folder(key, into)
    done, failed = [], []
    with hand_changes.remembered(key, *paths, *([] if into is None else [(*into, b"")])):
        for parts in paths:
            try:
                done.append(encode_path(*_change_one(key, parts, into)))
            except OrchestratorError as error:
                failed.append({"path": encode_path(*parts), "message": error.message})
    return {"done": done, "failed": failed}


def save_text(key: CubicleKey, parts: Parts) -> Any:
    """The request's body is the text of a file: of a new one with ``If-None-Match: *``, else of the one that
    ``If-Match`` names by its content."""
    expected = _read_precondition()
    if request.content_length is None:
        raise LengthRequired("Send the text as the request's body, with Content-Length.")
    if request.content_length > MOST_SAVED_BYTES:
        raise TooLarge(worded("A file that is saved so may have %(bytes)s bytes.", bytes=f"{MOST_SAVED_BYTES:,}"))
    request.max_content_length = MOST_SAVED_BYTES
    content = request.get_data()
    with hand_changes.remembered(key, parts):
        stored = hand_changes.save(key, parts, content, expected=expected)
    return {
        "path": encode_path(*parts),
        "size": stored.size_bytes,
        "sha256": stored.sha256,
        "type": type_of(stored.name, content[:HEAD_BYTES]),
    }, (201 if expected is None else 200)


def has_precondition() -> bool:
    """The request is about the text of one certain file."""
    return "If-Match" in request.headers or "If-None-Match" in request.headers


def _read_precondition() -> str | None:
    if request.headers.get("If-None-Match", "").strip() == "*" and "If-Match" not in request.headers:
        return None
    found = _HASH.fullmatch(request.headers.get("If-Match", "").strip())
    if found is None or "If-None-Match" in request.headers:
        raise BadInput(_NO_MATCH)
    return found[1]


def _change_one(key: CubicleKey, parts: Parts, into: Parts | None) -> Parts:
    """What it was is told, not where it is now: whoever asked knows that."""
    if into is None:
        hand_changes.delete(key, parts)
    elif parts:
        hand_changes.move(key, parts, (*into, parts[-1]))
    else:
        raise BadInput("A path must name something in the workspace.")
    return parts
