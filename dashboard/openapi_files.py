"""Files of a workspace, as the API describes them."""

from __future__ import annotations

from dashboard.openapi_route import AGENT, USER, ApiRoute
from dashboard.openapi_schemas import (
    BOOLEAN,
    INTEGER,
    LIMIT,
    STRING,
    TIME,
    Schema,
    array_of,
    enum_of,
    nullable,
    object_of,
    schema_ref,
)

_AT = f"{AGENT}/files/{{path}}"
_FOLDER: dict[str, Schema] = {
    "after": {**STRING, "description": "`next` of the page before"},
    "limit": LIMIT,
    "find": {**STRING, "description": "words: what has them all in its name, in the folder or beneath it"},
    "zip": {**enum_of("1"), "description": "the folder as a zip archive"},
    "only": {**STRING, "description": "with `zip`: a name in the folder, percent-encoded; may be given several times"},
    **USER,
}
_INLINE: dict[str, Schema] = {"inline": {**enum_of("1"), "description": "for showing in a browser, if harmless"}}

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute(
        "get",
        f"{AGENT}/files/",
        "The folders of the workspace, or all of it as a zip archive; with `find` what is found in it",
        "Files",
        query=_FOLDER,
        fails=(400, 404, 413, 429, 503),
        sends_file=True,
    ),
    ApiRoute(
        "post",
        f"{AGENT}/files/",
        "Delete several files and folders, or move them into a folder (`to`). Those that can't be are told in "
        "`failed`, and the others go on.",
        "FilesChanged",
        "FilesChange",
        query=USER,
        fails=(404, 409, 503),
    ),
    ApiRoute(
        "get",
        _AT,
        "A folder as a list (a page of it), or as a zip archive; a file as a download. Links, pipes and files with "
        "several names are not found. `path` is percent-encoded bytes, so that every name can be addressed; its "
        "slashes stay as they are. A file's ETag is the SHA-256 of its content.",
        "Files",
        query={**_FOLDER, **_INLINE},
        fails=(400, 404, 409, 413, 429, 503),
        sends_file=True,
    ),
    ApiRoute(
        "put",
        _AT,
        "Upload a file: `path` is in/NAME, the body its bytes. It replaces nothing: the answer says what it is called. "
        "With If-Match and a file's ETag the body takes the place of that file's content, unless it was changed "
        "meanwhile (412); with `If-None-Match: *` it is a new file in work, out or www.",
        "Upload",
        status=201,
        query=USER,
        other=(200,),
        fails=(400, 404, 409, 411, 412, 413, 429, 503),
        takes_file=True,
    ),
    ApiRoute(
        "patch",
        _AT,
        "Rename or move a file or folder to the path `to`; nothing is replaced",
        "FilePlace",
        "FileMove",
        query=USER,
        fails=(404, 409, 503),
    ),
    ApiRoute(
        "post",
        _AT,
        "Make a folder in work, out or www; no body",
        "FilePlace",
        status=201,
        query=USER,
        fails=(400, 404, 409, 503),
    ),
    ApiRoute(
        "delete",
        _AT,
        "Delete a file, or a folder with everything in it",
        status=204,
        query=USER,
        fails=(404, 409, 503),
    ),
)

_FILE_PATH: Schema = {
    **STRING,
    "description": "from the workspace's top, percent-encoded: append it to …/files/ as it is",
}
_ENTRY: dict[str, Schema] = {
    "name": {**STRING, "description": "to be shown: invisible characters and bytes that are no UTF-8 are written out"},
    "path": _FILE_PATH,
    "kind": {**enum_of("file", "folder", "other"), "description": "other: a link, a pipe, …, which is never opened"},
    "size": INTEGER,
    "modified": TIME,
}

SCHEMAS: dict[str, Schema] = {
    "Entry": object_of(_ENTRY),
    "Files": object_of(
        {
            "entries": array_of(schema_ref("Entry")),
            "next": {**nullable(STRING), "description": "`after` of the next page"},
            "is_complete": {
                **BOOLEAN,
                "description": "with `find`: everything was looked at",
            },
        },
        required=("entries", "next"),
    ),
    "Upload": object_of({"path": _FILE_PATH, "size": INTEGER, "sha256": STRING, "type": STRING}),
    "FileMove": object_of({"to": _FILE_PATH}),
    "FilePlace": object_of({"path": _FILE_PATH}),
    "FilesChange": object_of(
        {
            "do": enum_of("delete", "move"),
            "paths": {**array_of(_FILE_PATH), "maxItems": 200},
            "to": {**_FILE_PATH, "description": "the folder that they are moved into"},
        },
        required=("do", "paths"),
    ),
    "FilesChanged": object_of(
        {
            "done": {**array_of(_FILE_PATH), "description": "as they were named"},
            "failed": array_of(object_of({"path": _FILE_PATH, "message": STRING})),
        }
    ),
}
