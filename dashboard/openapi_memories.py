"""Long-term memory, as the API describes it."""

from __future__ import annotations

from dashboard.openapi_route import AGENT, PAGE, USER, ApiRoute
from dashboard.openapi_schemas import INTEGER, STRING, TIME, Schema, array_of, nullable, object_of, schema_ref

_QUERY: dict[str, Schema] = {
    "q": {**STRING, "description": "what it is about; without it the newest come first, page by page"},
}

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute(
        "get",
        f"{AGENT}/memories",
        "What the agent remembers, newest first; with `q` the best matches first",
        "Memories",
        query={**_QUERY, **PAGE, **USER},
        fails=(400, 404),
    ),
    ApiRoute(
        "post",
        f"{AGENT}/memories",
        "Add a fact; if the same one exists, that one is returned",
        "Memory",
        "NewMemory",
        201,
        query=USER,
        fails=(400, 404, 413, 429),
    ),
    ApiRoute("get", f"{AGENT}/memories/{{memory}}", "One fact", "Memory", query=USER, fails=(404,)),
    ApiRoute("delete", f"{AGENT}/memories/{{memory}}", "Forget a fact", status=204, query=USER, fails=(404,)),
)
SCHEMAS: dict[str, Schema] = {
    "Memory": object_of(
        {
            "id": INTEGER,
            "text": STRING,
            "by": {**STRING, "description": "`agent`, or the name of the person who noted it"},
            "turn": {**nullable(INTEGER), "description": "in which turn the agent noted it"},
            "at": TIME,
        }
    ),
    "Memories": object_of({"memories": array_of(schema_ref("Memory")), "next": nullable(INTEGER)}),
    "NewMemory": object_of({"text": STRING}),
}
