"""The calendar, as the API describes it."""

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

_WHEN = {**STRING, "description": "a date or a time; without an offset by the person's own clock"}
_START = {**STRING, "description": "a moment with its offset, a time of the zone's own clock, or a day"}
_END = {**nullable(STRING), "description": "within a day of the start how long each time takes; later, the series' end"}
_REPEAT = {**nullable(STRING), "description": "an RRULE of RFC 5545, or a cron line of five fields"}
_MISSED = {**enum_of("run", "skip"), "description": "once, late (within a day), or not at all"}
_STATUS: dict[str, Schema] = {"status": enum_of("active", "paused")}
_WORDS: dict[str, Schema] = {
    "title": STRING,
    "prompt": STRING,
    "start": _START,
    "end": _END,
    "time_zone": {**STRING, "description": "an IANA name; the person's where it is left out"},
    "repeat": _REPEAT,
    "color": nullable(STRING),
    "missed": _MISSED,
    "without": {
        **nullable(array_of(STRING)),
        "description": "days and times that a series skips; a change sends the whole list",
    },
}
_ENTRY: dict[str, Schema] = {
    "id": INTEGER,
    "agent": STRING,
    "user": INTEGER,
    **_WORDS,
    "without": array_of(STRING),
    "status": enum_of("active", "paused", "ended"),
    "words": {**STRING, "description": "when it comes due, such as: every weekday at 09:00"},
    "next_at": nullable(TIME),
    "failures": {**INTEGER, "description": "failing runs in a row; three pause it"},
    "by": {**STRING, "description": "`agent`, or the name of the person who made it"},
    "turn": {**nullable(INTEGER), "description": "in which turn the agent made it"},
    "conversation": {**nullable(INTEGER), "description": "where its runs go; null while there is no conversation yet"},
    "created_at": TIME,
    "changed_at": TIME,
}
_OUTCOMES = ("claimed", "running", "done", "failed", "stopped", "missed", "overlap")
_ONE = f"{AGENT}/calendar/{{entry}}"

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute(
        "get",
        f"{AGENT}/calendar",
        "All entries, or with `from` or `to` those that come due then; `times` are the next 60 days' or that time's",
        "Calendar",
        query={"from": _WHEN, "to": _WHEN, **USER},
        fails=(400, 404),
    ),
    ApiRoute(
        "post",
        f"{AGENT}/calendar",
        "A new entry",
        "CalendarEntry",
        "NewCalendarEntry",
        201,
        USER,
        fails=(400, 404, 429),
    ),
    ApiRoute("get", _ONE, "An entry, with its last runs", "CalendarEntryWithRuns", query=USER, fails=(404,)),
    ApiRoute(
        "patch",
        _ONE,
        "Change an entry, pause it or resume it",
        "CalendarEntry",
        "CalendarChange",
        query=USER,
        fails=(400, 404, 429),
    ),
    ApiRoute("delete", _ONE, "Delete an entry with its runs", status=204, query=USER, fails=(404,)),
    ApiRoute(
        "post",
        f"{_ONE}/run",
        "Run it now, beside its times",
        "CalendarTurn",
        status=202,
        query=USER,
        fails=(404, 409, 429, 503),
    ),
    ApiRoute(
        "post",
        f"{AGENT}/calendar/feed",
        "A new address for calendar apps; the old one stops working",
        "CalendarFeed",
        status=201,
        query=USER,
        fails=(404,),
    ),
)
SCHEMAS: dict[str, Schema] = {
    "CalendarEntry": object_of(_ENTRY),
    "CalendarRun": object_of(
        {
            "id": INTEGER,
            "due_at": TIME,
            "turn": nullable(INTEGER),
            "conversation": {**nullable(INTEGER), "description": "where that turn is; null once it is deleted"},
            "outcome": {**enum_of(*_OUTCOMES), "description": "overlap: the previous run was still going"},
            "is_late": BOOLEAN,
            "by_hand": BOOLEAN,
            "collapsed": {**INTEGER, "description": "how many other missed times it covers"},
            "ended_at": nullable(TIME),
        }
    ),
    "CalendarEntryWithRuns": object_of({**_ENTRY, "runs": array_of(schema_ref("CalendarRun"))}),
    "Calendar": object_of(
        {"entries": array_of(schema_ref("CalendarEntry")), "times": array_of(object_of({"id": INTEGER, "at": TIME}))}
    ),
    "NewCalendarEntry": object_of({**_WORDS, **_STATUS}, required=("title", "prompt", "start")),
    "CalendarChange": object_of({**_WORDS, **_STATUS}, required=()),
    "CalendarTurn": object_of({"turn": INTEGER}),
    "CalendarFeed": object_of({"ics_url": STRING}),
}
