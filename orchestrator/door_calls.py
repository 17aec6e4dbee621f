"""The door's routes for what an agent asks of the host by a command: ask, look again, and what there is to ask for."""

from __future__ import annotations

from typing import Any

from flask import Flask, request

from orchestrator.capabilities.calls import Calls
from orchestrator.capabilities.table import Caller
from orchestrator.door_requests import asking, text, unix_time, wait_s
from orchestrator.errors import BadInput
from orchestrator.store.calls import Call
from orchestrator.strict_json import read_object
from orchestrator.turns import Turns


def add_call_routes(app: Flask, calls: Calls, turns: Turns) -> None:
    """``POST calls``, ``GET calls``, ``GET calls/ID`` and ``GET turns/ID/waited``."""

    @app.post("/api/internal/calls")
    def call() -> Any:
        body = read_object(request.get_data())
        fields = body.get("fields", {})
        if not isinstance(fields, dict):
            raise BadInput("fields: send an object.")
        key = asking()
        caller = Caller(key, turns.held(key))  # at most one turn is under way in a cubicle: the caller need not say
        return call_json(calls.command(caller, text(body, "call"), text(body, "name"), fields))

    @app.get("/api/internal/calls")
    def offered() -> Any:
        return {"commands": calls.offered(asking())}

    @app.get("/api/internal/calls/<call_id>")
    def called(call_id: str) -> Any:
        return call_json(calls.wait(asking(), call_id, wait_s()))

    @app.get("/api/internal/turns/<id:turn>/waited")
    def waited(turn: int) -> Any:
        seconds, is_waiting = calls.waited_s(asking(), turn, since=unix_time("since"))
        return {"waited_s": seconds, "is_waiting": is_waiting}


def call_json(call: Call) -> dict[str, Any]:
    """A call as its caller sees it."""
    return {"call": call.id, "status": call.status, "text": call.text, "result": call.result}
