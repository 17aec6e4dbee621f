"""Terminals for an operator in their own cubicles. These routes are there only where the install's settings say so.

What a shell prints comes as server-sent events in base64, so that nothing it prints can be anything but data; what is
typed is posted in numbered pieces. The page says from time to time how far it is, else nothing more comes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Any

from flask import Blueprint, Response, request

from dashboard import bodies
from dashboard.auth import Asker, login_holder, operator_only, require_asker
from dashboard.services import get_services
from orchestrator.apps.terminals.terminal import Opener, Terminal
from orchestrator.core.errors import BadInput
from orchestrator.core.models import CubicleKey, User
from orchestrator.engine.tty import Size

api = Blueprint("terminal", __name__)

HEARTBEAT_S = 15.0
"""How often a silent stream says that it lives, and finds out that nobody listens."""
_DEFAULT = Size(80, 24)


@api.post("/api/agents/<name>/terminals")
@operator_only
def open_one(name: str) -> Any:
    """A shell in the asker's own cubicle."""
    who, services, holder = require_asker(), get_services(), login_holder()
    size = _size_in_body(bodies.json_body("columns", "rows"))
    opener = Opener(who.user, _hash_login(who), lambda: _is_same_operator(holder(), who.user))
    terminal = services.terminals.open_terminal(CubicleKey(services.agents.get(name).name, who.user.id), opener, size)
    return {"id": terminal.id}, 201


@api.get("/api/agents/<name>/terminals/<terminal>/output")
@operator_only
def stream_output(name: str, terminal: str) -> Response:
    """What it prints, from the place that the browser names when it comes again."""
    found, place = _find_own(name, terminal), _place_in_header()
    response = Response(_output_stream(found, place, HEARTBEAT_S), mimetype="text/event-stream")
    response.headers["X-Accel-Buffering"] = "no"
    return response


@api.post("/api/agents/<name>/terminals/<terminal>/input")
@operator_only
def type_in(name: str, terminal: str) -> Any:
    """The shell gets a text, once."""
    body = bodies.json_body("seq", "text")
    _find_own(name, terminal).type_text(bodies.int_field(body, "seq", default=0), bodies.text_field(body, "text"))
    return "", 204


@api.post("/api/agents/<name>/terminals/<terminal>/taken")
@operator_only
def confirm_taken(name: str, terminal: str) -> Any:
    """The page has shown everything up to here, so more may come."""
    body = bodies.json_body("offset")
    _find_own(name, terminal).screen.confirm_taken(bodies.int_field(body, "offset", default=0))
    return "", 204


@api.post("/api/agents/<name>/terminals/<terminal>/size")
@operator_only
def resize_terminal(name: str, terminal: str) -> Any:
    """The page has another size."""
    size = _size_in_body(bodies.json_body("columns", "rows"))
    _find_own(name, terminal).resize(size)
    return "", 204


@api.delete("/api/agents/<name>/terminals/<terminal>")
@operator_only
def close_terminal(name: str, terminal: str) -> Any:
    """The terminal is closed, and nothing of it goes on."""
    get_services().terminals.end_terminal(_find_own(name, terminal), "Its page was closed.")
    return "", 204


def _find_own(name: str, terminal: str) -> Terminal:
    who = require_asker()
    return get_services().terminals.get_terminal(CubicleKey(name, who.user.id), terminal, _hash_login(who))


def _size_in_body(body: dict[str, Any]) -> Size:
    return Size(
        bodies.int_field(body, "columns", default=_DEFAULT.columns),
        bodies.int_field(body, "rows", default=_DEFAULT.rows),
    )


def _place_in_header() -> int:
    """Where to go on from; a browser that lost its connection says so in a header."""
    said = request.headers.get("Last-Event-ID") or request.args.get("from", "0")
    if not (said.isascii() and said.isdecimal()) or len(said) > 15:
        raise BadInput("from: send a whole number.")
    return int(said)


def _output_stream(terminal: Terminal, place: int, heartbeat_s: float) -> Iterator[str]:
    with terminal.looked_at():
        yield "retry: 1000\n\n"
        while (data := terminal.screen.read_after(place, heartbeat_s)) is not None:
            if data:
                place += len(data)
                yield f"id: {place}\ndata: {base64.b64encode(data).decode()}\n\n"
            else:
                yield ": still here\n\n"
        yield f"event: closed\ndata: {json.dumps({'why': terminal.why})}\n\n"


def _hash_login(who: Asker) -> str:
    """One login among others; what is kept of it opens nothing."""
    secret = who.session or request.headers.get("Authorization", "")
    return hashlib.sha256(secret.encode()).hexdigest()


def _is_same_operator(now: User | None, then: User) -> bool:
    """The login still holds, and is still an operator's."""
    return now is not None and (now.id, now.role) == (then.id, then.role)
