"""What every answer tells the browser: load from us alone, run no inline script, sit in nobody's frame, tell nobody
where one comes from, keep nothing. There is no CORS header anywhere.
"""

from __future__ import annotations

import re
from http import HTTPStatus

from flask import Response, g, request

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src "
    "'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HELD = "sandbox; default-src 'none'; frame-ancestors 'none'"
"""For a file that somebody else made: it may be looked at, and nothing in it runs or loads."""
_FEATURES = (
    "accelerometer autoplay camera display-capture fullscreen geolocation gyroscope hid idle-detection "
    "magnetometer microphone midi payment screen-wake-lock serial usb "
    "xr-spatial-tracking"
)
_FRAMED = re.compile(r"https?://[A-Za-z0-9.:\[\]_-]+/[A-Za-z0-9._/-]*", re.ASCII)
"""What may stand in a policy as it is."""
FOR_GOOD = "public, max-age=31536000, immutable"
"""For what never changes under its URL."""
PRIVATE = "private"
"""For what may be kept a while by whom it is for: a calendar that an app reads again and again."""
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "X-DNS-Prefetch-Control": "off",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": ", ".join(
        [*(f"{feature}=()" for feature in _FEATURES.split()), "publickey-credentials-get=(self)"]
    ),
}


def allow_frame(url: str) -> None:
    """The page that answers this request may hold what is at this URL in a frame, and what is below it; no other page
    of ours may hold anything."""
    if _FRAMED.fullmatch(url) is None:
        raise ValueError(f"{url!r} can't stand in a policy")
    g.framed = url


def add_headers(response: Response) -> Response:
    """Every answer carries the headers; runs after every view, error handlers included."""
    is_held = response.headers.get("Content-Security-Policy") == HELD
    response.headers.update(HEADERS)
    if (framed := g.get("framed", "")) and response.status_code == HTTPStatus.OK:
        response.headers["Content-Security-Policy"] = f"{CONTENT_SECURITY_POLICY}; frame-src {framed}"
    if is_held:
        response.headers["Content-Security-Policy"] = HELD
    if response.headers.get("Cache-Control") not in (PRIVATE, FOR_GOOD):
        response.headers["Cache-Control"] = "no-cache" if request.endpoint == "static" else "no-store"
    return response
