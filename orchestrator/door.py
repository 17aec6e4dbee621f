"""The door: what a cubicle may ask for. Routes read, check and hand over; whose cubicle it is comes from the socket
alone."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from flask import Flask, Request, Response, request
from werkzeug.exceptions import HTTPException
from werkzeug.routing import IntegerConverter, Map

from orchestrator import conversation
from orchestrator.agents import Agents
from orchestrator.doors import KEY
from orchestrator.errors import (
    BadInput,
    Conflict,
    NotFound,
    OrchestratorError,
    OverBudget,
    Stopped,
    TooLarge,
    TooMany,
    Unavailable,
)
from orchestrator.http_framing import CONNECTION
from orchestrator.llm.proxy import Proxy
from orchestrator.nouns import CubicleKey, Turn, TurnStatus
from orchestrator.people import People
from orchestrator.steps import Answer, Steps
from orchestrator.strict_json import read_object
from orchestrator.turns import Turns

logger = logging.getLogger(__name__)

MAX_WAIT_S = 30.0
OUTPUT_BYTES = 16_000
HISTORY_TURNS = 60

_STATUS: tuple[tuple[type[OrchestratorError], int], ...] = (
    (NotFound, 404),
    (Conflict, 409),
    (Stopped, 409),
    (TooLarge, 413),
    (OverBudget, 402),
    (TooMany, 429),
    (Unavailable, 502),
    (BadInput, 400),
)


@dataclass(frozen=True, slots=True)
class House:
    """What lies behind the door."""

    turns: Turns
    steps: Steps
    proxy: Proxy
    agents: Agents
    people: People
    heard: Callable[[CubicleKey], None]
    """Told at each request that this cubicle's crab lives."""
    disk_note: Callable[[CubicleKey], str] = lambda _: ""
    missing: Callable[[CubicleKey, str], str] = lambda _key, _action: ""
    """A line for the person about files that an answer names and that are not there."""
    ended: Callable[[CubicleKey, int], None] = lambda _key, _turn: None
    """Told when a crab has ended a turn."""
    """What the agent should know of its disk before a turn; mostly nothing."""


class _Id(IntegerConverter):
    """A number that fits into a row's id."""

    def __init__(self, map: Map) -> None:  # noqa: A002 - werkzeug's own name for it
        super().__init__(map, max=2**53 - 1)


def door_app(house: House) -> Flask:
    """The WSGI application behind every door."""
    app = Flask("orchestrator.door", static_folder=None)
    app.url_map.merge_slashes = False
    app.json.sort_keys = False  # type: ignore[attr-defined]  # Flask's own provider has it

    @app.before_request
    def note() -> None:
        house.heard(_key())

    app.url_map.converters["id"] = _Id

    @app.get("/api/internal/turns/next")
    def next_turn() -> Any:
        boot = request.args.get("boot", "")
        if not boot or len(boot) > 64:
            raise BadInput("boot: send the random id of this process.")
        turn = house.turns.take(_key(), boot, _wait_s(), hang_up=request.environ[CONNECTION])
        return Response(status=204) if turn is None else {"turn": _turn_json(house, turn)}

    @app.post("/api/internal/turns/<id:turn>/steps")
    def step(turn: int) -> Any:
        body = read_object(request.get_data())
        phase = _one_of(body, "phase", "start", "end", "actions")
        return {"start": _start, "end": _end, "actions": _actions}[phase](house, turn, body)

    @app.post("/api/internal/turns/<id:turn>/finish")
    def finish(turn: int) -> Any:
        return _finish(house, turn, read_object(request.get_data()))

    @app.post("/api/internal/approvals")
    def ask() -> Any:
        body = read_object(request.get_data())
        approval = house.steps.ask(_key(), _whole(body, "turn"), _whole(body, "n"))
        return {"approval": approval.id, "sha256": approval.sha256, "expires_at": approval.expires_at}

    @app.post("/api/internal/llm")
    def llm() -> Any:
        body, key = read_object(request.get_data()), _key()
        turn = None if body.get("turn") is None else _whole(body, "turn")

        def check_wanted() -> None:
            if turn is not None:
                house.turns.check_wanted(key, turn)

        return house.proxy.complete(key, body, check_wanted=check_wanted)

    @app.post("/api/internal/status")
    def status() -> Any:
        _one_of(read_object(request.get_data()), "status", "idle", "active")
        return {}

    @app.get("/api/internal/memories")
    def memories() -> Any:
        return {"memories": []}

    app.register_error_handler(OrchestratorError, _refused)
    app.register_error_handler(HTTPException, _no_route)
    app.register_error_handler(Exception, _broken)
    return app


# --- steps -----------------------------------------------------------------------------------------------------


def _start(house: House, turn: int, body: dict[str, Any]) -> dict[str, Any]:
    approval = body.get("approval")
    if approval is not None and (not isinstance(approval, str) or len(approval) > 32):
        raise BadInput("approval: send the id or null.")
    answer = house.steps.start(
        _key(),
        turn,
        _whole(body, "n"),
        thought=_text(body, "thought"),
        command=_text(body, "command"),
        approval=approval,
    )
    return _answer_json(answer)


def _end(house: House, turn: int, body: dict[str, Any]) -> dict[str, Any]:
    answer = house.steps.end(
        _key(),
        turn,
        _whole(body, "n"),
        exit_code=_whole(body, "exit_code"),
        output=_text(body, "output"),
        ended=_one_of(body, "ended", "exited", "timeout", "stopped"),
    )
    return _answer_json(answer)


def _actions(house: House, turn: int, body: dict[str, Any]) -> dict[str, Any]:
    """No panel action exists yet: each is answered with what it is, so that the model can say so."""
    actions = body.get("actions")
    if not isinstance(actions, list) or len(actions) > 100:
        raise BadInput("actions: send a list of at most 100.")
    if house.turns.get(turn).cubicle != _key():
        raise NotFound("There is no such turn in this cubicle.")
    results = [
        {"ok": False, "error": f"{_action_name(action)} is not available in this install."} for action in actions
    ]
    return {"results": results, "do": "continue"}


def _finish(house: House, turn: int, body: dict[str, Any]) -> dict[str, Any]:
    status = TurnStatus(_one_of(body, "status", "done", "failed", "stopped"))
    if house.turns.get(turn).cubicle != _key():
        raise NotFound("There is no such turn in this cubicle.")
    error = _text(body, "error") or None
    if status is TurnStatus.FAILED and error is None:
        error = "The agent's loop gave up without saying why."
    reply, action = _text(body, "message"), _text(body, "action") or None
    if status is TurnStatus.DONE and not reply.strip():
        reply = "(The agent ended its turn without a word.)"
    if action is not None and (line := house.missing(_key(), action)):
        reply = f"{reply.rstrip()}\n\n{line}".lstrip()
    if house.turns.end(_key(), turn, status, reply=reply, error=error, action=action):
        house.ended(_key(), turn)
    return {}


def _answer_json(answer: Answer) -> dict[str, Any]:
    return {"do": str(answer.do), "reason": answer.reason} if answer.reason else {"do": str(answer.do)}


def _action_name(action: object) -> str:
    name = action.get("name") if isinstance(action, dict) else str(action).split(":", 1)[0]
    return str(name)[:40]


# --- a turn, for the crab --------------------------------------------------------------------------------------


def _turn_json(house: House, turn: Turn) -> dict[str, Any]:
    agent = house.agents.get(turn.cubicle.agent)
    earlier = house.turns.history(turn.cubicle, limit=HISTORY_TURNS, before=turn.id)
    return {
        "id": turn.id,
        "user": str(turn.cubicle.user),
        "text": turn.prompt,
        "notes": [note] if (note := house.disk_note(turn.cubicle)) else [],
        "now": datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "time_zone": house.people.get(turn.cubicle.user).time_zone,
        "history": conversation.messages(earlier, house.turns.steps_in_brief(earlier)),
        "agent": {
            "name": agent.name,
            "role": agent.role,
            "personality": agent.personality,
            "image": agent.image,
        },
        "limits": {
            "steps": agent.step_limit,
            "command_timeout_s": agent.command_timeout_s,
            "output_bytes": OUTPUT_BYTES,
        },
    }


# --- reading requests ------------------------------------------------------------------------------------------


def _key() -> CubicleKey:
    key = request.environ[KEY]
    assert isinstance(key, CubicleKey)  # noqa: S101 - the server put it there
    return key


def _wait_s(source: Request = request) -> float:
    text = source.args.get("wait", "0")
    if not (text.isascii() and text.isdecimal()):
        raise BadInput("wait: send whole seconds.")
    return min(float(text), MAX_WAIT_S)


def _text(body: dict[str, Any], field: str) -> str:
    value = body.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadInput(f"{field}: send a text.")
    return value


def _whole(body: dict[str, Any], field: str) -> int:
    value = body.get(field)
    if type(value) is not int or abs(value) >= 2**53:
        raise BadInput(f"{field}: send a whole number.")
    return value


def _one_of(body: dict[str, Any], field: str, *choices: str) -> str:
    value = body.get(field)
    if value not in choices:
        raise BadInput(f"{field}: send one of {', '.join(choices)}.")
    return str(value)


# --- errors ----------------------------------------------------------------------------------------------------


def _refused(error: OrchestratorError) -> tuple[dict[str, Any], int]:
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    return {"error": {"code": error.code, "message": error.message}}, status


def _no_route(error: HTTPException) -> tuple[dict[str, Any], int]:
    return {"error": {"code": "no_route", "message": "There is no such call at this door."}}, error.code or 500


def _broken(error: Exception) -> tuple[dict[str, Any], int]:
    logger.error("a door call broke", exc_info=error)
    return {"error": {"code": "internal", "message": "Something went wrong on the host; its log says what."}}, 500
