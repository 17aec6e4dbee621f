"""What pages of a browser without a gate may ask for: every request is stopped, judged by its host, and goes on or
fails. What the protocol does not stop (names looked up, WebSockets, WebRTC) is not seen here."""

from __future__ import annotations

from urllib.parse import urlsplit

from orchestrator.browser.policy import RemoteRules

_OF_ITSELF = frozenset({"data", "blob", "about"})
"""Schemes by which nobody is asked."""
_PORTS = {"http": 80, "https": 443}


def refusal_of_request(rules: RemoteRules, url: str) -> tuple[str, str | None]:
    """The host of a request, and why it may not be made, or None. Rules that fail let nothing through."""
    place = place_of(url)
    if place is None:
        return "", None if url.partition(":")[0].lower() in _OF_ITSELF else "it is no address of the web"
    host, port = place
    return host, rules.may_reach(host, port) or rules.may_load(host)


def place_of(url: str) -> tuple[str, int] | None:
    """Host and port of an address of the web."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not host:
        return None
    return host, port or _PORTS[parts.scheme]
