"""The door: what a cubicle may ask for. Routes read, check and hand over; whose cubicle it is comes from the socket
alone."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException
from werkzeug.routing import IntegerConverter, Map

from orchestrator.agents import Agents
from orchestrator.capabilities.calls import MAX_BATCH, Calls
from orchestrator.capabilities.table import Caller
from orchestrator.door_calls import add_call_routes
from orchestrator.door_requests import asking, one_of, text, wait_s, whole
from orchestrator.door_streams import add_stream_routes
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
from orchestrator.live.harbour import Harbour
from orchestrator.llm.proxy import Proxy
from orchestrator.nouns import CubicleKey, Turn, TurnStatus
from orchestrator.people import People
from orchestrator.steps import Answer, Steps
from orchestrator.strict_json import read_object
from orchestrator.turns import Turns

logger = logging.getLogger(__name__)

OUTPUT_BYTES = 16_000

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
    calls: Calls
    harbour: Harbour
    told: Callable[[Turn], list[dict[str, str]]]
    """The conversation before a turn, as chat messages."""
    notes: tuple[Callable[[Turn], str], ...]
    """What the agent should know before a turn, beside the message; mostly nothing."""
    memories: Callable[[CubicleKey, str], list[dict[str, Any]]]
    """What is remembered that a text may be about."""
    heard: Callable[[CubicleKey], None]
    """Told at each request that this cubicle's crab lives."""
    missing: Callable[[CubicleKey, str], str] = lambda _key, _action: ""
    """A line for the person about files that an answer names and that are not there."""
    ended: Callable[[CubicleKey, int], None] = lambda _key, _turn: None
    """Told when a crab has ended a turn."""


class _Id(IntegerConverter):
    """A number that fits into a row's id."""

    def __init__(self, map: Map) -> None:  # noqa: A002 - werkzeug's own name for it
        super().__init__(map, max=2**53 - 1)


def door_app(house: House) -> Flask:
    """The WSGI application behind every door."""
    app = Flask("orchestrator.door", static_folder=None)
    app.url_map.merge_slashes = False
    app.url_map.converters["id"] = _Id
    app.json.sort_keys = False  # type: ignore[attr-defined]  # Flask's own provider has it

    @app.before_request
    def note() -> None:
        house.heard(asking())

    @app.get("/api/internal/turns/next")
    def next_turn() -> Any:
        boot = request.args.get("boot", "")
        if not boot or len(boot) > 64:
            raise BadInput("boot: send the random id of this process.")
        turn = house.turns.take(asking(), boot, wait_s(), hang_up=request.environ[CONNECTION])
        return Response(status=204) if turn is None else {"turn": _turn_json(house, turn)}

    @app.post("/api/internal/turns/<id:turn>/steps")
    def step(turn: int) -> Any:
        body = read_object(request.get_data())
        phase = one_of(body, "phase", "start", "output", "end", "actions")
        return {"start": _start, "output": _printed, "end": _end, "actions": _actions}[phase](house, turn, body)

    @app.post("/api/internal/turns/<id:turn>/finish")
    def finish(turn: int) -> Any:
        return _finish(house, turn, read_object(request.get_data()))

    _add_errors(app)
    add_call_routes(app, house.calls, house.turns)
    add_stream_routes(app, house.harbour)

    @app.post("/api/internal/approvals")
    def ask() -> Any:
        body = read_object(request.get_data())
        approval = house.steps.ask(asking(), whole(body, "turn"), whole(body, "n"))
        return {"approval": approval.id, "sha256": approval.sha256, "expires_at": approval.expires_at}

    @app.post("/api/internal/llm")
    def llm() -> Any:
        body, key = read_object(request.get_data()), asking()
        turn = None if body.get("turn") is None else whole(body, "turn")

        def check_wanted() -> None:
            if turn is not None:
                house.turns.check_wanted(key, turn)

        return house.proxy.complete(key, body, check_wanted=check_wanted)

    @app.post("/api/internal/status")
    def status() -> Any:
        one_of(read_object(request.get_data()), "status", "idle", "active")
        return {}

    @app.get("/api/internal/memories")
    def memories() -> Any:
        return {"memories": house.memories(asking(), request.args.get("q", "")[:2_000])}

    return app


def _add_errors(app: Flask) -> None:
    app.register_error_handler(OrchestratorError, _refused)
    app.register_error_handler(HTTPException, _no_route)
    app.register_error_handler(Exception, _broken)


# --- steps -----------------------------------------------------------------------------------------------------


def _start(house: House, turn: int, body: dict[str, Any]) -> dict[str, Any]:
    approval = body.get("approval")
    if approval is not None and (not isinstance(approval, str) or len(approval) > 32):
        raise BadInput("approval: send the id or null.")
    answer = house.steps.start(
        asking(),
        turn,
        whole(body, "n"),
        thought=text(body, "thought"),
        command=text(body, "command"),
        approval=approval,
    )
    return _answer_json(answer)


def _printed(house: House, turn: int, body: dict[str, Any]) -> dict[str, Any]:
    return _answer_json(house.steps.printed(asking(), turn, whole(body, "n"), text(body, "output")))


def _end(house: House, turn: int, body: dict[str, Any]) -> dict[str, Any]:
    answer = house.steps.end(
        asking(),
        turn,
        whole(body, "n"),
        exit_code=whole(body, "exit_code"),
        output=text(body, "output"),
        ended=one_of(body, "ended", "exited", "timeout", "stopped"),
    )
    return _answer_json(answer)


def _actions(house: House, turn: int, body: dict[str, Any]) -> dict[str, Any]:
    actions = body.get("actions")
    if not isinstance(actions, list) or len(actions) > MAX_BATCH:
        raise BadInput(f"actions: send a list of at most {MAX_BATCH}.")
    key, n = asking(), whole(body, "n")
    try:
        house.turns.check_wanted(key, turn)
    except Stopped:
        return {"results": [], "do": "stop"}
    return {"results": house.calls.batch(Caller(key, turn), n, actions), "do": "continue"}


def _finish(house: House, turn: int, body: dict[str, Any]) -> dict[str, Any]:
    status = TurnStatus(one_of(body, "status", "done", "failed", "stopped"))
    held = house.turns.get(turn)
    if held.cubicle != asking():
        raise NotFound("There is no such turn in this cubicle.")
    error = text(body, "error") or None
    if status is TurnStatus.FAILED and error is None:
        error = "The agent's loop gave up without saying why."
    reply, action = text(body, "message"), text(body, "action") or None
    if status is TurnStatus.DONE and not reply.strip() and not held.may_be_silent:
        reply = "(The agent ended its turn without a word.)"
    if action is not None and (line := house.missing(asking(), action)):
        reply = f"{reply.rstrip()}\n\n{line}".lstrip()
    if house.turns.end(asking(), turn, status, reply=reply, error=error, action=action):
        house.ended(asking(), turn)
    return {}


def _answer_json(answer: Answer) -> dict[str, Any]:
    return {"do": str(answer.do), "reason": answer.reason} if answer.reason else {"do": str(answer.do)}


# --- a turn, for the crab --------------------------------------------------------------------------------------


def _turn_json(house: House, turn: Turn) -> dict[str, Any]:
    agent = house.agents.get(turn.cubicle.agent)
    return {
        "id": turn.id,
        "user": str(turn.cubicle.user),
        "text": turn.prompt,
        "notes": [said for note in house.notes if (said := note(turn))],
        "may_be_silent": turn.may_be_silent,
        "now": datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "time_zone": house.people.get(turn.cubicle.user).time_zone,
        "history": house.told(turn),
        "agent": {
            "name": agent.name,
            "role": agent.role,
            "personality": agent.personality,
            "image": agent.image,
            "toolsets": list(agent.toolsets),
        },
        "limits": {
            "steps": agent.step_limit,
            "command_timeout_s": agent.command_timeout_s,
            "output_bytes": OUTPUT_BYTES,
        },
    }


# --- errors ----------------------------------------------------------------------------------------------------


def _refused(error: OrchestratorError) -> tuple[dict[str, Any], int]:
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    return {"error": {"code": error.code, "message": error.message}}, status


def _no_route(error: HTTPException) -> tuple[dict[str, Any], int]:
    return {"error": {"code": "no_route", "message": "There is no such call at this door."}}, error.code or 500


def _broken(error: Exception) -> tuple[dict[str, Any], int]:
    logger.error("a door call broke", exc_info=error)
    return {"error": {"code": "internal", "message": "Something went wrong on the host; its log says what."}}, 500
