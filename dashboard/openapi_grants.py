"""What agents may do without asking, as the API describes it."""

from __future__ import annotations

from dashboard.openapi_route import AGENT, ApiRoute
from dashboard.openapi_schemas import INTEGER, STRING, TIME, Schema, array_of, enum_of, nullable, object_of, schema_ref

_KIND = enum_of("command", "host", "site")
_SCOPE = enum_of("hour", "conversation", "always")

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute(
        "get",
        f"{AGENT}/grants",
        "What the agent may do without asking; members see what applies to their own conversation",
        "Grants",
        fails=(404,),
    ),
    ApiRoute(
        "post",
        f"{AGENT}/grants",
        "Allow something in advance (`always`: operator)",
        "Grant",
        "NewGrant",
        201,
        fails=(400, 403, 404, 429),
    ),
    ApiRoute("delete", f"{AGENT}/grants/{{grant}}", "Ask again from now on", status=204, fails=(404,)),
    ApiRoute("get", f"{AGENT}/hosts", "Hosts that need no approval (operator)", "AllowedHosts", fails=(404,)),
    ApiRoute("delete", f"{AGENT}/hosts/{{host}}", "Ask about this host again (operator)", status=204, fails=(404,)),
)
SCHEMAS: dict[str, Schema] = {
    "Grant": object_of(
        {
            "id": STRING,
            "agent": STRING,
            "user": {**nullable(INTEGER), "description": "whose conversations it holds in; null for everybody's"},
            "kind": _KIND,
            "subject": {
                **STRING,
                "description": "a kind of command such as `delete below work/build/`, a host, or a site; of a site "
                "also `HOST with SITE`: what its pages may load from elsewhere",
            },
            "scope": _SCOPE,
            "since": TIME,
            "until": {**nullable(TIME), "description": "a conversation's grant ends when it is cleared, too"},
            "by": {**STRING, "description": "who allowed it, and where"},
            "conversation": {**nullable(INTEGER), "description": "the one conversation it holds in; null for all"},
        }
    ),
    "Grants": object_of({"grants": array_of(schema_ref("Grant"))}),
    "NewGrant": object_of(
        {
            "kind": _KIND,
            "subject": STRING,
            "scope": {**_SCOPE, "description": "`conversation` when it is left out"},
        },
        required=("kind", "subject"),
    ),
    "AllowedHost": object_of({"agent": STRING, "host": STRING, "by": STRING, "at": TIME}),
    "AllowedHosts": object_of({"hosts": array_of(schema_ref("AllowedHost"))}),
}
