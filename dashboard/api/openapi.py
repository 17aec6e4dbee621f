"""The API's own description, as OpenAPI 3.1: one row a route. A test holds it against the routes and against real
answers.
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from dashboard import (
    openapi_apps,
    openapi_assets,
    openapi_browser,
    openapi_calendar,
    openapi_checkpoints,
    openapi_conversations,
    openapi_files,
    openapi_grants,
    openapi_imports,
    openapi_lessons,
    openapi_logins,
    openapi_mcp,
    openapi_memories,
    openapi_money,
    openapi_notices,
    openapi_packages,
    openapi_page_secrets,
    openapi_proofs,
    openapi_providers,
    openapi_push,
    openapi_questions,
    openapi_search,
    openapi_terminal,
    openapi_upkeep,
)
from dashboard.approval_filters import KINDS
from dashboard.auth import mark_public
from dashboard.openapi_route import AGENT, PAGE, USER, ApiRoute
from dashboard.openapi_schemas import INTEGER, LIMIT, SCHEMAS, STRING, Schema, enum_of, schema_ref
from dashboard.services import get_services

api = Blueprint("openapi", __name__)


_CONVERSATION: dict[str, Schema] = {"conversation": {**INTEGER, "description": "the first one if left out"}}

_OWN: tuple[ApiRoute, ...] = (
    ApiRoute("get", "/api/health", "Whether messages can be answered", "Health", other=(503,), is_public=True),
    ApiRoute("get", "/api/openapi.json", "This document", is_public=True),
    ApiRoute("get", "/api/status", "The state of each part (operator)", "Status"),
    ApiRoute("get", "/api/models", "Which models an agent may be given", "Models"),
    ApiRoute("get", "/api/me", "The caller", "User"),
    ApiRoute("patch", "/api/me", "Change the caller's time zone", "User", "MyChange", fails=(400,)),
    ApiRoute("get", "/api/users", "All people (operator)", "Users"),
    ApiRoute("post", "/api/users", "A new person (operator)", "User", "NewUser", 201, fails=(400, 409)),
    ApiRoute("patch", "/api/users/{user}", "Change a person (operator)", "User", "UserChange", fails=(400, 404, 409)),
    ApiRoute("delete", "/api/users/{user}", "Delete a person (operator)", status=204, fails=(404, 409, 503)),
    ApiRoute(
        "delete", "/api/users/{user}/sessions", "Log a person out everywhere (operator)", status=204, fails=(404,)
    ),
    ApiRoute("get", "/api/agents", "All agents", "Agents"),
    ApiRoute("get", "/api/roles", "Templates that a new agent may begin with", "Roles"),
    ApiRoute("post", "/api/agents", "A new agent (operator)", "Agent", "NewAgent", 201, fails=(400, 409)),
    ApiRoute("get", AGENT, "One agent", "Agent", fails=(404,)),
    ApiRoute("patch", AGENT, "Change an agent (operator)", "Agent", "AgentChange", fails=(400, 404, 409)),
    ApiRoute("delete", AGENT, "Delete an agent with its workspaces (operator)", status=204, fails=(404, 409, 503)),
    ApiRoute("get", f"{AGENT}/telegram", "The agent's Telegram bot (operator)", "Telegram", fails=(404,)),
    ApiRoute(
        "post",
        f"{AGENT}/telegram",
        "Give the agent the bot with this token; linking begins (operator)",
        "Telegram",
        "TelegramToken",
        201,
        fails=(400, 404, 409),
    ),
    ApiRoute("delete", f"{AGENT}/telegram", "Remove the agent's bot (operator)", status=204, fails=(404,)),
    ApiRoute(
        "post",
        f"{AGENT}/telegram/confirm",
        "Confirm the code that the bot sent (operator)",
        "Telegram",
        "TelegramCode",
        fails=(400, 404, 409),
    ),
    ApiRoute("post", f"{AGENT}/telegram/code", "A new code (operator)", "Telegram", fails=(404, 409, 429)),
    ApiRoute("get", f"{AGENT}/log", "The end of the agent's .hermit.log", "Log", query=USER, fails=(404,)),
    ApiRoute(
        "post",
        f"{AGENT}/messages",
        "Send a message. With `wait` the answer comes when the turn has ended or `timeout` seconds have passed; "
        "without, at once with 202. An Idempotency-Key header makes a repeated request the same message.",
        "Outcome",
        "Message",
        other=(202,),
        query=USER,
        fails=(400, 404, 413, 429, 503),
    ),
    ApiRoute(
        "get",
        f"{AGENT}/history",
        "A conversation, oldest first; with `q` the turns that hold all of its words, or words that begin with them, "
        "newest first, in all conversations unless one is named. A turn is found once it has ended.",
        "History",
        query={"q": STRING, **_CONVERSATION, **PAGE, **USER},
        fails=(400, 404),
    ),
    ApiRoute(
        "put",
        f"{AGENT}/seen",
        "Mark the conversation as seen up to a turn",
        "",
        "SeenUpTo",
        204,
        fails=(400, 404),
    ),
    ApiRoute(
        "delete",
        f"{AGENT}/history",
        "Clear a conversation",
        status=204,
        query={**_CONVERSATION, **USER},
        fails=(400, 404),
    ),
    ApiRoute(
        "get",
        "/api/turns/{turn}",
        "A turn with its steps, and what its conversation has read",
        "TurnWithSources",
        fails=(404,),
    ),
    ApiRoute("post", "/api/turns/{turn}/stop", "Stop a turn and any command it is running", "Turn", fails=(404,)),
    ApiRoute(
        "post",
        "/api/turns/{turn}/withdraw",
        "Withdraw a message that the agent has not started on: it leaves the conversation",
        "Turn",
        fails=(404, 409),
    ),
    ApiRoute(
        "delete",
        "/api/turns/{turn}",
        "Delete a message with its answer and its commands, once it has ended: the agent forgets it",
        status=204,
        fails=(404, 409),
    ),
    ApiRoute(
        "get",
        "/api/approvals",
        "Questions, newest first",
        "Approvals",
        query={
            "status": enum_of("pending", "approved", "denied", "expired", "cancelled"),
            "kind": enum_of(*dict(KINDS)),
            "agent": STRING,
            "before": {**STRING, "description": "`next` of the page before"},
            "limit": LIMIT,
        },
        fails=(400,),
    ),
    ApiRoute(
        "post", "/api/approvals/{approval}", "Decide, once", "Approval", "Decision", fails=(400, 403, 404, 409, 429)
    ),
    ApiRoute("get", f"{AGENT}/cubicle", "The container's state and use", "Cubicle", query=USER, fails=(404, 409, 503)),
    *(
        ApiRoute("post", f"{AGENT}/cubicle/{verb}", summary, "Cubicle", query=USER, fails=(404, 409, 503))
        for verb, summary in (
            ("start", "The container runs"),
            ("stop", "The container does not run"),
            ("reset", "A new container over the same workspace"),
        )
    ),
    ApiRoute(
        "get",
        f"{AGENT}/deliveries",
        "What left `out/`, newest first; with `turn` what one turn delivered, in order",
        "Deliveries",
        query={**PAGE, "turn": INTEGER, **USER},
        fails=(400, 404),
    ),
    ApiRoute(
        "get",
        f"{AGENT}/deliveries/{{delivery}}/file",
        "A delivered file, as an attachment without a type",
        query=USER,
        fails=(404, 429),
    ),
    ApiRoute(
        "get",
        "/api/audit",
        "What happened, newest first; with `format` all of it as a download (operator)",
        "AuditRows",
        query={"q": STRING, "agent": STRING, "kind": STRING, "format": enum_of("json", "jsonl", "csv"), **PAGE},
        fails=(400, 429),
        sends_file=True,
    ),
    ApiRoute(
        "get",
        "/api/events",
        "Events as server-sent events (text/event-stream): `turn`, `step`, `delta`, `approval`, `question`, `notice`, "
        "`app`, `browser`, `delivery`, `calendar`, `memory`, `cubicle`, `proof`, `agent`, `bot`. The data is one JSON "
        "object with `agent` and `user`; a delta's `text` is the reply so far. Events are hints to fetch again. With "
        "`since`, the mark that a page of the dashboard carries, `missed` comes first if there were events since. With "
        "`html=1` a delta has `from` and `blocks` instead of `text`: the HTML of the reply's blocks from there on.",
        query={"since": STRING, "html": enum_of("1")},
    ),
)

ROUTES: tuple[ApiRoute, ...] = (
    *_OWN,
    *openapi_apps.ROUTES,
    *openapi_assets.ROUTES,
    *openapi_packages.ROUTES,
    *openapi_page_secrets.ROUTES,
    *openapi_browser.ROUTES,
    *openapi_calendar.ROUTES,
    *openapi_checkpoints.ROUTES,
    *openapi_conversations.ROUTES,
    *openapi_files.ROUTES,
    *openapi_lessons.ROUTES,
    *openapi_mcp.ROUTES,
    *openapi_memories.ROUTES,
    *openapi_money.ROUTES,
    *openapi_notices.ROUTES,
    *openapi_grants.ROUTES,
    *openapi_push.ROUTES,
    *openapi_questions.ROUTES,
    *openapi_search.ROUTES,
    *openapi_upkeep.ROUTES,
    *openapi_imports.ROUTES,
    *openapi_proofs.ROUTES,
    *openapi_providers.ROUTES,
    *openapi_logins.ROUTES,
)
ALL_SCHEMAS: dict[str, Schema] = {
    **SCHEMAS,
    **openapi_apps.SCHEMAS,
    **openapi_assets.SCHEMAS,
    **openapi_packages.SCHEMAS,
    **openapi_page_secrets.SCHEMAS,
    **openapi_browser.SCHEMAS,
    **openapi_calendar.SCHEMAS,
    **openapi_checkpoints.SCHEMAS,
    **openapi_conversations.SCHEMAS,
    **openapi_files.SCHEMAS,
    **openapi_lessons.SCHEMAS,
    **openapi_mcp.SCHEMAS,
    **openapi_memories.SCHEMAS,
    **openapi_money.SCHEMAS,
    **openapi_notices.SCHEMAS,
    **openapi_grants.SCHEMAS,
    **openapi_push.SCHEMAS,
    **openapi_questions.SCHEMAS,
    **openapi_search.SCHEMAS,
    **openapi_upkeep.SCHEMAS,
    **openapi_imports.SCHEMAS,
    **openapi_proofs.SCHEMAS,
    **openapi_providers.SCHEMAS,
    **openapi_logins.SCHEMAS,
}
"""Nouns with several routes describe them in a module of their own. Terminals join where they are turned on."""

_BYTES = "*/*"
_NUMBERS = ("person", "user", "turn", "delivery", "notice", "entry", "memory")
_DESCRIPTION = (
    "Every call needs `Authorization: Bearer TOKEN` (`./hermit token create NAME`) or the dashboard's session with its "
    'CSRF token. Errors are `{"error": {"code", "message"}}`. Times are ISO 8601 in UTC, money is in US dollars.'
)


@api.get("/api/openapi.json")
@mark_public
def get_document() -> Any:
    """The document."""
    return build_document(terminal=get_services().settings.terminal)


def build_document(*, terminal: bool = False) -> dict[str, Any]:
    """The API's description."""
    paths: dict[str, dict[str, Any]] = {}
    for route in (*ROUTES, *(openapi_terminal.ROUTES if terminal else ())):
        paths.setdefault(route.path, {})[route.method] = _build_operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "HermitShell", "version": "1", "description": _DESCRIPTION},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": {**ALL_SCHEMAS, **(openapi_terminal.SCHEMAS if terminal else {})},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _build_operation(route: ApiRoute) -> dict[str, Any]:
    responses = {str(status): _build_response(route) for status in (route.status, *route.other)}
    login = () if route.is_public else (401, 403)
    body = (400, 413, 415) if route.body else ()
    for status in (*login, *body, *(s for s in route.fails if s not in route.other)):
        responses[str(status)] = {
            "description": "Refused",
            "content": {"application/json": {"schema": schema_ref("Error")}},
        }
    operation: dict[str, Any] = {
        "summary": route.summary,
        "parameters": _build_parameters(route),
        "responses": responses,
    }
    if route.body:
        operation["requestBody"] = {
            "content": {"application/json": {"schema": schema_ref(route.body)}},
            "required": True,
        }
    if route.takes_file:
        operation["requestBody"] = {"content": {_BYTES: {}}, "required": True}
    if route.is_public:
        operation["security"] = []
    return operation


def _build_response(route: ApiRoute) -> dict[str, Any]:
    if not route.answer:
        return {"description": route.summary}
    content: dict[str, Any] = {"application/json": {"schema": schema_ref(route.answer)}}
    return {"description": route.summary, "content": {**content, **({_BYTES: {}} if route.sends_file else {})}}


def _build_parameters(route: ApiRoute) -> list[dict[str, Any]]:
    names = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
    in_path = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": INTEGER if name in _NUMBERS else STRING,
        }
        for name in names
    ]
    return in_path + [{"name": name, "in": "query", "schema": schema} for name, schema in route.query.items()]
