"""Lessons from failures, as the API describes them."""

from __future__ import annotations

from dashboard.openapi_route import AGENT, PAGE, USER, ApiRoute
from dashboard.openapi_schemas import BOOLEAN, INTEGER, STRING, TIME, Schema, array_of, nullable, object_of, schema_ref

_QUERY: dict[str, Schema] = {
    "q": {**STRING, "description": "words of a failure; without it the newest come first, page by page"},
}

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute(
        "get",
        f"{AGENT}/lessons",
        "What the agent learned from failures, newest first; with `q` the best matches first",
        "Lessons",
        query={**_QUERY, **PAGE, **USER},
        fails=(400, 404),
    ),
    ApiRoute(
        "post",
        f"{AGENT}/lessons",
        "Add a lesson; if the same one exists, that one is returned",
        "Lesson",
        "NewLesson",
        201,
        query=USER,
        fails=(400, 404, 429),
    ),
    ApiRoute(
        "patch",
        f"{AGENT}/lessons/{{lesson}}",
        "Keep a lesson that waits: it is used from now on",
        "Lesson",
        "KeptLesson",
        query=USER,
        fails=(400, 404),
    ),
    ApiRoute("delete", f"{AGENT}/lessons/{{lesson}}", "Forget a lesson", status=204, query=USER, fails=(404,)),
)
SCHEMAS: dict[str, Schema] = {
    "Lesson": object_of(
        {
            "id": INTEGER,
            "when": {**STRING, "description": "the command and its error"},
            "fix": STRING,
            "holds": {**STRING, "description": "for which files, versions or places; empty for nothing said"},
            "by": {**STRING, "description": "`agent`, or the name of the person who noted it"},
            "turn": {**nullable(INTEGER), "description": "in which turn the agent noted it"},
            "at": TIME,
            "is_held": {**BOOLEAN, "description": "not used before a person keeps it"},
            "told": {**INTEGER, "description": "how often it was told with a failure"},
            "helped": {**INTEGER, "description": "how often the next command went well"},
            "failed": {**INTEGER, "description": "how often it didn't"},
        }
    ),
    "Lessons": object_of({"lessons": array_of(schema_ref("Lesson")), "next": nullable(INTEGER)}),
    "NewLesson": object_of({"when": STRING, "fix": STRING, "holds": STRING}, but=("holds",)),
    "KeptLesson": object_of({"is_held": {**BOOLEAN, "description": "false"}}),
}
