"""The API's description of providers and of the install's settings."""

from __future__ import annotations

from dashboard.openapi_route import ApiRoute
from dashboard.openapi_schemas import (
    BOOLEAN,
    NUMBER,
    STRING,
    Schema,
    array_of,
    enum_of,
    nullable,
    object_of,
    schema_ref,
)

_ONE = "/api/providers/{provider}"
_KEY: dict[str, Schema] = {
    "key": {**STRING, "writeOnly": True, "description": "kept on the host; never shown again"},
    "base_url": {
        **STRING,
        "description": "for `custom`: an OpenAI-compatible server, such as http://127.0.0.1:8080/v1",
    },
    "model": {**STRING, "description": "asked for when an agent names none; empty: the first default"},
}

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute("get", "/api/providers", "Providers of models, set up or not (operator)", "Providers"),
    ApiRoute("get", _ONE, "How a provider is set up (operator)", "Provider", fails=(404,)),
    ApiRoute(
        "put",
        _ONE,
        "Set a provider's key, used from the next call. 409 if the settings take precedence (operator)",
        "Provider",
        "ProviderKey",
        fails=(400, 404, 409, 503),
    ),
    ApiRoute("patch", _ONE, "Another model of it (operator)", "Provider", "ProviderModel", fails=(400, 404, 409)),
    ApiRoute("delete", _ONE, "Forget the key that was given here (operator)", status=204, fails=(404, 503)),
    ApiRoute("get", f"{_ONE}/models", "The models a provider offers (operator)", "OfferedModels", fails=(404, 409)),
    ApiRoute(
        "post",
        f"{_ONE}/test",
        "Test a provider with one tiny call, as set up or with a key that isn't stored (operator)",
        "Trial",
        "ProviderTest",
        fails=(400, 404, 409),
    ),
    ApiRoute("get", "/api/settings", "The install's settings (operator)", "Settings"),
    ApiRoute("patch", "/api/settings", "Change them (operator)", "Settings", "SettingsChange", fails=(400, 404, 409)),
)
SCHEMAS: dict[str, Schema] = {
    "Provider": object_of(
        {
            "name": STRING,
            "label": STRING,
            "origin": {
                **enum_of("settings", "dashboard", "built-in", ""),
                "description": "who made it usable: the environment or hermit.env, the dashboard, nobody needs to; "
                "empty: nobody yet",
            },
            "setting": {**STRING, "description": "of the environment or hermit.env, where its key may be"},
            "base_url": STRING,
            "model": {**STRING, "description": "its default; empty: the first that it lists"},
            "is_default": BOOLEAN,
            "is_usable": BOOLEAN,
        }
    ),
    "Providers": object_of({"providers": array_of(schema_ref("Provider"))}),
    "ProviderKey": object_of(_KEY, required=()),
    "ProviderModel": object_of({"model": _KEY["model"]}),
    "ProviderTest": object_of(_KEY, required=()),
    "OfferedModels": object_of({"models": array_of(STRING), "trouble": nullable(STRING)}),
    "Trial": object_of(
        {
            "ok": BOOLEAN,
            "message": {**STRING, "description": "what came back, in plain words"},
            "model": STRING,
            "models": {**array_of(STRING), "description": "what the provider says that it offers"},
            "cost_usd": NUMBER,
            "latency_s": NUMBER,
        }
    ),
    "Settings": object_of(
        {
            "version": STRING,
            "new_version": {
                **nullable(object_of({"version": STRING, "url": STRING})),
                "description": "a newer one, where HERMIT_UPDATE_URL told of it",
            },
            "default_provider": STRING,
            "default_model": STRING,
            "is_set_up": BOOLEAN,
            "address": {**STRING, "description": "what login links for other people begin with"},
        }
    ),
    "SettingsChange": object_of(
        {
            "default_provider": {**STRING, "description": "empty: as if nobody had chosen"},
            "default_model": {**STRING, "description": "of the default provider; empty: its first default"},
            "address": {**STRING, "description": "an origin such as http://nas.local:3000; empty: the default"},
            "is_set_up": {**BOOLEAN, "description": "false: the first-run page may be opened once more"},
        },
        required=(),
    ),
}
