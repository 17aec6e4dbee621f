"""What an app may do in a browser, as the headers of every answer of the preview origin. Pure.

An app is a page that a stranger wrote. It runs in an opaque origin (``sandbox``), so nothing of the dashboard or of
another app is its own; it may load from its own URL alone, path included, so it can tell nobody anything; and it may
be held by the one dashboard that its ticket names.
"""

from __future__ import annotations

from collections.abc import Mapping

SANDBOX = "allow-scripts allow-forms allow-pointer-lock"
"""Of the frame and of the document alike. Neither ``allow-same-origin`` nor popups, top navigation or downloads."""
_FEATURES = (
    "accelerometer autoplay bluetooth browsing-topics camera clipboard-read clipboard-write display-capture "
    "encrypted-media fullscreen gamepad geolocation gyroscope hid identity-credentials-get idle-detection "
    "interest-cohort local-fonts magnetometer microphone midi otp-credentials payment publickey-credentials-create "
    "publickey-credentials-get screen-wake-lock serial storage-access usb web-share window-management "
    "xr-spatial-tracking"
)
_ALLOWED_FEATURES = frozenset({"autoplay", "fullscreen", "gamepad"})
"""What a game needs and what tells nobody anything."""


def security_policy(base: str, dashboard: str) -> str:
    """The Content-Security-Policy of an app at ``base`` (``http://localhost:3001/a/TICKET/``), which the dashboard's
    origin may hold."""
    own = base
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
            f"form-action {own}",
            f"base-uri {own}",
            f"frame-ancestors {dashboard}",
            "webrtc 'block'",
        )
    )


def held_policy(dashboard: str = "'none'") -> str:
    """For pages of the house itself on this origin: nothing runs or loads but their own style."""
    return f"sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors {dashboard}"


def headers(policy: str) -> Mapping[str, str]:
    """All that goes with every answer."""
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "X-DNS-Prefetch-Control": "off",
        "Referrer-Policy": "no-referrer",
        "Permissions-Policy": ", ".join(
            f"{feature}=({'self' if feature in _ALLOWED_FEATURES else ''})" for feature in _FEATURES.split()
        ),
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "cross-origin",
        # An opaque origin is foreign even to its own files. There are no cookies here that this could give away, and
        # whoever knows the URL holds the ticket.
        "Access-Control-Allow-Origin": "*",
        "Origin-Agent-Cluster": "?1",
    }
