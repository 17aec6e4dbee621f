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
from orchestrator.agents.looks import shown_name
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
from orchestrator.door.request import MAX_POLL_S, DoorRequest, get_int, get_text, one_of
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
    users: Users
    calls: Calls
    reverse_tunnel: ReverseTunnel
    told: Callable[[Turn], list[dict[str, str]]]
    """The conversation before a turn, as chat messages."""
    notes: tuple[Callable[[Turn], str], ...]
    """What the agent should know before a turn, beside the message; mostly nothing."""
    memories: Callable[[CubicleKey, str], list[dict[str, Any]]]
    """What is remembered that a text may be about."""
    missing: Callable[[CubicleKey, str], str] = lambda _key, _action: ""
    """A line for the person about files that an answer names and that are not there."""


def add_door_routes(routes: DoorRoutes, door: DoorContext) -> None:
    """All that a cubicle may ask for."""
    for method, path, handler, most_bytes in (
        ("GET", "turns/next", _next_turn, SMALL_BYTES),
        ("POST", "turns/*/steps", _handle_step, _STEP_BYTES),
        ("POST", "turns/*/finish", _finish_turn, _STEP_BYTES),
        ("POST", "approvals", _ask_person, SMALL_BYTES),
        ("POST", "llm", _complete_call, LIMITS.body_bytes),
        ("POST", "status", _get_status, SMALL_BYTES),
        ("GET", "memories", _get_memories, SMALL_BYTES),
    ):
        routes.add_route(method, path, partial(handler, door), most_bytes=most_bytes)
    add_call_routes(routes, door.calls)
    add_stream_routes(routes, door.reverse_tunnel)


def _next_turn(door: DoorContext, request: DoorRequest) -> Result:
    boot = request.argument("boot")
    if not boot or len(boot) > 64:
        raise BadInput("boot: send the random id of this process.")
    turn = door.turns.take_next(request.key, boot, request.wait_s(MAX_POLL_S), hang_up=request.connection)
    return None if turn is None else {"turn": _turn_json(door, turn)}


def _ask_person(door: DoorContext, request: DoorRequest) -> Result:
    body = request.fields()
    approval = door.steps.ask_person(request.key, get_int(body, "turn"), get_int(body, "n"))
    return {"approval": approval.id, "sha256": approval.sha256, "expires_at": approval.expires_at}


def _complete_call(door: DoorContext, request: DoorRequest) -> Result:
    body = request.fields()
    turn = None if body.get("turn") is None else get_int(body, "turn")

    def check_wanted() -> None:
        if turn is not None:
            door.turns.check_wanted(request.key, turn)

    return door.proxy.complete(request.key, body, check_wanted=check_wanted)


def _get_status(_: DoorContext, request: DoorRequest) -> Result:
    one_of(request.fields(), "status", "idle", "active")
    return {}


def _get_memories(door: DoorContext, request: DoorRequest) -> Result:
    return {"memories": door.memories(request.key, request.argument("q")[:2_000])}


def _handle_step(door: DoorContext, request: DoorRequest) -> Result:
    turn, body = request.turn, request.fields()
    phase = one_of(body, "phase", "start", "output", "end", "actions")
    handlers = {"start": _start_step, "output": _show_output, "end": _end_step, "actions": _take_actions}
    return handlers[phase](door, request.key, turn, body)


def _finish_turn(door: DoorContext, request: DoorRequest) -> Result:
    key, turn, body = request.key, request.turn, request.fields()
    status = TurnStatus(one_of(body, "status", "done", "failed", "stopped"))
    held = door.turns.get(turn)
    if held.cubicle != key:
        raise NotFound("There is no such turn in this cubicle.")
    error = get_text(body, "error") or None
    if status is TurnStatus.FAILED and error is None:
        error = "The agent's loop gave up without saying why."
    reply, action = get_text(body, "message"), get_text(body, "action") or None
    if status is TurnStatus.DONE and not reply.strip() and not held.may_be_silent:
        reply = "(The agent ended its turn without a word.)"
    if action is not None and (line := door.missing(key, action)):
        reply = f"{reply.rstrip()}\n\n{line}".lstrip()
    door.turns.end_turn(key, turn, status, reply=reply, error=error, action=action)
    return {}


# --- steps -----------------------------------------------------------------------------------------------------


def _start_step(door: DoorContext, key: CubicleKey, turn: int, body: dict[str, Any]) -> dict[str, Any]:
    approval = body.get("approval")
    if approval is not None and (not isinstance(approval, str) or len(approval) > 32):
        raise BadInput("approval: send the id or null.")
    answer = door.steps.start_step(
        key,
        turn,
        get_int(body, "n"),
        thought=get_text(body, "thought"),
        command=get_text(body, "command"),
        approval=approval,
    )
    return _answer_json(answer)


def _show_output(door: DoorContext, key: CubicleKey, turn: int, body: dict[str, Any]) -> dict[str, Any]:
    return _answer_json(door.steps.show_output(key, turn, get_int(body, "n"), get_text(body, "output")))


def _end_step(door: DoorContext, key: CubicleKey, turn: int, body: dict[str, Any]) -> dict[str, Any]:
    answer = door.steps.end_step(
        key,
        turn,
        get_int(body, "n"),
        exit_code=get_int(body, "exit_code"),
        output=get_text(body, "output"),
        ended=one_of(body, "ended", "exited", "timeout", "stopped"),
    )
    return _answer_json(answer)


def _take_actions(door: DoorContext, key: CubicleKey, turn: int, body: dict[str, Any]) -> dict[str, Any]:
    actions = body.get("actions")
    if not isinstance(actions, list) or len(actions) > MAX_BATCH:
        raise BadInput(f"actions: send a list of at most {MAX_BATCH}.")
    n = get_int(body, "n")
    try:
        door.turns.check_wanted(key, turn)
    except Stopped:
        return {"results": [], "do": "stop"}
    return {"results": door.calls.run_batch(Caller(key, turn), n, actions), "do": "continue"}


def _answer_json(answer: StepAnswer) -> dict[str, Any]:
    said = {"reason": answer.reason, "advice": answer.advice}
    return {"do": str(answer.do), **{name: text for name, text in said.items() if text}}


# --- a turn, for the crab --------------------------------------------------------------------------------------


def _turn_json(door: DoorContext, turn: Turn) -> dict[str, Any]:
    agent = door.agents.get(turn.cubicle.agent)
    return {
        "id": turn.id,
        "user": str(turn.cubicle.user),
        "text": turn.prompt,
        "notes": [said for note in door.notes if (said := note(turn))],
        "may_be_silent": turn.may_be_silent,
        "now": datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "time_zone": door.users.get(turn.cubicle.user).time_zone,
        "history": door.told(turn),
        "agent": {
            "name": shown_name(agent),
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
