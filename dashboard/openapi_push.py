"""Notifications on devices, as the API describes them."""

from __future__ import annotations

from dashboard.openapi_route import ApiRoute
from dashboard.openapi_schemas import (
    BOOLEAN,
    INTEGER,
    STRING,
    TIME,
    Schema,
    array_of,
    enum_of,
    nullable,
    object_of,
    schema_ref,
)
from orchestrator.channels.push.devices import TOPICS

_DEVICE = "/api/push/devices/{device}"

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute("get", "/api/push", "The key to subscribe with, and the caller's devices that get notifications", "Push"),
    ApiRoute(
        "put",
        "/api/push/device",
        "This browser gets notifications, or has another address for them; needs the dashboard's session",
        "PushDevice",
        "PushSubscription",
        fails=(400, 403, 409, 429),
    ),
    ApiRoute("patch", _DEVICE, "What a device is told of", "PushDevice", "PushChoices", fails=(400, 404)),
    ApiRoute("delete", _DEVICE, "A device gets no notifications any more", status=204, fails=(404,)),
    ApiRoute("post", f"{_DEVICE}/test", "Send a device a notification now", status=204, fails=(404, 503)),
    ApiRoute(
        "post",
        "/api/push/answer",
        "What was pressed on a notification; needs the session of its device and the notification's ticket",
        body="PushAnswer",
        status=204,
        fails=(400, 403, 404, 409),
    ),
    ApiRoute(
        "post", "/api/me/login-link", "A one-time login link into another device of the caller's", "OwnLink", status=201
    ),
)
SCHEMAS: dict[str, Schema] = {
    "PushDevice": object_of(
        {
            "id": STRING,
            "is_this": {**BOOLEAN, "description": "it is the browser that asks"},
            "endpoint": {**STRING, "description": "its address at its push service; empty for other browsers"},
            "service": {**STRING, "description": "the push service's host"},
            "tells": array_of(enum_of(*TOPICS)),
            "shows_text": {**BOOLEAN, "description": "notifications say what it is about, also on a lock screen"},
            "created_at": TIME,
            "sent_at": {**nullable(TIME), "description": "when its push service took something last"},
            "trouble": {**STRING, "description": "why the last one did not get there"},
        }
    ),
    "Push": object_of(
        {
            "key": {**STRING, "description": "`applicationServerKey`, in base64url"},
            "devices": array_of(schema_ref("PushDevice")),
        }
    ),
    "PushSubscription": object_of({"endpoint": STRING, "keys": object_of({"p256dh": STRING, "auth": STRING})}),
    "PushChoices": object_of({"tells": array_of(enum_of(*TOPICS)), "shows_text": BOOLEAN}, required=()),
    "PushAnswer": object_of(
        {
            "device": STRING,
            "ref": {**STRING, "description": "`approval:ID` or `question:ID`"},
            "ticket": STRING,
            "button": {**STRING, "description": "`approve`, `deny`, or `choice:0` for the first choice"},
        }
    ),
    "OwnLink": object_of(
        {
            "url": STRING,
            "valid_for_s": INTEGER,
            "is_local": {**BOOLEAN, "description": "it opens on the machine that HermitShell runs on alone"},
            "qr": {**STRING, "description": "the same as a QR code, in a `data:` URL"},
        }
    ),
}
