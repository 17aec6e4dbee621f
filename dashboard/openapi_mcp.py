"""The API's description of MCP servers."""

from __future__ import annotations

from dashboard.openapi_route import ApiRoute
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

_ONE = "/api/mcp/{server}"
_NAMES: Schema = {"anyOf": [array_of(STRING), STRING]}
_TEXTS: Schema = {"type": "object", "additionalProperties": STRING}
_FIELDS: dict[str, Schema] = {
    "npm": {**STRING, "description": "a package of npm with its exact version, such as @scope/server@1.2.3"},
    "pip": {**STRING, "description": "a package of PyPI with its exact version, such as mcp-server-time==1.2.3"},
    "command": {**array_of(STRING), "description": "a program of the container's image, and its arguments"},
    "url": {**STRING, "description": "where a server is asked by HTTP"},
    "args": {**array_of(STRING), "description": "arguments of the package's program"},
    "env": {**_TEXTS, "description": "environment variables that are no secrets"},
    "secrets": {**_NAMES, "description": "environment variables whose values are secrets"},
    "headers": {**_NAMES, "description": "headers of requests to the URL; their values are secrets"},
    "hosts": {**_NAMES, "description": "the only hosts that it reaches, such as api.github.com"},
    "is_enabled": BOOLEAN,
}
_SERVER: dict[str, Schema] = {
    "name": STRING,
    "how": enum_of("npm", "pip", "command", "url"),
    "package": STRING,
    "args": array_of(STRING),
    "env": _TEXTS,
    "secrets": array_of(object_of({"name": STRING, "is_set": BOOLEAN})),
    "hosts": array_of(STRING),
    "url": STRING,
    "is_enabled": BOOLEAN,
    "created_by": STRING,
    "created_at": TIME,
    "checked_at": {**nullable(TIME), "description": "null: not since what runs was changed"},
    "waiting": {**INTEGER, "description": "things that it says and that nobody has accepted"},
    "agents": {**array_of(STRING), "description": "the agents that may use it"},
}
_DIFFERENCE = object_of(
    {
        "parts": array_of(object_of({"where": STRING, "before": nullable(STRING), "after": nullable(STRING)})),
        "more": {**INTEGER, "description": "places beyond those"},
        "is_notation_only": BOOLEAN,
    }
)
_SAID: dict[str, Schema] = {
    "kind": enum_of("tool", "instructions", "prompt", "template"),
    "name": {**STRING, "description": "with hidden characters written out"},
    "key": {**STRING, "description": "the name as the server sent it, to accept it by"},
    "state": enum_of("seen", "changed", "new", "gone", "unchecked"),
    "description": {**STRING, "description": "the server's words: claims, with hidden characters written out"},
    "wire": {**STRING, "description": "everything that the server says of it now, as JSON"},
    "sha256": {**STRING, "description": "of `wire`; to be sent back when it is accepted"},
    "difference": nullable(_DIFFERENCE),
}
_TOOL: dict[str, Schema] = {
    **_SAID,
    "decision": {**enum_of("off", "asks", "free"), "description": "holds while the state is `seen`; else it is off"},
    "claims": {**array_of(STRING), "description": "what the server claims of it"},
    "arguments": array_of(STRING),
}
_DETAIL: dict[str, Schema] = {
    **_SERVER,
    "tools": array_of(schema_ref("McpTool")),
    "said": array_of(schema_ref("McpSaid")),
}
_PROPOSAL: dict[str, Schema] = {
    "name": STRING,
    "fields": {"type": "object", "additionalProperties": True},
    "values": {**array_of(STRING), "description": "secrets whose values stand in the file"},
    "asks_for": {**array_of(STRING), "description": "secrets whose values it leaves out"},
    "needs": {**array_of(STRING), "description": "what is missing before it can be added"},
    "notes": array_of(STRING),
    "is_added": BOOLEAN,
    "trouble": {**nullable(STRING), "description": "why it was not added"},
}

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute("get", "/api/mcp", "MCP servers (operator)", "McpServers"),
    ApiRoute(
        "post", "/api/mcp", "Add an MCP server (operator)", "McpServer", "NewMcpServer", 201, fails=(400, 409, 429, 503)
    ),
    ApiRoute("get", _ONE, "An MCP server with everything that it says (operator)", "McpServerDetail", fails=(404,)),
    ApiRoute(
        "patch",
        _ONE,
        "Change what runs as an MCP server, or switch it off (operator)",
        "McpServer",
        "McpServerChange",
        fails=(400, 404, 503),
    ),
    ApiRoute("delete", _ONE, "Remove an MCP server with its secrets (operator)", status=204, fails=(404, 503)),
    ApiRoute(
        "post",
        f"{_ONE}/check",
        "Start a server once, and record what it offers (operator)",
        "McpCheck",
        fails=(404, 409, 503),
    ),
    ApiRoute(
        "post",
        f"{_ONE}/accept",
        "Accept what a server says. 412 if it says something else by now (operator)",
        "McpServerDetail",
        "McpAccept",
        fails=(400, 404, 409, 412),
    ),
    ApiRoute(
        "put",
        f"{_ONE}/secrets",
        "Set or forget the value of a server's secret (operator)",
        "McpServer",
        "McpSecret",
        fails=(400, 404, 503),
    ),
    ApiRoute(
        "put",
        f"{_ONE}/tools/{{tool}}",
        "Whether agents may call a tool, and whether they ask (operator)",
        "McpServerDetail",
        "McpDecision",
        fails=(400, 404, 409),
    ),
    ApiRoute(
        "put", f"{_ONE}/agents", "Which agents may use a server (operator)", "McpServer", "McpAgents", fails=(400, 404)
    ),
    ApiRoute(
        "post",
        "/api/mcp-import",
        "Read the servers that a file of another program lists; add those in `take` (operator)",
        "McpImportPlan",
        "McpImport",
        fails=(400,),
    ),
)
SCHEMAS: dict[str, Schema] = {
    "McpServer": object_of(_SERVER),
    "McpServers": object_of({"servers": array_of(schema_ref("McpServer"))}),
    "McpServerDetail": object_of(_DETAIL),
    "McpCheck": object_of(
        {
            **_DETAIL,
            "news": {**INTEGER, "description": "what there is to look at that was not so before"},
            "dropped": {**array_of(STRING), "description": "what was left out and why"},
        }
    ),
    "McpSaid": object_of(_SAID),
    "McpTool": object_of(_TOOL),
    "NewMcpServer": object_of(
        {
            "name": {**STRING, "description": "1 to 32 lowercase letters, digits and hyphens"},
            "values": {**_TEXTS, "writeOnly": True, "description": "of secrets or headers, by name"},
            **_FIELDS,
        },
        required=("name",),
    ),
    "McpServerChange": object_of(_FIELDS, required=()),
    "McpSecret": object_of({"name": STRING, "value": {**STRING, "writeOnly": True, "description": "empty: forget it"}}),
    "McpDecision": object_of({"decision": enum_of("off", "asks", "free")}),
    "McpAgents": object_of({"agents": {**array_of(STRING), "description": "all that may use it"}}),
    "McpAccept": object_of({"pins": array_of(object_of({"kind": _SAID["kind"], "name": STRING, "sha256": STRING}))}),
    "McpImport": object_of(
        {
            "text": {**STRING, "writeOnly": True, "description": "the file, with `mcpServers` or `servers`"},
            "take": {**array_of(STRING), "description": "names of proposals to add"},
        },
        required=("text",),
    ),
    "McpImportPlan": object_of({"proposals": array_of(object_of(_PROPOSAL)), "refused": array_of(STRING)}),
}
