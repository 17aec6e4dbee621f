"""Terminals, as the API describes them where they are turned on."""

from __future__ import annotations

from dashboard.openapi_route import AGENT, ApiRoute
from dashboard.openapi_schemas import INTEGER, STRING, Schema, object_of

_ONE = f"{AGENT}/terminals/{{terminal}}"

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute(
        "post",
        f"{AGENT}/terminals",
        "A shell in one's own cubicle (operator). It ends with the login that opened it, a minute after nobody reads "
        "its output, and after 15 minutes without input",
        "Terminal",
        "TerminalSize",
        201,
        fails=(400, 404, 409, 429, 503),
    ),
    ApiRoute(
        "get",
        f"{_ONE}/output",
        "What the shell prints, as server-sent events (text/event-stream): the data is base64, the id how many bytes "
        "there were with it. 256 KiB may come before they are confirmed. At the end `closed`, whose data says `why` "
        "(operator)",
        query={"from": {**INTEGER, "description": "how many bytes are known already"}},
        fails=(400, 404),
    ),
    ApiRoute(
        "post",
        f"{_ONE}/input",
        "What is typed, at most 64 KiB at a time (operator). `seq` counts from 1; a number that was there already "
        "changes nothing",
        body="TerminalInput",
        status=204,
        fails=(400, 404, 409, 503),
    ),
    ApiRoute(
        "post",
        f"{_ONE}/taken",
        "So many bytes of the output were taken, so that more may come (operator)",
        body="TerminalPlace",
        status=204,
        fails=(400, 404),
    ),
    ApiRoute(
        "post",
        f"{_ONE}/size",
        "Another size of the window (operator)",
        body="TerminalSize",
        status=204,
        fails=(400, 404),
    ),
    ApiRoute(
        "delete",
        _ONE,
        "Close it: whatever was started in it is ended (operator)",
        status=204,
        fails=(404, 503),
    ),
)
SCHEMAS: dict[str, Schema] = {
    "Terminal": object_of({"id": STRING}),
    "TerminalSize": object_of({"columns": INTEGER, "rows": INTEGER}),
    "TerminalInput": object_of({"seq": INTEGER, "text": STRING}),
    "TerminalPlace": object_of({"offset": INTEGER}),
}
