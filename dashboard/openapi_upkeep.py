"""What the operator looks after, as the API describes it: the doctor, backups, strangers who wrote to a bot."""

from __future__ import annotations

from dashboard.openapi_route import ApiRoute
from dashboard.openapi_schemas import INTEGER, STRING, TIME, Schema, choice, closed, listing, nullable, ref

_BACKUP = "/api/backups/{backup}"
_STAGE = choice("none", "running", "done", "failed")
_SPAN: dict[str, Schema] = {"started_at": nullable(TIME), "ended_at": nullable(TIME)}

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute("get", "/api/doctor", "The last diagnostics, or those running now (operator)", "Examination"),
    ApiRoute(
        "post", "/api/doctor", "Run the diagnostics; one at a time (operator)", "Examination", status=202,
        fails=(409,),
    ),
    ApiRoute("get", "/api/backups", "The backups in HERMIT_HOME/backups (operator)", "Backups", fails=(503,)),
    ApiRoute(
        "post", "/api/backups", "Make a backup; one at a time (operator)", "BackupProgress", status=202, fails=(409,)
    ),
    ApiRoute("get", _BACKUP, "Download a backup (operator)", fails=(404, 429), sends_file=True),
    ApiRoute("delete", _BACKUP, "Delete a backup (operator)", status=204, fails=(404, 503)),
    ApiRoute("get", "/api/strangers", "Who wrote to a bot and waits to be let in (operator)", "Strangers"),
    ApiRoute(
        "post",
        "/api/strangers/{name}/{person}",
        "Let in someone who wrote to agent `name`'s bot, or don't; `person` is their Telegram id (operator)",
        "StrangerDecided",
        "StrangerDecision",
        fails=(400, 404, 409),
    ),
)  # fmt: skip
SCHEMAS: dict[str, Schema] = {
    "Finding": closed(
        {
            "part": STRING,
            "state": choice("ok", "warn", "fail"),
            "text": STRING,
            "mend": {**STRING, "description": "what to do about it; empty when all is well"},
        }
    ),
    "Examination": closed(
        {
            "stage": _STAGE,
            **_SPAN,
            "findings": listing(ref("Finding")),
            "problem": {**STRING, "description": "why it broke off; else empty"},
        }
    ),
    "Backup": closed({"name": STRING, "size_bytes": INTEGER, "made_at": TIME}),
    "BackupProgress": closed(
        {
            "stage": _STAGE,
            "file": STRING,
            "doing": {**STRING, "description": "`writing` or `reading it back`, while it runs"},
            "done_bytes": INTEGER,
            "total_bytes": {**INTEGER, "description": "about"},
            "percent": INTEGER,
            **_SPAN,
            "problem": {**STRING, "description": "why it failed; else empty"},
            "remarks": {**listing(STRING), "description": "what is not in it"},
        }
    ),
    "Backups": closed(
        {
            "backups": listing(ref("Backup")),
            "progress": ref("BackupProgress"),
            "free_bytes": {**INTEGER, "description": "room for one more, beyond what the agents' work needs"},
        }
    ),
    "Strangers": closed(
        {
            "strangers": listing(
                closed(
                    {
                        "agent": STRING,
                        "telegram_id": INTEGER,
                        "name": {**STRING, "description": "what they call themselves; theirs to choose"},
                        "wrote_at": TIME,
                    }
                )
            )
        }
    ),
    "StrangerDecision": closed(
        {"decision": {**choice("allow", "refuse", "block"), "description": "refuse holds for a week, block for ever"}}
    ),
    "StrangerDecided": closed({"user": {**nullable(INTEGER), "description": "the member, where there is one now"}}),
}
