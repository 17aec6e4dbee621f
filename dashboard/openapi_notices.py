"""Notices, as the API describes them."""

from __future__ import annotations

from dashboard.openapi_route import AGENT, PAGE, USER, ApiRoute
from dashboard.openapi_schemas import INTEGER, STRING, TIME, Schema, choice, closed, listing, nullable, ref

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
    "Notice": closed(
        {
            "id": INTEGER,
            "agent": STRING,
            "user": INTEGER,
            "turn": nullable(INTEGER),
            "at": TIME,
            "kind": choice("calendar", "asset", "packages", "budget", "memory"),
            "text": STRING,
            "offers": listing(closed({"label": STRING, "do": STRING})),
            "outcome": {**STRING, "description": "how it was settled; empty while the offers are open"},
        }
    ),
    "Notices": closed({"notices": listing(ref("Notice")), "next": nullable(INTEGER)}),
    "NoticePress": closed({"do": STRING}),
}
