"""Web apps, as the API describes them."""

from __future__ import annotations

from dashboard.openapi_route import AGENT, USER, ApiRoute
from dashboard.openapi_schemas import INTEGER, STRING, TIME, Schema, array_of, enum_of, nullable, object_of, schema_ref

_ONE = f"{AGENT}/apps/{{app}}"

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute("get", "/api/apps", "All apps that the caller can open: their own, and those shared with them", "Apps"),
    ApiRoute("get", f"{AGENT}/apps", "The web apps in `www/`", "Apps", query=USER, fails=(403, 404)),
    ApiRoute(
        "get",
        _ONE,
        "One app; with `user` another person's, for the operator or when it is shared with the caller",
        "App",
        query=USER,
        fails=(403, 404),
    ),
    ApiRoute(
        "post", f"{_ONE}/share", "Share it with another person", "App", "AppGuest", 200, USER, fails=(400, 404, 429)
    ),
    ApiRoute(
        "delete",
        f"{_ONE}/share",
        "Stop sharing it, also with pages that are open",
        body="AppGuest",
        status=204,
        query=USER,
        fails=(400, 404),
    ),
)
SCHEMAS: dict[str, Schema] = {
    "App": object_of(
        {
            "name": {**STRING, "description": "its folder in `www/`"},
            "title": STRING,
            "kind": {
                **enum_of("static", "live", "incomplete"),
                "description": "files, a server in the cubicle, or no app yet",
            },
            "port": {**nullable(INTEGER), "description": "where a live app listens, inside"},
            "missing": {**nullable(STRING), "description": "what an incomplete one lacks"},
            "changed_at": nullable(TIME),
            "agent": STRING,
            "user": {**INTEGER, "description": "whose it is"},
            "owner": STRING,
            "shared_with": array_of(object_of({"id": INTEGER, "name": STRING})),
            "view_url": {**STRING, "description": "a page of the dashboard that holds it in a sandboxed frame"},
            "frame_url": {
                **nullable(STRING),
                "description": "signed, for some hours, for a frame of the dashboard alone; null while there is none",
            },
            "thumbnail_url": {
                **nullable(STRING),
                "description": "a PNG of what it shows when it is opened; null while there is none",
            },
            "reason": {**nullable(STRING), "description": "why there is no `frame_url`"},
        }
    ),
    "Apps": object_of({"apps": array_of(schema_ref("App"))}),
    "AppGuest": object_of({"user": {"type": ["integer", "string"], "description": "the person's number, or name"}}),
}
