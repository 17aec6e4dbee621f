"""How the install is: a bare yes or no for anybody, the detail for the operator, and which models there are to choose
from.
"""

from __future__ import annotations

import logging
from typing import Any

from flask import Blueprint

from dashboard.auth import mark_public, operator_only
from dashboard.services import get_services
from orchestrator.core.errors import OrchestratorError, Unavailable
from orchestrator.services import Health

logger = logging.getLogger(__name__)

api = Blueprint("health", __name__)


@api.get("/api/health")
@mark_public
def get_health() -> Any:
    """Whether messages can be answered; no detail, as nobody is logged in."""
    try:
        is_ok = get_services().health().is_ok
    except OrchestratorError as error:
        logger.warning("not healthy: %s", error.message)
        is_ok = False
    return ({"status": "ok"}, 200) if is_ok else ({"status": "unavailable"}, 503)


@api.get("/api/status")
@operator_only
def get_status() -> Any:
    """How each part is, and what is going on."""
    services = get_services()
    parts: Health = services.health()
    return {
        "status": "ok" if parts.is_ok else "unavailable",
        "engine": parts.engine,
        "database": parts.database,
        "doors": parts.doors,
        "previews": services.previews.trouble or "ok",
        "provider": services.models()["default"],
        "turns_under_way": len(services.turns.list_running()),
        "cubicles_running": _running_turns(),
    }


@api.get("/api/models")
def list_models() -> Any:
    """Which models an agent may be given."""
    return get_services().models()


def _running_turns() -> int | None:
    try:
        return len(get_services().cubicles.list_running())
    except Unavailable:
        return None  # ``engine`` says why
