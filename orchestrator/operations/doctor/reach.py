"""Examines whether a phone can open the dashboard, and whether it can get notifications there: browsers allow those
over https alone, and on the machine itself.
"""

from __future__ import annotations

from orchestrator.core.config import Settings
from orchestrator.core.finding import Finding, ok, warn

PHONE = "phone"


def examine_reach(settings: Settings) -> Finding:
    """An https address is there, or what is missing and how to get it."""
    ways = f"Tailscale ('tailscale serve --bg {settings.port}'), Caddy or a Cloudflare Tunnel"
    if settings.public_url.startswith("https://"):
        return ok(PHONE, f"A phone opens {settings.public_url}, and can get notifications there.")
    if settings.public_url or settings.is_in_the_open:
        return warn(
            PHONE,
            "A phone can open the dashboard, but without https it gets no notifications and it is no app there.",
            f"Get an https address by {ways}, and set HERMIT_PUBLIC_URL to it: docs/running.md, Beyond this machine.",
        )
    return ok(
        PHONE,
        "Only this computer opens the dashboard, and its own browsers can get notifications. For a phone, get an https "
        f"address by {ways}, and set HERMIT_PUBLIC_URL to it: docs/running.md, Beyond this machine.",
    )
