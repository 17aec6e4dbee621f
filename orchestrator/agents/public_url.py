"""Where other people find the dashboard: the address that their login links begin with.

``HERMIT_PUBLIC_URL`` comes first, then what the operator chose once, then how the operator's own browser came, and last
the address that only this machine can open.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from orchestrator.agents.install_settings import ADDRESS, InstallSettings
from orchestrator.core.config import Settings
from orchestrator.core.errors import BadInput, Conflict

OTHERS_LINK_S = 24 * 3600
"""How long a login link for somebody else is good: it has to reach them first."""
_FORM = "address: write how a browser opens the dashboard, without a path, such as http://nas.local:3000."


def get_public_url(settings: Settings, install_settings: InstallSettings, *, came_by: str = "") -> str:
    """What links for other people begin with; ``came_by`` is the origin under which somebody sees the dashboard now."""
    chosen = settings.public_url or install_settings.list_settings().get(ADDRESS, "")
    if chosen:
        return chosen
    return came_by if came_by and not is_local(came_by) else settings.link_url


def is_local(url: str) -> bool:
    """Only a browser on this machine can open it."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return host == "localhost" or host.endswith(".localhost")


def set_public_url(settings: Settings, install_settings: InstallSettings, text: str, *, by: str) -> None:
    """Links for other people begin with this from now on; empty: as if nobody had chosen. Raises BadInput, or Conflict
    where the settings say it."""
    if settings.public_url:
        raise Conflict("The address is set by HERMIT_PUBLIC_URL, which comes first. Change it there.")
    chosen = _check_url(text.strip(), settings) if text.strip() else ""
    said = f"Login links for others begin with {chosen} now." if chosen else "No address for login links."
    install_settings.save_setting(ADDRESS, chosen, said, by=by)


def _check_url(text: str, settings: Settings) -> str:
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # a bracket or a port that is none
        raise BadInput(_FORM) from None
    is_plain = parts.path in ("", "/") and not (parts.query or parts.fragment or parts.username or parts.password)
    if parts.scheme not in ("http", "https") or not host or port == 0 or not is_plain or len(text) > 300:
        raise BadInput(_FORM)
    if host not in settings.allowed_hosts:
        raise BadInput(
            f"address: HermitShell doesn't answer to {host[:100]} yet. Add it to HERMIT_ALLOWED_HOSTS and restart."
        )
    name = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{name}:{port}" if port else f"{parts.scheme}://{name}"
