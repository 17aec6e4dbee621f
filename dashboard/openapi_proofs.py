"""Proofs, as the API describes them."""

from __future__ import annotations

from dashboard.openapi_route import AGENT, USER, ApiRoute
from dashboard.openapi_schemas import (
    BOOLEAN,
    INTEGER,
    STRING,
    TIME,
    Schema,
    array_of,
    enum_of,
    nullable,
    object_of,
    schema_ref,
)

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute(
        "get",
        f"{AGENT}/proof",
        "The twelve ways out of the agent's cubicle, as they were tried last or are being tried now",
        "Proof",
        query=USER,
        fails=(404,),
    ),
    ApiRoute(
        "post",
        f"{AGENT}/proof",
        "Let the agent try the ways out of its cubicle; one proof at a time, and only while the agent is not working",
        "Proof",
        status=202,
        query=USER,
        fails=(404, 409),
    ),
    ApiRoute(
        "get",
        f"{AGENT}/proof/page",
        "The last finished proof as one web page (text/html) that loads nothing and names nobody",
        query=USER,
        fails=(404,),
        sends_file=True,
    ),
)
SCHEMAS: dict[str, Schema] = {
    "Attempt": object_of(
        {
            "id": STRING,
            "title": STRING,
            "tried": {**STRING, "description": "what is done, in a sentence"},
            "verdict": {
                **nullable(enum_of("held", "not_held", "unclear")),
                "description": "null while it has not been made",
            },
            "answered": {**STRING, "description": "what the system said, in words"},
            "answers": {
                "type": "object",
                "additionalProperties": STRING,
                "description": "what each try was answered: `done`, `nothing`, `timeout`, `unresolved`, `refused`, "
                "`limited`, or the name of an error such as `ENETUNREACH`",
            },
            "is_watched": {**BOOLEAN, "description": "the host saw it for itself; else the program inside told it"},
            "fix": {**STRING, "description": "what to do about it; empty when it is held"},
        }
    ),
    "Proof": object_of(
        {
            "stage": enum_of("none", "running", "done", "failed"),
            "started_at": nullable(TIME),
            "ended_at": nullable(TIME),
            "version": {**STRING, "description": "HermitShell's, at that time"},
            "engine": STRING,
            "kernel": STRING,
            "held": INTEGER,
            "of": INTEGER,
            "problem": {**STRING, "description": "why it broke off; else empty"},
            "attempts": array_of(schema_ref("Attempt")),
        }
    ),
}
