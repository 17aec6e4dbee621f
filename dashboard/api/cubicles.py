"""An agent's container for the person who asks: its state, and start, stop and reset."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from dashboard.auth import own_cubicle
from dashboard.services import get_services
from dashboard.shapes import cubicle_json
from orchestrator.core.models import CubicleKey

api = Blueprint("cubicles", __name__)


@api.get("/api/agents/<name>/cubicle")
def get_cubicle(name: str) -> Any:
    """Whether the cubicle runs, and what it uses."""
    return _cubicle_json(own_cubicle(name))


@api.post("/api/agents/<name>/cubicle/start")
def start_cubicle(name: str) -> Any:
    """The cubicle runs; running already is fine."""
    key = own_cubicle(name)
    get_services().cubicles.start(key)
    return _cubicle_json(key)


@api.post("/api/agents/<name>/cubicle/stop")
def stop_cubicle(name: str) -> Any:
    """The cubicle does not run; its workspace stays, and the next message starts it again."""
    key = own_cubicle(name)
    get_services().cubicles.stop(key)
    return _cubicle_json(key)


@api.post("/api/agents/<name>/cubicle/reset")
def reset_cubicle(name: str) -> Any:
    """A new container over the same workspace."""
    key = own_cubicle(name)
    get_services().cubicles.reset(key)
    return _cubicle_json(key)


def _cubicle_json(key: CubicleKey) -> dict[str, Any]:
    services = get_services()
    return cubicle_json(key, services.cubicles.get_state(key), services.quota.use_of(key))
