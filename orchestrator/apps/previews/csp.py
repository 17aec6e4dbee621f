"""What an app may do in a browser, as the headers of every answer of the preview origin. Pure.

An app is a page that a stranger wrote. It runs in an opaque origin (``sandbox``), so nothing of the dashboard or of
another app is its own; it may load from its own URL alone, path included, so it can tell nobody anything; and it may
be held by the one dashboard that its ticket names.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache

SANDBOX = "allow-scripts allow-forms allow-pointer-lock"
"""Of the frame and of the document alike. Neither ``allow-same-origin`` nor popups, top navigation or downloads."""
_FEATURES = (
    "accelerometer autoplay browsing-topics camera clipboard-read clipboard-write display-capture "
    "encrypted-media fullscreen gamepad geolocation gyroscope hid identity-credentials-get idle-detection "
    "interest-cohort local-fonts magnetometer microphone midi otp-credentials payment publickey-credentials-create "
    "publickey-credentials-get screen-wake-lock serial storage-access usb window-management "
    "xr-spatial-tracking"
)
_ALLOWED_FEATURES = frozenset({"autoplay", "fullscreen", "gamepad"})
"""What a game needs and what tells nobody anything."""


@cache
def _features() -> str:
    return ", ".join(f"{feature}=({'self' if feature in _ALLOWED_FEATURES else ''})" for feature in _FEATURES.split())


@lru_cache(maxsize=256)
def security_policy(base: str, dashboard: str, *, has_server: bool = False) -> str:
    """The Content-Security-Policy of an app at ``base`` (``http://localhost:3001/a/TICKET/``), which the dashboard's
    origin may hold. Where files alone are served nobody takes what a form sends; scripts may read it all the same."""
    own, served = base, base if has_server else "'none'"
    sockets = "ws" + base.removeprefix("http")  # wss for https
    return "; ".join(
        (
            f"sandbox {SANDBOX}",
            "default-src 'none'",
            f"script-src {own} 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' blob: data:",
            f"style-src {own} 'unsafe-inline' blob: data:",
            f"img-src {own} data: blob:",
            f"media-src {own} data: blob:",
            f"font-src {own} data:",
            f"connect-src {own} {sockets} data: blob:",
            f"worker-src {own} blob:",
            f"frame-src {own}",
            f"manifest-src {own}",
            "object-src 'none'",
            f"form-action {served}",
            f"base-uri {served}",
            f"frame-ancestors {dashboard}",
            "webrtc 'block'",
        )
    )


def held_policy(dashboard: str = "'none'") -> str:
    """For pages of the install itself on this origin: nothing runs or loads but their own style."""
    return f"sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors {dashboard}"


def for_kind(found: Mapping[str, str], kind: str) -> Mapping[str, str]:
    """The headers for an answer of this type. Documents that are no HTML are looked at, and nothing in them runs: the
    install's own script can't be the first in them."""
    plain = kind.partition(";")[0].strip().lower()
    if not plain.endswith(("/xml", "+xml")):
        return found
    return {**found, "Content-Security-Policy": f"{found['Content-Security-Policy']}, sandbox; script-src 'none'"}


def policy_headers(policy: str, *, reach: str = "") -> Mapping[str, str]:
    """All that goes with every answer; ``reach`` is the one address below which it may connect to anything."""
    return {
        "Content-Security-Policy": policy,
        "Connection-Allowlist": _connections(reach),
        "X-Content-Type-Options": "nosniff",
        "X-DNS-Prefetch-Control": "off",
        "Referrer-Policy": "no-referrer",
        "Permissions-Policy": _features(),
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "cross-origin",
        # An opaque origin is foreign even to its own files, and says null; pages of sites with a name read nothing.
        # There are no cookies here that this could give away, and whoever knows the URL holds the ticket.
        "Access-Control-Allow-Origin": "null",
    }


def _connections(reach: str) -> str:
    """The same once more for browsers that know ``Connection-Allowlist``: there it also ends WebRTC and what is looked
    up or connected to in advance, which a Content-Security-Policy can't."""
    if not reach:
        return "()"
    return f'("{reach}*" "ws{reach.removeprefix("http")}*");redirects=allow'
