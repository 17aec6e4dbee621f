"""Points of time and undo, as the API describes them."""

from __future__ import annotations

from dashboard.openapi_route import AGENT, PAGE, USER, ApiRoute
from dashboard.openapi_schemas import (
    BOOLEAN,
    INTEGER,
    STRING,
    TIME,
    Schema,
    array_of,
    enum_of,
    nullable,
    object_of,
    schema_ref,
)

_POINT = f"{AGENT}/checkpoints/{{point}}"

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute(
        "get",
        f"{AGENT}/checkpoints",
        "Points of time of the workspace, newest first",
        "Checkpoints",
        query={**PAGE, **USER},
        fails=(400, 404, 503),
    ),
    ApiRoute(
        "post",
        f"{AGENT}/checkpoints",
        "Give the files as they are now a name, under which they stay",
        "Checkpoint",
        "CheckpointName",
        201,
        query=USER,
        fails=(400, 404, 413, 503),
    ),
    ApiRoute(
        "delete",
        _POINT,
        "Let a point go, a named one too",
        status=204,
        query=USER,
        fails=(404, 409, 503),
    ),
    ApiRoute(
        "get",
        f"{_POINT}/diff",
        "What differs between a point and another, or the newest; with `path` one file, line by line where it is text",
        "Diff",
        query={
            "to": {**INTEGER, "description": "the other point; default: the newest"},
            "path": {**STRING, "description": "only this file, percent-encoded as in `changes`"},
            **USER,
        },
        fails=(400, 404, 503),
    ),
    ApiRoute(
        "get",
        f"{_POINT}/files/{{path}}",
        "A file as it was at a point",
        query=USER,
        fails=(404, 503),
        sends_file=True,
    ),
    ApiRoute(
        "post",
        f"{_POINT}/restore",
        "Put files and folders back as they were at a point, everything without `paths`; that is a point itself",
        "Restored",
        "RestoreWish",
        query=USER,
        fails=(400, 404, 409, 413, 503),
    ),
    ApiRoute(
        "get",
        "/api/turns/{turn}/undo",
        "What taking a turn back would do",
        "UndoPlan",
        query={"since": {**INTEGER, "description": "1: that and everything since"}},
        fails=(404, 409, 503),
    ),
    ApiRoute(
        "post",
        "/api/turns/{turn}/undo",
        "Take a turn back: its changes of files, and the conversation to before it",
        "Undone",
        "UndoWish",
        fails=(400, 404, 409, 413, 503),
    ),
)
_FACTS = nullable(
    object_of(
        {
            "type": enum_of("file", "link", "folder"),
            "size": INTEGER,
            "mode": {**STRING, "description": "octal permissions"},
            "kept": {**BOOLEAN, "description": "its content is kept, so it can be put back"},
        }
    )
)
_STAYS = array_of(
    object_of(
        {
            "kind": enum_of("delivery", "approval", "calendar", "memory", "money"),
            "text": STRING,
            "page": {**STRING, "description": "where in the dashboard it can be looked at, or empty"},
            "remove": {**STRING, "description": "the path to DELETE it by hand, or empty"},
        }
    )
)
_RESTORED: dict[str, Schema] = {
    "before": {**INTEGER, "description": "the point before; going back to it takes this back"},
    "after": INTEGER,
    "changed": array_of(STRING),
    "left": {
        **array_of(object_of({"path": STRING, "why": STRING})),
        "description": "what could not be put back, and why",
    },
}
SCHEMAS: dict[str, Schema] = {
    "Checkpoint": object_of(
        {
            "id": INTEGER,
            "kind": {
                **enum_of("before", "command", "after", "person", "restore", "named"),
                "description": "before a turn's first command, after a command, at a turn's end, after a person's "
                "change, on both sides of going back, or named by somebody",
            },
            "name": nullable(STRING),
            "turn": nullable(INTEGER),
            "step": nullable(INTEGER),
            "at": TIME,
            "changed": {**INTEGER, "description": "paths that differ from the point before"},
            "torn": {**INTEGER, "description": "files that were being written while they were read"},
            "unkept": {**INTEGER, "description": "changed files that are too large to be kept"},
        }
    ),
    "Checkpoints": object_of({"checkpoints": array_of(schema_ref("Checkpoint")), "next": nullable(INTEGER)}),
    "CheckpointName": object_of({"name": STRING}),
    "Change": object_of(
        {
            "path": {**STRING, "description": "percent-encoded, part by part"},
            "shown": {**STRING, "description": "the path to be read"},
            "kind": enum_of("made", "changed", "deleted"),
            "old": _FACTS,
            "new": _FACTS,
            "lines": {
                **nullable(array_of(STRING)),
                "description": "only with `path`: each begins with a space, -, + or @; null for what is no text",
            },
        },
        required=("path", "shown", "kind", "old", "new"),
    ),
    "Diff": object_of(
        {
            "from": INTEGER,
            "to": INTEGER,
            "total": {**INTEGER, "description": "how many differ; at most 500 are listed"},
            "changes": array_of(schema_ref("Change")),
        }
    ),
    "RestoreWish": object_of(
        {"paths": {**array_of(STRING), "description": "percent-encoded; left out: everything"}}, required=()
    ),
    "Restored": object_of(_RESTORED),
    "UndoPlan": object_of(
        {
            "turn": INTEGER,
            "turns": {**array_of(INTEGER), "description": "whose changes are taken back"},
            "total": INTEGER,
            "changes": array_of(schema_ref("Change")),
            "conflicts": {
                **array_of(schema_ref("Change")),
                "description": "changed again since: each stays unless it is named in `including`",
            },
            "stays": {**_STAYS, "description": "what is not taken back"},
            "undone_at": nullable(TIME),
        }
    ),
    "UndoWish": object_of(
        {
            "since": {**BOOLEAN, "description": "also everything since"},
            "including": {**array_of(STRING), "description": "files of `conflicts` that go back all the same"},
        },
        required=(),
    ),
    "Undone": object_of(
        {
            "files": nullable(object_of(_RESTORED)),
            "conversation_moved": {**BOOLEAN, "description": "it goes on from before the turn"},
            "stays": _STAYS,
        }
    ),
}
