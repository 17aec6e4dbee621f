"""Secrets for pages of agents' browsers, as the API describes them."""

from __future__ import annotations

from dashboard.openapi_route import ApiRoute
from dashboard.openapi_schemas import STRING, TIME, Schema, array_of, nullable, object_of, schema_ref

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute("get", "/api/me/page-secrets", "The caller's secrets for pages, without their values", "PageSecrets"),
    ApiRoute(
        "post",
        "/api/me/page-secrets",
        "Keep a secret for pages of one host, in the place of one of the same name, host and agent",
        "PageSecret",
        "NewPageSecret",
        201,
        fails=(400, 404, 429),
    ),
    ApiRoute("delete", "/api/me/page-secrets/{secret}", "Remove a secret for pages", status=204, fails=(404,)),
)
SCHEMAS: dict[str, Schema] = {
    "PageSecret": object_of(
        {
            "id": STRING,
            "name": {**STRING, "description": "what agents call it"},
            "host": {**STRING, "description": "whose pages alone get it"},
            "agent": {**nullable(STRING), "description": "who alone may use it; null for every agent of yours"},
            "created_at": TIME,
            "used_at": nullable(TIME),
        }
    ),
    "PageSecrets": object_of({"secrets": array_of(schema_ref("PageSecret"))}),
    "NewPageSecret": object_of(
        {
            "name": {**STRING, "minLength": 1, "maxLength": 40},
            "host": {**STRING, "description": "such as shop.example; with a port where it is not the usual one"},
            "value": {**STRING, "writeOnly": True, "minLength": 4, "maxLength": 1000},
            "agent": {**STRING, "description": "an agent's name; empty for every agent"},
        },
        required=("name", "host", "value"),
    ),
}
