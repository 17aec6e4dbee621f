"""The API's description of search engines."""

from __future__ import annotations

from dashboard.openapi_route import ApiRoute
from dashboard.openapi_schemas import BOOLEAN, INTEGER, STRING, Schema, array_of, enum_of, object_of, schema_ref

_ONE = "/api/search-engines/{engine}"
_KEY: dict[str, Schema] = {
    "key": {**STRING, "writeOnly": True, "description": "kept on the host; never shown again"},
    "base_url": {**STRING, "description": "of your own SearXNG server, such as http://127.0.0.1:8888"},
}

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute("get", "/api/search-engines", "Search engines, set up or not (operator)", "SearchEngines"),
    ApiRoute(
        "put",
        _ONE,
        "Set up a search engine, used from the next search. 409 if the settings take precedence (operator)",
        "SearchEngine",
        "SearchEngineKey",
        fails=(400, 404, 409, 503),
    ),
    ApiRoute("delete", _ONE, "Forget what was given here (operator)", status=204, fails=(404, 503)),
    ApiRoute(
        "post",
        f"{_ONE}/test",
        "Test a search engine with a real search, as set up or with a key that isn't stored (operator)",
        "SearchTrial",
        "SearchEngineKey",
        fails=(400, 404, 409),
    ),
)
SCHEMAS: dict[str, Schema] = {
    "SearchEngine": object_of(
        {
            "name": STRING,
            "label": STRING,
            "origin": {
                **enum_of("settings", "dashboard", ""),
                "description": "who set it up: the environment or hermit.env, the dashboard; empty: nobody yet",
            },
            "setting": {**STRING, "description": "of the environment or hermit.env, where its key may be"},
            "base_url": {**STRING, "description": "of your own server, where it is set up"},
            "key_from": {**STRING, "description": "where to get a key; empty: it needs none"},
            "place": {**INTEGER, "description": "1: asked first; 0: not set up"},
        }
    ),
    "SearchEngines": object_of({"engines": array_of(schema_ref("SearchEngine"))}),
    "SearchEngineKey": object_of(_KEY, required=()),
    "SearchTrial": object_of({"ok": BOOLEAN, "message": {**STRING, "description": "what came back, in plain words"}}),
}
