"""What the operator looks after, as the API describes it: the doctor, backups, strangers who wrote to a bot."""

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
from orchestrator.operations.backup.schedule import MOST_KEPT

_BACKUP = "/api/backups/{backup}"
_STAGE = enum_of("none", "running", "done", "failed")
_SPAN: dict[str, Schema] = {"started_at": nullable(TIME), "ended_at": nullable(TIME)}
_PLAN: dict[str, Schema] = {
    "every": {**nullable(STRING), "enum": ["day", "week", None], "description": "null: none are made"},
    "at": {**nullable(STRING), "description": "the time of day, such as 03:00"},
    "weekday": {**nullable(INTEGER), "minimum": 0, "maximum": 6, "description": "of a week: 0 is Monday"},
    "keep": {**nullable(INTEGER), "minimum": 1, "maximum": MOST_KEPT, "description": "how many of them stay"},
}

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
    ApiRoute(
        "post", f"{_BACKUP}/restore", "Check a backup, and restore it at the next start (operator)", "BackupProgress",
        status=202, fails=(404, 409),
    ),
    ApiRoute("delete", "/api/restore", "Restore nothing at the next start (operator)", status=204, fails=(404,)),
    ApiRoute("get", "/api/backup-plan", "When backups are made by themselves (operator)", "BackupPlan"),
    ApiRoute(
        "put", "/api/backup-plan", "Change that, by your clock (operator)", "BackupPlan", "NewBackupPlan", fails=(400,)
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
    "Finding": object_of(
        {
            "part": STRING,
            "state": enum_of("ok", "warn", "fail"),
            "text": STRING,
            "mend": {**STRING, "description": "what to do about it; empty when all is well"},
        }
    ),
    "Examination": object_of(
        {
            "stage": _STAGE,
            **_SPAN,
            "findings": array_of(schema_ref("Finding")),
            "problem": {**STRING, "description": "why it broke off; else empty"},
        }
    ),
    "Backup": object_of({"name": STRING, "size_bytes": INTEGER, "made_at": TIME}),
    "BackupProgress": object_of(
        {
            "stage": _STAGE,
            "file": STRING,
            "doing": {**STRING, "description": "`writing` or `reading it back`, while it runs"},
            "done_bytes": INTEGER,
            "total_bytes": {**INTEGER, "description": "about"},
            "percent": INTEGER,
            **_SPAN,
            "problem": {**STRING, "description": "why it failed; else empty"},
            "remarks": {**array_of(STRING), "description": "what is not in it"},
            "is_restore": {**BOOLEAN, "description": "it is only checked, to be restored at the next start"},
        }
    ),
    "Backups": object_of(
        {
            "backups": array_of(schema_ref("Backup")),
            "progress": schema_ref("BackupProgress"),
            "free_bytes": {**INTEGER, "description": "room for one more, beyond what the agents' work needs"},
            "restore": {
                **nullable(object_of({"file": STRING, "asked_by": STRING, "asked_at": TIME})),
                "description": "what the next start restores",
            },
            "restored": {
                **nullable(
                    object_of(
                        {
                            "file": STRING,
                            "at": TIME,
                            "problem": {**STRING, "description": "why nothing was restored; else empty"},
                            "before": {**STRING, "description": "where the install before it is kept"},
                        }
                    )
                ),
                "description": "what came of the last one",
            },
        }
    ),
    "BackupPlan": object_of({**_PLAN, "time_zone": nullable(STRING), "next_at": nullable(TIME)}),
    "NewBackupPlan": object_of(_PLAN, required=("every",)),
    "Strangers": object_of(
        {
            "strangers": array_of(
                object_of(
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
    "StrangerDecision": object_of(
        {"decision": {**enum_of("allow", "refuse", "block"), "description": "refuse holds for a week, block for ever"}}
    ),
    "StrangerDecided": object_of({"user": {**nullable(INTEGER), "description": "the member, where there is one now"}}),
}
