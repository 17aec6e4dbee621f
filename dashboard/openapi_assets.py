"""Files from the internet, as the API describes them."""

from __future__ import annotations

from dashboard.openapi_route import ApiRoute
from dashboard.openapi_schemas import (
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

_STATUSES = ("asked", "denied", "expired", "cancelled", "fetching", "done", "failed")

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute(
        "get",
        "/api/assets",
        "Files that agents asked for from the internet, newest first",
        "Assets",
        query={
            "status": {**enum_of(*_STATUSES, "pending"), "description": "`pending` is `asked`"},
            "limit": LIMIT,
        },
        fails=(400,),
    ),
    ApiRoute(
        "post",
        "/api/assets/{asset}",
        "Approve or deny, once; the same as of the approval with this id",
        "Asset",
        "Decision",
        fails=(400, 403, 404, 409, 429),
    ),
)
SCHEMAS: dict[str, Schema] = {
    "Asset": object_of(
        {
            "id": {**STRING, "description": "its approval's, where a person was asked"},
            "agent": STRING,
            "user": INTEGER,
            "turn": nullable(INTEGER),
            "description": {**STRING, "description": "the agent's own description"},
            "url": {**STRING, "description": "exactly what is fetched"},
            "host": {**STRING, "description": "in ASCII"},
            "file_type": STRING,
            "status": enum_of(*_STATUSES),
            "error": {**STRING, "description": "why it failed, as a sentence; else empty"},
            "onward": {**nullable(STRING), "description": "the asset that it waits for: it sends on to another host"},
            "path": {**nullable(STRING), "description": "where it lies, such as in/report.pdf"},
            "size_bytes": nullable(INTEGER),
            "sha256": nullable(STRING),
            "content_type": {**nullable(STRING), "description": "the type that the server states"},
            "asked_at": TIME,
            "ended_at": nullable(TIME),
        }
    ),
    "Assets": object_of({"assets": array_of(schema_ref("Asset"))}),
}
