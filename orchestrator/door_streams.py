"""The door's routes for streams: a cubicle hears that a ferry is wanted, and a ferry offers its connections."""

from __future__ import annotations

from functools import partial

from orchestrator.door_requests import DoorRequest
from orchestrator.door_routes import DoorRoutes, Result
from orchestrator.live.harbour import Harbour


def add_stream_routes(routes: DoorRoutes, harbour: Harbour) -> None:
    """``GET streams?wait=`` and ``POST streams``."""

    def wanted(request: DoorRequest) -> Result:
        return {"wanted": harbour.await_call(request.key, request.wait_s())}

    def offer(request: DoorRequest) -> Result:
        request.hand_over_to(partial(harbour.moor, request.key))
        return {}

    routes.add("GET", "streams", wanted)
    routes.add("POST", "streams", offer)
