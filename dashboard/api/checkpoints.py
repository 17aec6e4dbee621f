"""Points of time of a workspace: listed, compared, named, and gone back to; and turns taken back."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request

from dashboard import bodies
from dashboard.api.files import file_response
from dashboard.auth import own_cubicle, own_turn, require_asker
from dashboard.paths import asked_for, decode_path
from dashboard.services import get_services
from dashboard.shapes import change_json, checkpoint_json, restore_json, undo_plan_json, undo_result_json
from orchestrator.checkpoints.models import MOST_FILE_BYTES, EntryKind
from orchestrator.core.errors import BadInput, NotFound, UnsafePath
from orchestrator.files.mime_types import UNKNOWN
from orchestrator.files.names import safe_name

api = Blueprint("checkpoints", __name__)

_BEFORE_PATH = len(("", "api", "agents", "NAME", "checkpoints", "ID", "files"))
MOST_CHANGES = 500
"""In one answer."""
_MOST_PATHS = 1_000


@api.get("/api/agents/<name>/checkpoints")
def list_checkpoints(name: str) -> Any:
    """A page of points, newest first."""
    key, limit = own_cubicle(name), bodies.limit_arg(default=50, most=200)
    found = get_services().checkpoints.list_checkpoints(key, limit=limit + 1, before=bodies.whole_arg("before"))
    page = found[:limit]
    return {
        "checkpoints": [checkpoint_json(point) for point in page],
        "next": page[-1].id if len(found) > limit else None,
    }


@api.post("/api/agents/<name>/checkpoints")
def add_checkpoint(name: str) -> Any:
    """The files as they are now get a name, under which they stay."""
    key, named = own_cubicle(name), bodies.text_field(bodies.json_body("name"), "name")
    return checkpoint_json(get_services().restores.create_point(key, named)), 201


@api.delete("/api/agents/<name>/checkpoints/<id:point>")
def delete_checkpoint(name: str, point: int) -> Any:
    """A point can't be gone back to any more."""
    get_services().restores.delete_point(own_cubicle(name), point)
    return "", 204


@api.get("/api/agents/<name>/checkpoints/<id:point>/diff")
def read_diff(name: str, point: int) -> Any:
    """What differs from another point, or from the newest; with ``path`` one file, line by line where it is text."""
    key, to = own_cubicle(name), bodies.whole_arg("to")
    checkpoints = get_services().checkpoints
    changes = checkpoints.diff(key, point, to)
    newer = to if to is not None else checkpoints.list_checkpoints(key, limit=1)[0].id
    path = request.args.get("path", "")
    if path:
        parts = decode_path(path)
        changes = [change for change in changes if change.path == parts]
        if not changes:
            raise NotFound("This file is the same at both points.")
    shown = changes[:MOST_CHANGES]
    with_lines = (key, point, newer) if path else None
    return {
        "from": point,
        "to": newer,
        "total": len(changes),
        "changes": [change_json(change, with_lines) for change in shown],
    }


@api.get("/api/agents/<name>/checkpoints/<id:point>/files/<any_path:path>")
def read_file(name: str, point: int, path: str) -> Response:  # noqa: ARG001 - the path is read as it was sent
    """A file as it was at a point."""
    key, parts, checkpoints = own_cubicle(name), asked_for(_BEFORE_PATH), get_services().checkpoints
    try:
        if checkpoints.get_entry(key, point, parts).kind is not EntryKind.FILE:
            raise NotFound("This was no file then.")
        content = checkpoints.read_content(key, point, parts, max_bytes=MOST_FILE_BYTES)
    except UnsafePath as error:
        raise NotFound(error.message) from error
    return file_response(iter((content,)), UNKNOWN, safe_name(parts[-1]), size_bytes=len(content))


@api.post("/api/agents/<name>/checkpoints/<id:point>/restore")
def restore(name: str, point: int) -> Any:
    """These files and folders, or everything, are as they were at a point."""
    key = own_cubicle(name)
    body = bodies.json_body("paths") if request.content_length else {}
    paths = [decode_path(path) for path in bodies.texts_field(body, "paths", most=_MOST_PATHS)]
    if any(not parts for parts in paths):
        raise BadInput("paths: name files or folders, such as work/notes.txt; leave it out for everything.")
    done = get_services().restores.restore(key, point, paths, by=require_asker().user.name)
    return restore_json(done)


@api.get("/api/turns/<id:turn>/undo")
def preview_undo(turn: int) -> Any:
    """What taking a turn back would do; with ``since`` that and everything since."""
    found = own_turn(turn)
    is_since = request.args.get("since", "") in ("1", "true")
    return undo_plan_json(get_services().undo.preview(found.id, is_since=is_since), most=MOST_CHANGES)


@api.post("/api/turns/<id:turn>/undo")
def undo(turn: int) -> Any:
    """A turn is taken back."""
    found = own_turn(turn)
    body = bodies.json_body("since", "including") if request.content_length else {}
    including = [decode_path(path) for path in bodies.texts_field(body, "including", most=_MOST_PATHS)]
    is_since = bodies.flag_field(body, "since")
    by = require_asker().user.name
    return undo_result_json(get_services().undo.undo(found.id, by=by, is_since=is_since, including=including))
