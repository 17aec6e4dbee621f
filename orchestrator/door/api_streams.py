"""The door's routes for streams: a cubicle hears that a tunnel is wanted, and a tunnel offers its connections."""

from __future__ import annotations

from functools import partial

from orchestrator.door.request import MAX_POLL_S, DoorRequest
from orchestrator.door.reverse_tunnel import ReverseTunnel
from orchestrator.door.router import DoorRoutes, Result


def add_stream_routes(routes: DoorRoutes, reverse_tunnel: ReverseTunnel) -> None:
    """``GET streams?wait=`` and ``POST streams``."""

    def wanted(request: DoorRequest) -> Result:
        wait_s = request.wait_s(MAX_POLL_S)
        return {"wanted": reverse_tunnel.await_call(request.key, wait_s, hang_up=request.connection)}

    def offer(request: DoorRequest) -> Result:
        request.fields()  # read, so that nothing of the request is left on the connection that is handed over
        request.hand_over_to(partial(reverse_tunnel.offer, request.key))
        return {}

    routes.add_route("GET", "streams", wanted)
    routes.add_route("POST", "streams", offer)
