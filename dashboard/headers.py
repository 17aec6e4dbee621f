"""What every answer tells the browser: load from us alone, run no inline script, sit in nobody's frame, tell nobody
where one comes from, keep nothing. There is no CORS header anywhere.
"""

from __future__ import annotations

import re
from http import HTTPStatus

from flask import Response, g, request

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HELD = "sandbox; default-src 'none'; frame-ancestors 'none'"
"""For a file that somebody else made: it may be looked at, and nothing in it runs or loads."""
HELD_BY_US = "frame-ancestors 'self'"
"""In the policy of the one document of ours that pages of ours hold in a frame, in a sandbox: diagrams."""
_FEATURES = (
    "accelerometer autoplay camera display-capture fullscreen geolocation gyroscope hid idle-detection "
    "magnetometer microphone midi payment screen-wake-lock serial usb "
    "xr-spatial-tracking"
)
_FRAMED = re.compile(r"https?://[A-Za-z0-9.:\[\]_-]+/[A-Za-z0-9._/-]*", re.ASCII)
"""What may stand in a policy as it is."""
_DRAWN = "hermitshell.diagrams"
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
    """The page that answers this request may hold what is at this URL in a frame, and what is below it where it ends in
    a slash; no other page of ours may hold anything."""
    if _FRAMED.fullmatch(url) is None:
        raise ValueError(f"{url!r} can't stand in a policy")
    g.framed = url


def allow_diagrams(url: str) -> None:
    """The page that answers this request may hold the frame at this URL, in which diagrams are drawn."""
    if _FRAMED.fullmatch(url) is None:
        raise ValueError(f"{url!r} can't stand in a policy")
    request.environ[_DRAWN] = url


def add_headers(response: Response) -> Response:
    """Every answer carries the headers; runs after every view, error handlers included."""
    own = response.headers.get("Content-Security-Policy", "")
    response.headers.update(HEADERS)
    framed = " ".join(filter(None, (g.get("framed", ""), request.environ.get(_DRAWN, ""))))
    if framed and response.status_code == HTTPStatus.OK:
        response.headers["Content-Security-Policy"] = f"{CONTENT_SECURITY_POLICY}; frame-src {framed}"
    if own == HELD or own.endswith(HELD_BY_US):
        response.headers["Content-Security-Policy"] = own
    if own.endswith(HELD_BY_US):
        response.headers["X-Frame-Options"] = "SAMEORIGIN"
    if response.headers.get("Cache-Control") not in (PRIVATE, FOR_GOOD):
        response.headers["Cache-Control"] = "no-cache" if request.endpoint == "static" else "no-store"
    return response
