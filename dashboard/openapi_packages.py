"""Packages that agents asked for, as the API describes them."""

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

_STATUSES = ("resolving", "asked", "downloading", "done", "denied", "expired", "cancelled", "failed")

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute(
        "get",
        "/api/packages",
        "Packages that agents asked for, newest first; decided by their approvals",
        "Installations",
        query={"status": enum_of(*_STATUSES), "limit": LIMIT},
        fails=(400,),
    ),
)
SCHEMAS: dict[str, Schema] = {
    "Installation": object_of(
        {
            "id": INTEGER,
            "agent": STRING,
            "user": INTEGER,
            "turn": nullable(INTEGER),
            "system": enum_of("pip", "npm"),
            "asked": {**array_of(STRING), "description": "the names that were asked for"},
            "packages": array_of(schema_ref("InstalledPackage")),
            "total_bytes": INTEGER,
            "status": enum_of(*_STATUSES),
            "error": {**STRING, "description": "why it ended without packages, as a sentence; else empty"},
            "approval": {**nullable(STRING), "description": "its approval, once there is one"},
            "asked_at": TIME,
            "ended_at": nullable(TIME),
        }
    ),
    "InstalledPackage": object_of(
        {
            "name": STRING,
            "version": STRING,
            "size_bytes": INTEGER,
            "hash": {**STRING, "description": "sha256:… of pip's, sha512:… of npm's"},
        }
    ),
    "Installations": object_of({"packages": array_of(schema_ref("Installation"))}),
}
