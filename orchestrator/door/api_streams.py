"""The door's routes for streams: a cubicle hears that a ferry is wanted, and a ferry offers its connections."""

from __future__ import annotations

from functools import partial

from orchestrator.door.request import MAX_POLL_S, DoorRequest
from orchestrator.door.reverse_tunnel import ReverseTunnel
from orchestrator.door.router import DoorRoutes, Result


def add_stream_routes(routes: DoorRoutes, harbour: ReverseTunnel) -> None:
    """``GET streams?wait=`` and ``POST streams``."""

    def wanted(request: DoorRequest) -> Result:
        wait_s = request.wait_s(MAX_POLL_S)
        return {"wanted": harbour.await_call(request.key, wait_s, hang_up=request.connection)}

    def offer(request: DoorRequest) -> Result:
        request.fields()  # read, so that nothing of the request is left on the connection that is handed over
        request.hand_over_to(partial(harbour.moor, request.key))
        return {}

    routes.add("GET", "streams", wanted)
    routes.add("POST", "streams", offer)
