"""Notices, as the API describes them."""

from __future__ import annotations

from dashboard.openapi_route import AGENT, PAGE, USER, ApiRoute
from dashboard.openapi_schemas import INTEGER, STRING, TIME, Schema, array_of, enum_of, nullable, object_of, schema_ref

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute(
        "get",
        f"{AGENT}/notices",
        "What HermitShell itself has said, newest last",
        "Notices",
        query={**PAGE, **USER},
        fails=(400, 404),
    ),
    ApiRoute(
        "post",
        "/api/notices/{notice}",
        "Accept one of a notice's offers, once",
        "Notice",
        "NoticePress",
        fails=(400, 404, 409),
    ),
)
SCHEMAS: dict[str, Schema] = {
    "Notice": object_of(
        {
            "id": INTEGER,
            "agent": STRING,
            "user": INTEGER,
            "turn": nullable(INTEGER),
            "conversation": {**nullable(INTEGER), "description": "to which conversation it belongs, if to one"},
            "at": TIME,
            "kind": enum_of("calendar", "asset", "packages", "budget", "memory", "checkpoint"),
            "text": STRING,
            "offers": array_of(object_of({"label": STRING, "do": STRING})),
            "outcome": {**STRING, "description": "how it was settled; empty while the offers are open"},
        }
    ),
    "Notices": object_of({"notices": array_of(schema_ref("Notice")), "next": nullable(INTEGER)}),
    "NoticePress": object_of({"do": STRING}),
}
