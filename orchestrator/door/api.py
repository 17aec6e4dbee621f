"""The door: what a cubicle may ask for. Routes read, check and hand over; whose cubicle it is comes from the socket
alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from orchestrator.agents.agents import Agents
from orchestrator.agents.users import Users
from orchestrator.capabilities.calls import MAX_BATCH, Calls
from orchestrator.capabilities.capability import Caller
from orchestrator.capabilities.table import REGISTRY
from orchestrator.core.errors import (
    BadInput,
    NotFound,
    Stopped,
)
from orchestrator.core.models import CubicleKey, Turn, TurnStatus
from orchestrator.door.api_calls import add_call_routes
from orchestrator.door.api_streams import add_stream_routes
from orchestrator.door.request import MAX_POLL_S, DoorRequest, one_of, text, whole
from orchestrator.door.reverse_tunnel import ReverseTunnel
from orchestrator.door.router import SMALL_BYTES, DoorRoutes, Result
from orchestrator.door.sockets import LIMITS
from orchestrator.llm.proxy import Proxy
from orchestrator.turns.queue import Turns
from orchestrator.turns.steps import StepAnswer, Steps

OUTPUT_BYTES = 16_000
_STEP_BYTES = 1024 * 1024
"""A model's longest answer or a command's output fits, with every character escaped."""


@dataclass(frozen=True, slots=True)
class DoorContext:
    """What lies behind the door."""

    turns: Turns
    steps: Steps
    proxy: Proxy
    agents: Agents
    people: Users
    calls: Calls
    harbour: ReverseTunnel
    told: Callable[[Turn], list[dict[str, str]]]
    """The conversation before a turn, as chat messages."""
    notes: tuple[Callable[[Turn], str], ...]
    """What the agent should know before a turn, beside the message; mostly nothing."""
    memories: Callable[[CubicleKey, str], list[dict[str, Any]]]
    """What is remembered that a text may be about."""
    missing: Callable[[CubicleKey, str], str] = lambda _key, _action: ""
    """A line for the person about files that an answer names and that are not there."""


def add_door_routes(routes: DoorRoutes, house: DoorContext) -> None:
    """All that a cubicle may ask for."""
    for method, path, handler, most_bytes in (
        ("GET", "turns/next", _next_turn, SMALL_BYTES),
        ("POST", "turns/*/steps", _step, _STEP_BYTES),
        ("POST", "turns/*/finish", _finish, _STEP_BYTES),
        ("POST", "approvals", _ask, SMALL_BYTES),
        ("POST", "llm", _llm, LIMITS.body_bytes),
        ("POST", "status", _status, SMALL_BYTES),
        ("GET", "memories", _memories, SMALL_BYTES),
    ):
        routes.add(method, path, partial(handler, house), most_bytes=most_bytes)
    add_call_routes(routes, house.calls)
    add_stream_routes(routes, house.harbour)


def _next_turn(house: DoorContext, request: DoorRequest) -> Result:
    boot = request.argument("boot")
    if not boot or len(boot) > 64:
        raise BadInput("boot: send the random id of this process.")
    turn = house.turns.take(request.key, boot, request.wait_s(MAX_POLL_S), hang_up=request.connection)
    return None if turn is None else {"turn": _turn_json(house, turn)}


def _ask(house: DoorContext, request: DoorRequest) -> Result:
    body = request.fields()
    approval = house.steps.ask(request.key, whole(body, "turn"), whole(body, "n"))
    return {"approval": approval.id, "sha256": approval.sha256, "expires_at": approval.expires_at}


def _llm(house: DoorContext, request: DoorRequest) -> Result:
    body = request.fields()
    turn = None if body.get("turn") is None else whole(body, "turn")

    def check_wanted() -> None:
        if turn is not None:
            house.turns.check_wanted(request.key, turn)

    return house.proxy.complete(request.key, body, check_wanted=check_wanted)


def _status(_: DoorContext, request: DoorRequest) -> Result:
    one_of(request.fields(), "status", "idle", "active")
    return {}


def _memories(house: DoorContext, request: DoorRequest) -> Result:
    return {"memories": house.memories(request.key, request.argument("q")[:2_000])}


def _step(house: DoorContext, request: DoorRequest) -> Result:
    turn, body = request.turn, request.fields()
    phase = one_of(body, "phase", "start", "output", "end", "actions")
    handlers = {"start": _start, "output": _printed, "end": _end, "actions": _actions}
    return handlers[phase](house, request.key, turn, body)


def _finish(house: DoorContext, request: DoorRequest) -> Result:
    key, turn, body = request.key, request.turn, request.fields()
    status = TurnStatus(one_of(body, "status", "done", "failed", "stopped"))
    held = house.turns.get(turn)
    if held.cubicle != key:
        raise NotFound("There is no such turn in this cubicle.")
    error = text(body, "error") or None
    if status is TurnStatus.FAILED and error is None:
        error = "The agent's loop gave up without saying why."
    reply, action = text(body, "message"), text(body, "action") or None
    if status is TurnStatus.DONE and not reply.strip() and not held.may_be_silent:
        reply = "(The agent ended its turn without a word.)"
    if action is not None and (line := house.missing(key, action)):
        reply = f"{reply.rstrip()}\n\n{line}".lstrip()
    house.turns.end(key, turn, status, reply=reply, error=error, action=action)
    return {}


# --- steps -----------------------------------------------------------------------------------------------------


def _start(house: DoorContext, key: CubicleKey, turn: int, body: dict[str, Any]) -> dict[str, Any]:
    approval = body.get("approval")
    if approval is not None and (not isinstance(approval, str) or len(approval) > 32):
        raise BadInput("approval: send the id or null.")
    answer = house.steps.start(
        key,
        turn,
        whole(body, "n"),
        thought=text(body, "thought"),
        command=text(body, "command"),
        approval=approval,
    )
    return _answer_json(answer)


def _printed(house: DoorContext, key: CubicleKey, turn: int, body: dict[str, Any]) -> dict[str, Any]:
    return _answer_json(house.steps.printed(key, turn, whole(body, "n"), text(body, "output")))


def _end(house: DoorContext, key: CubicleKey, turn: int, body: dict[str, Any]) -> dict[str, Any]:
    answer = house.steps.end(
        key,
        turn,
        whole(body, "n"),
        exit_code=whole(body, "exit_code"),
        output=text(body, "output"),
        ended=one_of(body, "ended", "exited", "timeout", "stopped"),
    )
    return _answer_json(answer)


def _actions(house: DoorContext, key: CubicleKey, turn: int, body: dict[str, Any]) -> dict[str, Any]:
    actions = body.get("actions")
    if not isinstance(actions, list) or len(actions) > MAX_BATCH:
        raise BadInput(f"actions: send a list of at most {MAX_BATCH}.")
    n = whole(body, "n")
    try:
        house.turns.check_wanted(key, turn)
    except Stopped:
        return {"results": [], "do": "stop"}
    return {"results": house.calls.run_batch(Caller(key, turn), n, actions), "do": "continue"}


def _answer_json(answer: StepAnswer) -> dict[str, Any]:
    return {"do": str(answer.do), "reason": answer.reason} if answer.reason else {"do": str(answer.do)}


# --- a turn, for the crab --------------------------------------------------------------------------------------


def _turn_json(house: DoorContext, turn: Turn) -> dict[str, Any]:
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
            "capabilities": REGISTRY.prompt_text(agent.toolsets),
        },
        "limits": {
            "steps": agent.step_limit,
            "command_timeout_s": agent.command_timeout_s,
            "output_bytes": OUTPUT_BYTES,
        },
    }
