"""Questions of agents, as the API describes them."""

from __future__ import annotations

from dashboard.openapi_route import ApiRoute
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

_STATUS = enum_of("pending", "answered", "expired", "cancelled")

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute(
        "get",
        "/api/questions",
        "What agents asked, newest first",
        "Questions",
        query={"status": _STATUS, "limit": LIMIT},
        fails=(400,),
    ),
    ApiRoute(
        "post",
        "/api/questions/{question}",
        "Answer, once: one of the choices, or any text where `free_text` is true",
        "Question",
        "QuestionAnswer",
        fails=(400, 404, 409),
    ),
)
SCHEMAS: dict[str, Schema] = {
    "Question": object_of(
        {
            "id": STRING,
            "agent": STRING,
            "user": INTEGER,
            "turn": {**nullable(INTEGER), "description": "the turn that waits for it; its end cancels the question"},
            "text": STRING,
            "shown": {**STRING, "description": "the text with everything invisible written out"},
            "choices": array_of(STRING),
            "free_text": {**BOOLEAN, "description": "answers other than the choices are allowed"},
            "status": _STATUS,
            "answer": nullable(STRING),
            "asked_at": TIME,
            "expires_at": TIME,
            "answered_at": {**nullable(TIME), "description": "when it ended, however it did"},
            "answered_by": {**nullable(STRING), "description": "who answered, or why nobody will"},
        }
    ),
    "Questions": object_of({"questions": array_of(schema_ref("Question"))}),
    "QuestionAnswer": object_of({"answer": STRING}),
}
