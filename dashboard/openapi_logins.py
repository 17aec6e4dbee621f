"""The API's description of the ways in: passwords, sessions, tokens, links."""

from __future__ import annotations

from dashboard.openapi_route import Route
from dashboard.openapi_schemas import BOOLEAN, INTEGER, STRING, TIME, Schema, closed, listing, nullable, ref

ROUTES: tuple[Route, ...] = (
    Route(
        "put",
        "/api/me/login",
        "A password for oneself, for an operator a name too; every session ends, and the browser gets a new one",
        "User",
        "MyLogin",
        fails=(400, 409, 429),
    ),
    Route("get", "/api/me/sessions", "Where one is logged in", "Sessions"),
    Route("delete", "/api/me/sessions", "Log oneself out everywhere", status=204),
    Route("delete", "/api/me/sessions/{session}", "Log one browser of one's own out", status=204, fails=(404,)),
    Route("delete", "/api/sessions", "Log everybody out everywhere (operator)", status=204),
    Route("get", "/api/tokens", "Every API token, without what it is (operator)", "Tokens"),
    Route("post", "/api/tokens", "A new API token (operator)", "Token", "NewToken", 201, fails=(400, 404, 409)),
    Route("delete", "/api/tokens/{token}", "An API token works no more (operator)", status=204, fails=(404,)),
    Route(
        "post",
        "/api/login-links",
        "A new one-time login link (operator)",
        "LoginLink",
        "NewLoginLink",
        201,
        fails=(400, 404),
    ),
)
SCHEMAS: dict[str, Schema] = {
    "MyLogin": closed(
        {
            "name": STRING,
            "password": {**STRING, "writeOnly": True, "minLength": 10, "maxLength": 1000},
            "current": {**STRING, "writeOnly": True, "description": "the present one, where there is one"},
            "time_zone": {**STRING, "description": "by its IANA name"},
        },
        required=("password",),
    ),
    "Session": closed(
        {
            "id": STRING,
            "browser": {**STRING, "description": "as it called itself"},
            "address": STRING,
            "created_at": TIME,
            "seen_at": {**TIME, "description": "when it was used last, give or take five minutes"},
            "is_this": BOOLEAN,
        }
    ),
    "Sessions": closed({"sessions": listing(ref("Session"))}),
    "KnownToken": closed({"name": STRING, "user": INTEGER, "created_at": TIME, "used_at": nullable(TIME)}),
    "Tokens": closed({"tokens": listing(ref("KnownToken"))}),
}
