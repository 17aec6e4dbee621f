"""The objects of the API as JSON schemas, strict: what is not listed is not there. Text and tables only."""

from __future__ import annotations

from typing import Any

from orchestrator.agents.agent_fields import BOUNDS, LIMITS
from orchestrator.agents.looks import COLORS, MAX_DISPLAY_CHARS, SIGNS
from orchestrator.agents.user_fields import MOST_USD
from orchestrator.capabilities.roles import ROLES
from orchestrator.capabilities.table import REGISTRY
from orchestrator.core.asks_again import AsksAgain

Schema = dict[str, Any]

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}
LIMIT: Schema = {"type": "integer", "minimum": 1, "description": "how many at most"}
TIME: Schema = {"type": "string", "format": "date-time", "description": "ISO 8601, UTC"}


def schema_ref(name: str) -> Schema:
    """A named schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def nullable(schema: Schema) -> Schema:
    """The same, or null."""
    return {**schema, "type": [schema["type"], "null"]}


def enum_of(*values: str) -> Schema:
    """One of these texts."""
    return {"type": "string", "enum": list(values)}


def between(schema: Schema, least: float, most: float) -> Schema:
    """The same, within these bounds."""
    return {**schema, "minimum": least, "maximum": most}


def array_of(items: Schema) -> Schema:
    """A list of these."""
    return {"type": "array", "items": items}


def object_of(
    properties: dict[str, Schema], *, required: tuple[str, ...] | None = None, but: tuple[str, ...] = ()
) -> Schema:
    """An object with exactly these properties, all required unless said otherwise: ``required`` are all that are,
    ``but`` those that are not."""
    names = [name for name in properties if name not in but] if required is None else list(required)
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


_PEOPLE: Schema = {
    "type": ["array", "null"],
    "items": {"type": "integer", "minimum": 1},
    "description": "for operators: the members that may use it, by number; null is everybody",
}
_LIMITS = {name: between(NUMBER if name == "cpus" else INTEGER, *bounds) for name, bounds in LIMITS.items()}
_SETTINGS: dict[str, Schema] = {
    "display_name": {**STRING, "maxLength": MAX_DISPLAY_CHARS, "description": "what people call it; empty: its name"},
    "avatar": {**STRING, "description": f"one of {', '.join(SIGNS)}, or one emoji; empty: the usual sign"},
    "color": {**enum_of("", *COLORS), "description": "empty: the one that goes with its name"},
    "role": STRING,
    "personality": STRING,
    "provider": {**STRING, "description": "empty: the install's default"},
    "model": {**STRING, "description": "empty: the provider's default"},
    "fallback_model": {**STRING, "description": "asked when the model fails: MODEL or MODEL@PROVIDER"},
    "image": enum_of("base", "studio"),
    "approval": enum_of("off", "dangerous", "all"),
    "asks_again": {
        **enum_of(*AsksAgain),
        "description": "after reading what a grant for a host covers nothing of the agent's own wording: anything of "
        "strangers, only what came from the internet, or nothing",
    },
    "approval_timeout_s": between(INTEGER, *BOUNDS["approval_timeout_s"]),
    "step_limit": between(INTEGER, *BOUNDS["step_limit"]),
    "command_timeout_s": between(INTEGER, *BOUNDS["command_timeout_s"]),
    "daily_budget_usd": NUMBER,
    "daily_budget_tokens": {
        **between(INTEGER, *BOUNDS["daily_budget_tokens"]),
        "description": "of models without a known price, beside the dollars",
    },
    "limits": object_of(_LIMITS),
    "toolsets": {
        **array_of({**STRING, "pattern": f"^({'|'.join(REGISTRY.toolsets)}|mcp-[a-z0-9][a-z0-9-]{{0,31}})$"}),
        "description": "`mcp-NAME` is for the MCP server NAME",
    },
}
_SOME_LIMITS = object_of(_LIMITS, required=())
_ROLES = tuple(role.id for role in ROLES)
_WRITABLE: dict[str, Schema] = {
    **_SETTINGS,
    "limits": _SOME_LIMITS,
    "telegram_token": {**nullable(STRING), "writeOnly": True},
    "people": _PEOPLE,
}
_USER: dict[str, Schema] = {
    "name": STRING,
    "role": enum_of("operator", "member"),
    "telegram_id": nullable(INTEGER),
    "time_zone": {**STRING, "description": "an IANA name such as Europe/Vienna"},
    "language": {**STRING, "description": "the tag of the language that they read; empty: what their browser asks for"},
    "daily_budget_usd": {
        **nullable(between(NUMBER, 0, MOST_USD)),
        "description": "what their model calls may cost in a UTC day over all agents; null for no limit of their own",
    },
    "monthly_budget_usd": {**nullable(between(NUMBER, 0, MOST_USD)), "description": "the same for a UTC month"},
}
_STEP: dict[str, Schema] = {
    "n": INTEGER,
    "thought": STRING,
    "command": STRING,
    "sha256": STRING,
    "verdict": enum_of("run", "ask", "refuse"),
    "reason": STRING,
    "approval": {**nullable(STRING), "description": "the id of the question that this command asked"},
    "status": enum_of("asked", "running", "done", "refused", "denied", "expired", "cancelled"),
    "exit_code": nullable(INTEGER),
    "output": STRING,
    "started_at": TIME,
    "ended_at": nullable(TIME),
}
TURN_STATUS = enum_of("running", "waiting_approval", "done", "failed", "stopped")
_TURN: dict[str, Schema] = {
    "id": INTEGER,
    "turn": {**INTEGER, "description": "the id again"},
    "agent": STRING,
    "user": INTEGER,
    "conversation": INTEGER,
    "parent": {**nullable(INTEGER), "description": "the turn before it in its conversation"},
    "siblings": {
        **array_of(INTEGER),
        "description": "what stands in its place on one branch or another, itself too, oldest first",
    },
    "children": {
        **array_of(INTEGER),
        "description": "what follows it, in its conversation and in those that go on from it",
    },
    "source": STRING,
    "prompt": STRING,
    "status": TURN_STATUS,
    "reply": nullable(STRING),
    "error": nullable(STRING),
    "created_at": TIME,
    "started_at": nullable(TIME),
    "ended_at": nullable(TIME),
    "tokens": INTEGER,
    "cost_usd": NUMBER,
    "apps": {**array_of(STRING), "description": "the web apps that were made or changed in it"},
    "steps": array_of(schema_ref("Step")),
}
_SUMMARY: dict[str, Schema] = {
    "text": {**STRING, "description": "what a model wrote; the agent is told it instead of the older part"},
    "upto": {**INTEGER, "description": "the last turn that it stands for"},
    "made_at": TIME,
}
_APPROVAL: dict[str, Schema] = {
    "id": STRING,
    "agent": STRING,
    "user": INTEGER,
    "turn": nullable(INTEGER),
    "step": {**nullable(INTEGER), "description": "null when HermitShell itself does it"},
    "kind": enum_of(*REGISTRY.approvals),
    "text": {**STRING, "description": "exactly what runs, or what HermitShell does"},
    "shown": {**STRING, "description": "the text with everything invisible written out"},
    "sha256": {**STRING, "description": "of the text's UTF-8 bytes"},
    "reason": STRING,
    "detail": {
        "type": "object",
        "description": "more details, by kind; with `host` or `kinds`, a `scope` may be given",
    },
    "status": enum_of("pending", "approved", "denied", "expired", "cancelled"),
    "asked_at": TIME,
    "expires_at": TIME,
    "decided_at": nullable(TIME),
    "decided_by": nullable(STRING),
}
_DELIVERY: dict[str, Schema] = {
    "id": INTEGER,
    "agent": STRING,
    "user": INTEGER,
    "turn": {**nullable(INTEGER), "description": "the turn that made it"},
    "file": {**STRING, "description": "the name that it is given"},
    "path": {**STRING, "description": "where it lay, everything invisible written out"},
    "kind": enum_of("photo", "video", "animation", "audio", "voice", "document"),
    "caption": {**STRING, "description": "what the agent says of it, quoted, and a warning; mostly empty"},
    "sha256": {**STRING, "description": "empty for what was not sent"},
    "size": {**INTEGER, "description": "bytes"},
    "at": TIME,
    "to": {**STRING, "description": "dashboard, or a chat such as telegram:12345"},
    "status": enum_of("kept", "handed", "sent", "failed", "withheld", "refused"),
    "why": {**STRING, "description": "a sentence, for what was not simply sent"},
    "url": {**nullable(STRING), "description": "its download, while its copy is kept"},
}
_AUDIT_ROW: dict[str, Schema] = {
    "id": INTEGER,
    "at": TIME,
    "kind": STRING,
    "agent": nullable(STRING),
    "user": nullable(INTEGER),
    "turn": nullable(INTEGER),
    "text": STRING,
    "detail": {"type": "object"},
}
_DISK: dict[str, Schema] = {
    "used_bytes": {**INTEGER, "description": "what the files take on the disk, whatever size they claim"},
    "limit_bytes": INTEGER,
    "inodes": {**INTEGER, "description": "files and folders"},
    "inode_limit": INTEGER,
    "level": enum_of("ok", "nearly full", "full"),
    "measured_at": TIME,
}
_CUBICLE: dict[str, Schema] = {
    "agent": STRING,
    "user": INTEGER,
    "state": enum_of("running", "stopped"),
    "started_at": nullable(TIME),
    "uptime_s": nullable(NUMBER),
    "cpu_percent": nullable(NUMBER),
    "memory_bytes": nullable(INTEGER),
    "pids": nullable(INTEGER),
    "disk": schema_ref("Disk"),
}

_BOT_STATES = ("pairing", "paired", "revoked")
_TELEGRAM: dict[str, Schema] = {
    "agent": STRING,
    "bot": {**INTEGER, "description": "its numeric id at Telegram"},
    "username": {**STRING, "description": "empty until Telegram was asked"},
    "state": enum_of(*_BOT_STATES),
    "code": {**nullable(STRING), "description": "to be sent to the bot by the operator, when `code_way` is `shown`"},
    "code_way": {**nullable(STRING), "description": "`sent` by the bot, for `confirm`; or `shown` here"},
    "code_sent_at": nullable(TIME),
    "code_expires_at": nullable(TIME),
    "problem": nullable(STRING),
    "added_at": TIME,
    "paired_at": nullable(TIME),
}

SCHEMAS: dict[str, Schema] = {
    "Error": object_of({"error": object_of({"code": STRING, "message": STRING})}),
    "Health": object_of({"status": enum_of("ok", "unavailable")}),
    "Status": object_of(
        {
            "status": enum_of("ok", "unavailable"),
            "engine": STRING,
            "database": STRING,
            "doors": STRING,
            "previews": {**STRING, "description": "`ok`, or why web apps can't be shown"},
            "provider": STRING,
            "turns_under_way": INTEGER,
            "cubicles_running": nullable(INTEGER),
        }
    ),
    "Models": object_of(
        {"default": STRING, "providers": array_of(object_of({"name": STRING, "default_model": STRING}))},
    ),
    "User": object_of(
        {
            "id": INTEGER,
            **_USER,
            "time_zone_known": BOOLEAN,
            "has_totp": BOOLEAN,
            "oidc_account": nullable(
                {**STRING, "description": "what the provider calls them, where they log in by it"}
            ),
            "budget": schema_ref("PersonBudget"),
        },
    ),
    "NewUser": object_of(_USER, required=("name",)),
    "UserChange": object_of(_USER, required=()),
    "MyChange": object_of(
        {
            "time_zone": {**STRING, "description": "an IANA name such as Europe/Vienna"},
            "language": {**STRING, "description": "a tag such as de; empty: what the browser asks for"},
            "if_unknown": {**BOOLEAN, "description": "leave the zone as it is if one was set before"},
        },
        required=(),
    ),
    "Users": object_of({"users": array_of(schema_ref("User"))}),
    "Agent": object_of(
        {
            "name": STRING,
            **_SETTINGS,
            "has_telegram": BOOLEAN,
            "telegram": nullable(object_of({"state": enum_of(*_BOT_STATES), "username": STRING})),
            "status": enum_of("idle", "active", "stopped"),
            "spent_today_usd": NUMBER,
            "budget": schema_ref("Budget"),
            "ics_url": {**STRING, "description": "your calendar with it, for calendar apps; a secret"},
            "created_at": TIME,
            "people": _PEOPLE,
        },
        but=("people",),
    ),
    "NewAgent": object_of(
        {
            "name": STRING,
            **_WRITABLE,
            "template": {**enum_of(*_ROLES), "description": "a role that what isn't given is taken from"},
        },
        required=("name",),
    ),
    "Roles": object_of({"roles": array_of(schema_ref("Role"))}),
    "Role": object_of(
        {
            "id": enum_of(*_ROLES),
            "title": STRING,
            "does": STRING,
            "name": {**STRING, "description": "what an agent of it could be called"},
            "settings": object_of({name: _SETTINGS[name] for name in ROLES[0].settings} | {"limits": _SOME_LIMITS}),
            "tasks": {**array_of(STRING), "description": "the first tasks that suit it, by their ids"},
        }
    ),
    "AgentChange": object_of(_WRITABLE, required=()),
    "Telegram": object_of(_TELEGRAM),
    "TelegramToken": object_of({"token": {**STRING, "writeOnly": True, "description": "as BotFather gave it"}}),
    "TelegramCode": object_of({"code": {**STRING, "description": "the six digits that the bot sent"}}),
    "Agents": object_of({"agents": array_of(schema_ref("Agent"))}),
    "Log": object_of({"log": STRING}),
    "SeenUpTo": object_of({"turn": INTEGER}),
    "Message": object_of(
        {
            "text": {**STRING, "description": "may be left out when there are files"},
            "files": {**array_of(STRING), "maxItems": 20, "description": "paths in in/, as uploads were answered with"},
            "wait": {**BOOLEAN, "default": False},
            "timeout": {**NUMBER, "minimum": 0, "maximum": 600, "default": 120, "description": "seconds"},
            "conversation": {**nullable(INTEGER), "description": "which one; the first if left out"},
            "forwarded": {
                **STRING,
                "maxLength": 200,
                "description": "who wrote the text, where you only pass it on, such as the sender of a mail",
            },
        },
        required=(),
    ),
    "Outcome": object_of(
        {"turn": INTEGER, "status": TURN_STATUS, "reply": nullable(STRING), "error": nullable(STRING)}
    ),
    "Step": object_of(_STEP),
    "Turn": object_of(_TURN),
    "TurnWithSources": object_of(
        {
            **_TURN,
            "plan": {
                **array_of(object_of({"n": INTEGER, "text": STRING, "is_done": BOOLEAN, "note": STRING})),
                "description": "what the agent is about to do, or was",
            },
            "sources": {
                **array_of(schema_ref("Source")),
                "description": "what its conversation has read that strangers may have written, the oldest first",
            },
        }
    ),
    "History": object_of(
        {
            "turns": array_of(schema_ref("Turn")),
            "next": {**nullable(INTEGER), "description": "`before` of the page before it in time"},
            "summary": nullable(object_of(_SUMMARY)),
        }
    ),
    "Approval": object_of(_APPROVAL),
    "Approvals": object_of({"approvals": array_of(schema_ref("Approval")), "next": nullable(STRING)}),
    "Decision": object_of(
        {
            "decision": enum_of("approve", "deny"),
            "always": {**BOOLEAN, "description": "short for the scope `always`"},
            "scope": {
                **enum_of("hour", "conversation", "always"),
                "description": "with `approve`: how long the same needs no approval; becomes a grant",
            },
            "note": {**STRING, "description": "with `deny`: why, or what to do instead; the agent reads it"},
        },
        required=("decision",),
    ),
    "Delivery": object_of(_DELIVERY),
    "Deliveries": object_of(
        {
            "deliveries": array_of(schema_ref("Delivery")),
            "next": nullable(INTEGER),
            "settling": {**BOOLEAN, "description": "more may follow at once: something in out/ is being looked at"},
        }
    ),
    "Cubicle": object_of(_CUBICLE),
    "Disk": object_of(_DISK),
    "AuditRow": object_of(_AUDIT_ROW),
    "AuditRows": object_of({"rows": array_of(schema_ref("AuditRow")), "next": nullable(INTEGER)}),
    "NewToken": object_of(
        {"name": STRING, "user": {**INTEGER, "description": "default: the caller"}}, required=("name",)
    ),
    "Token": object_of({"name": STRING, "token": {**STRING, "description": "shown this once"}}),
    "NewLoginLink": object_of({"user": {**INTEGER, "description": "default: the caller"}}, required=()),
    "LoginLink": object_of(
        {
            "url": STRING,
            "valid_for_s": {**INTEGER, "description": "it ends after so many seconds, or once it was used"},
            "is_local": {**BOOLEAN, "description": "only a browser on the machine of HermitShell can open it"},
            "name": {**STRING, "description": "whom it logs in"},
        }
    ),
}
