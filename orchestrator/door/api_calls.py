"""The door's routes for what an agent asks of the host by a command: ask, look again, and what there is to ask for."""

from __future__ import annotations

from typing import Any

from orchestrator.capabilities.call_rows import CapabilityCall
from orchestrator.capabilities.calls import Calls
from orchestrator.core.errors import BadInput
from orchestrator.door.request import DoorRequest, get_int, get_text
from orchestrator.door.router import DoorRoutes, Result

CALL_BYTES = 256 * 1024
"""The longest texts of a call's fields fit, with every character escaped."""


def add_call_routes(routes: DoorRoutes, calls: Calls) -> None:
    """``POST calls``, ``GET calls``, ``GET calls/ID`` and ``GET turns/ID/waited``."""

    def call(request: DoorRequest) -> Result:
        body = request.fields()
        fields = body.get("fields", {})
        if not isinstance(fields, dict):
            raise BadInput("fields: send an object.")
        named = None if body.get("turn") is None else get_int(body, "turn")
        return call_json(
            calls.run_command(
                calls.find_caller(request.key, named), get_text(body, "call"), get_text(body, "name"), fields
            )
        )

    def offered(request: DoorRequest) -> Result:
        return {"commands": calls.offered_names(request.key)}

    def called(request: DoorRequest) -> Result:
        return call_json(calls.wait_call(request.key, request.name, request.wait_s()))

    def waited(request: DoorRequest) -> Result:
        seconds, is_waiting = calls.waited_s(request.key, request.turn, since=request.unix_time("since"))
        return {"waited_s": seconds, "is_waiting": is_waiting}

    routes.add_route("POST", "calls", call, most_bytes=CALL_BYTES)
    routes.add_route("GET", "calls", offered)
    routes.add_route("GET", "calls/*", called)
    routes.add_route("GET", "turns/*/waited", waited)


def call_json(call: CapabilityCall) -> dict[str, Any]:
    """A call as its caller sees it."""
    return {"call": call.id, "status": call.status, "text": call.text, "result": call.result}
