"""The live view of an agent's browser, as the API describes it."""

from __future__ import annotations

from dashboard.openapi_route import AGENT, ApiRoute
from dashboard.openapi_schemas import INTEGER, STRING, TIME, Schema, array_of, nullable, object_of, schema_ref

_ONE = f"{AGENT}/browser"
_FLAG: Schema = {"type": "boolean"}
_NUMBER: Schema = {"type": "number"}

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute("get", _ONE, "One's own browser with this agent", "Browser", fails=(404,)),
    ApiRoute("post", f"{_ONE}/close", "Close it; its pages are gone", status=204, fails=(404, 503)),
    ApiRoute(
        "get",
        f"{_ONE}/frames",
        "What it shows, as server-sent events (text/event-stream): `begin` with the `window`, `state` (a Browser), "
        "`frame` with a `number` and a `jpeg` in base64, at most 960×600, and `over` with `why`. Three pictures may "
        "come before they are confirmed. Another window of the same person ends this one",
        fails=(404,),
    ),
    ApiRoute(
        "post",
        f"{_ONE}/shown",
        "All pictures up to this one were shown, so that more may come",
        body="BrowserShown",
        status=204,
        fails=(400, 404),
    ),
    ApiRoute(
        "post",
        f"{_ONE}/take-over",
        "The person has it, and what the agent asks of it waits: until it is given back, 10 minutes after the last "
        "input, and 30 minutes at most",
        "Browser",
        fails=(404, 409, 503),
    ),
    ApiRoute("post", f"{_ONE}/give-back", "The agent has it again", "Browser", fails=(404, 503)),
    ApiRoute(
        "post",
        f"{_ONE}/input",
        "What the person's pointer and keys did, in order; at most 200 deeds. Nothing of it is kept",
        body="BrowserInput",
        status=204,
        fails=(400, 404, 409, 503),
    ),
    ApiRoute(
        "post",
        f"{_ONE}/go",
        "The page goes to `url`, whose site the person thereby allows until it is left; or `go` is `back`, `reload` "
        "or `dismiss` (of what the page wanted to open)",
        body="BrowserGo",
        status=204,
        fails=(400, 404, 409, 503),
    ),
    ApiRoute(
        "post",
        f"{_ONE}/tab",
        "A tab comes to the front, or is closed",
        body="BrowserTabChoice",
        status=204,
        fails=(400, 404, 409, 503),
    ),
    ApiRoute(
        "post",
        f"{_ONE}/dialog",
        "Answer a dialog of a page",
        body="BrowserDialogAnswer",
        status=204,
        fails=(400, 404, 409, 503),
    ),
    ApiRoute(
        "get", f"{_ONE}/logins", "The sites whose logins stay from browser to browser", "KeptLogins", fails=(404,)
    ),
    ApiRoute(
        "post",
        f"{_ONE}/logins",
        "Keep the logins of a site, also of a browser that is open",
        "KeptLogin",
        "NewKeptLogin",
        201,
        fails=(400, 404, 429),
    ),
    ApiRoute(
        "delete",
        f"{_ONE}/logins/{{site}}",
        "Forget the logins of a site, also in a browser that is open",
        status=204,
        fails=(404,),
    ),
)
SCHEMAS: dict[str, Schema] = {
    "Browser": object_of(
        {
            "open": _FLAG,
            "url": STRING,
            "title": STRING,
            "tabs": array_of(schema_ref("BrowserTab")),
            "site": {
                **STRING,
                "description": "that of the page in front, whose logins can be kept; empty for none",
            },
            "sites": {**array_of(STRING), "description": "whose pages may be opened now"},
            "dialogs": array_of(schema_ref("BrowserDialog")),
            "wanted": {
                "anyOf": [schema_ref("BrowserWanted"), {"type": "null"}],
                "description": "what the page in front wanted to open and may not, unless the person opens it",
            },
            "held": {**_FLAG, "description": "the person has it"},
            "left_s": {**nullable(INTEGER), "description": "for how many more seconds, without further input"},
            "scripted": {**_FLAG, "description": "the agent has called DevTools methods on the page in front"},
        }
    ),
    "BrowserTab": object_of({"number": INTEGER, "url": STRING, "title": STRING, "is_in_front": _FLAG}),
    "BrowserDialog": object_of({"id": STRING, "kind": STRING, "message": STRING, "default": STRING}),
    "BrowserWanted": object_of({"url": STRING, "host": STRING, "warnings": array_of(STRING)}),
    "KeptLogin": object_of(
        {
            "site": {**STRING, "description": "its names below it too"},
            "since": TIME,
            "by": STRING,
            "saved_at": nullable(TIME),
            "cookies": {**INTEGER, "description": "how many are kept"},
            "names": {**array_of(STRING), "description": "of the cookies; their values are told to nobody"},
        }
    ),
    "KeptLogins": object_of({"logins": array_of(schema_ref("KeptLogin"))}),
    "NewKeptLogin": object_of({"site": {**STRING, "description": "a host, such as shop.example"}}),
    "BrowserShown": object_of({"window": STRING, "number": INTEGER}),
    "BrowserInput": object_of(
        {
            "deeds": {
                **array_of(schema_ref("BrowserDeed")),
                "description": "`do` is `point`, `key` or `paste`",
            }
        }
    ),
    "BrowserDeed": object_of(
        {
            "do": STRING,
            "kind": {**STRING, "description": "of point: `move`, `down`, `up` or `wheel`"},
            "x": {**_NUMBER, "description": "from the left, as a part of the width: 0 to 1"},
            "y": {**_NUMBER, "description": "from the top, as a part of the height: 0 to 1"},
            "button": {**STRING, "description": "`none`, `left`, `right` or `middle`"},
            "clicks": INTEGER,
            "wheel_down": {**_NUMBER, "description": "CSS pixels"},
            "keys": {**STRING, "description": "such as `Enter` or `Control+a`"},
            "text": STRING,
        },
        required=("do",),
    ),
    "BrowserGo": object_of({"url": STRING, "go": STRING}, required=()),
    "BrowserTabChoice": object_of({"tab": INTEGER, "close": _FLAG}, but=("close",)),
    "BrowserDialogAnswer": object_of({"dialog": STRING, "accept": _FLAG, "text": STRING}, but=("accept", "text")),
}
