"""One's devices, joined for templates: where notifications go, and how a phone gets in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dashboard import origin
from dashboard.auth import login_digest, require_asker
from dashboard.languages import say, to_say
from dashboard.push_facts import device_json
from dashboard.services import get_services
from orchestrator.agents.public_url import get_public_url, is_local
from orchestrator.channels.push.devices import ANSWERS, APPROVALS, CALENDAR, QUESTIONS

TOPICS = (
    (APPROVALS, to_say("Approvals"), to_say("An agent needs your approval.")),
    (QUESTIONS, to_say("Questions"), to_say("An agent asks you something.")),
    (ANSWERS, to_say("Answers"), to_say("An agent has answered, and you weren’t looking.")),
    (CALENDAR, to_say("Calendar"), to_say("Something from the calendar ran, was missed or changed.")),
)


@dataclass(frozen=True, slots=True)
class DeviceView:
    """A device, with what its browser calls itself."""

    device: dict[str, Any]
    name: str
    sent_at: float | None


def push_parts() -> dict[str, Any]:
    """For `parts/push.html` and what stands around it."""
    services, user, own = get_services(), require_asker().user, login_digest()
    browsers = {session.sha256: session.browser for session in services.users.list_sessions(user.id)}
    found = services.push.devices.list_devices(user.id)
    views = [DeviceView(device_json(d, own), browsers.get(d.session) or say("A browser"), d.sent_at) for d in found]
    return {"devices": views, "topics": TOPICS}


def phone_parts() -> dict[str, Any]:
    """For `parts/phone.html`."""
    services = get_services()
    came_by = origin.own_origin(services.settings.public_url)
    address = get_public_url(services.settings, services.install_settings, came_by=came_by)
    return {
        "address": address,
        "is_local": is_local(address),
        "is_https": address.startswith("https://"),
        "port": services.settings.port,
    }
