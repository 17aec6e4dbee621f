"""Devices with notifications, as the API and the pages show them."""

from __future__ import annotations

from typing import Any

from dashboard.times import with_iso_times
from orchestrator.channels.push.push_rows import PushDevice


def device_json(device: PushDevice, own_login: str) -> dict[str, Any]:
    """A device. Its address at the push service is told to the browser alone that it is of."""
    is_this = device.session == own_login
    return with_iso_times(
        {
            "id": device.id,
            "is_this": is_this,
            "endpoint": device.endpoint if is_this else "",
            "service": device.endpoint.partition("://")[2].partition("/")[0],
            "tells": list(device.tells),
            "shows_text": device.shows_text,
            "created_at": device.created_at,
            "sent_at": device.sent_at,
            "trouble": device.trouble,
        }
    )
