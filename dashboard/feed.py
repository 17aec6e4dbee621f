"""Where calendar apps read a calendar. No person comes here and no page of ours: who knows the address may read, and
all others find nothing."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response

from dashboard import headers
from dashboard.auth import by_secret
from dashboard.services import get_services
from orchestrator.capabilities.calendar.serialize import MEDIA_TYPE
from orchestrator.core.errors import NotFound, TooMany

feed = Blueprint("feed", __name__)


@feed.get("/ics/<secret>.ics")
@by_secret
def read(secret: str) -> Any:
    """The calendar with this secret."""
    try:
        text = get_services().calendar.read_feed(secret)
    except NotFound:
        return "", 404
    except TooMany:
        return Response(status=429, headers={"Retry-After": "60"})
    return Response(text, mimetype=MEDIA_TYPE, headers={"Cache-Control": headers.PRIVATE})
