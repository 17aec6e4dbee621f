"""Notifications on devices: a browser turns them on for its own login, says what it is told of, and brings back what
was pressed on one.
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from dashboard import bodies
from dashboard.auth import by_ticket, login_digest, require_asker
from dashboard.push_facts import device_json
from dashboard.services import get_services
from orchestrator.channels.push.devices import TOPICS, BrowserSubscription
from orchestrator.core.errors import BadInput, Forbidden

api = Blueprint("push", __name__)


@api.get("/api/push")
def get_push() -> Any:
    """The key to subscribe with, and where the asker gets notifications."""
    who, push = require_asker(), get_services().push
    own = login_digest()
    return {
        "key": push.sender.public_key(),
        "devices": [device_json(device, own) for device in push.devices.list_devices(who.user.id)],
    }


@api.put("/api/push/device")
def add_device() -> Any:
    """This browser gets notifications, or has another address for them."""
    who, body = require_asker(), bodies.json_body("endpoint", "keys")
    if not who.session:
        raise Forbidden("Only a logged-in browser gets notifications. Open the dashboard on that device.")
    keys = body.get("keys")
    if not isinstance(keys, dict) or not all(isinstance(keys.get(name), str) for name in ("p256dh", "auth")):
        raise BadInput("keys: send p256dh and auth, as the browser's subscription has them.")
    said = BrowserSubscription(bodies.text_field(body, "endpoint"), keys["p256dh"], keys["auth"])
    return device_json(get_services().push.devices.add_device(who.user, login_digest(), said), login_digest())


@api.patch("/api/push/devices/<device>")
def change_device(device: str) -> Any:
    """What one of the asker's devices is told of."""
    who, body = require_asker(), bodies.json_body("tells", "shows_text")
    changed = get_services().push.devices.change_device(
        who.user.id,
        device,
        tells=bodies.texts_field(body, "tells", most=len(TOPICS)) if "tells" in body else None,
        shows_text=bodies.flag_field(body, "shows_text") if "shows_text" in body else None,
    )
    return device_json(changed, login_digest())


@api.delete("/api/push/devices/<device>")
def remove_device(device: str) -> Any:
    """It gets no notifications any more."""
    get_services().push.devices.remove_device(require_asker().user, device)
    return "", 204


@api.post("/api/push/devices/<device>/test")
def send_test(device: str) -> Any:
    """Send it one now."""
    push = get_services().push
    push.sender.send_test(push.devices.get_device(require_asker().user.id, device))
    return "", 204


@api.post("/api/push/answer")
@by_ticket
def press_button() -> Any:
    """What was pressed on a notification, sent by the browser that shows it: with its login, and the notification's
    own ticket in place of a page's token."""
    who, body = require_asker(), bodies.json_body("device", "ref", "ticket", "button")
    if not who.session:
        raise Forbidden("Only the browser that shows a notification can answer by it.")
    device, ref, ticket, button = (bodies.text_field(body, name) for name in ("device", "ref", "ticket", "button"))
    get_services().push.answers.press_button(device, ref, ticket, button, by=who.user, session=login_digest())
    return "", 204
