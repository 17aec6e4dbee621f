"""The door's routes for streams: a cubicle hears that a ferry is wanted, and a ferry offers its connections."""

from __future__ import annotations

from functools import partial
from typing import Any

from flask import Flask, Response, request

from orchestrator.door_requests import asking, wait_s
from orchestrator.http_framing import HAND_OVER
from orchestrator.live.harbour import Harbour


def add_stream_routes(app: Flask, harbour: Harbour) -> None:
    """``GET streams?wait=`` and ``POST streams``."""

    @app.get("/api/internal/streams")
    def wanted() -> Any:
        return {"wanted": harbour.await_call(asking(), wait_s())}

    @app.post("/api/internal/streams")
    def offer() -> Any:
        request.environ[HAND_OVER](partial(harbour.moor, asking()))
        return Response("{}", content_type="application/json")
