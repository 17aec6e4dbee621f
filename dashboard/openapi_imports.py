"""Imports from other products, as the API describes them."""

from __future__ import annotations

from dashboard.openapi_route import ApiRoute
from dashboard.openapi_schemas import BOOLEAN, INTEGER, STRING, Schema, array_of, enum_of, object_of
from orchestrator.agents.looks import COLORS, MAX_DISPLAY_CHARS
from orchestrator.operations.agent_import.layouts import Product

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute(
        "put",
        "/api/imports",
        "Look at a zip of an OpenClaw, Hermes or nanobot folder: what would come (operator)",
        "ImportPlan",
        status=201,
        fails=(400, 411, 413),
        takes_file=True,
    ),
    ApiRoute("get", "/api/imports/{number}", "The same again, for an hour (operator)", "ImportPlan", fails=(404,)),
    ApiRoute(
        "post",
        "/api/imports/{number}",
        "All of it comes, or nothing does; schedules arrive paused (operator)",
        "Imported",
        "ImportChoice",
        201,
        fails=(400, 404, 409, 429),
    ),
)
_FOUND = {"path": {**STRING, "description": "which file of the zip"}, "why": STRING}
SCHEMAS: dict[str, Schema] = {
    "ImportPlan": object_of(
        {
            "id": STRING,
            "product": enum_of(*Product),
            "name": {**STRING, "description": "what the agent could be called"},
            "time_zone": STRING,
            "persona": object_of({"display_name": STRING, "avatar": STRING, "role": STRING, "personality": STRING}),
            "memories": array_of(object_of({"text": STRING, "path": STRING})),
            "files": array_of(object_of({"name": STRING, "path": STRING, "size": INTEGER})),
            "schedules": array_of(
                object_of(
                    {
                        "title": STRING,
                        "prompt": STRING,
                        "when": {**STRING, "description": "in words"},
                        "start": STRING,
                        "time_zone": STRING,
                        "repeat": STRING,
                        "was_on": {**BOOLEAN, "description": "there; here it arrives paused"},
                    }
                )
            ),
            "left_out": array_of(object_of(_FOUND)),
            "secrets": {
                **array_of(object_of(_FOUND)),
                "description": "files that seem to hold secrets: what does stays out unless it is named in `secrets`",
            },
        }
    ),
    "ImportChoice": object_of(
        {
            "agent": {**STRING, "description": "a new one of this name, or one that is there and stays who it is"},
            "display_name": {**STRING, "maxLength": MAX_DISPLAY_CHARS},
            "color": enum_of("", *COLORS),
            "secrets": {**array_of(STRING), "description": "paths of the plan's `secrets` that come nevertheless"},
        },
        required=("agent",),
    ),
    "Imported": object_of(
        {
            "agent": STRING,
            "is_new": BOOLEAN,
            "memories": INTEGER,
            "schedules": INTEGER,
            "files": INTEGER,
            "pending": {**INTEGER, "description": "files that the disk did not take yet; they come later"},
        }
    ),
}
