"""The push services that notifications are posted to: those of the browsers' makers, and what the operator added. A
subscription's address is whatever a browser says, so no other host is ever looked up or connected to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from orchestrator.core.errors import BadInput
from orchestrator.web.urls import DEFAULT_PORTS, Link, UrlRules, parse_url

KNOWN = ("fcm.googleapis.com",)
"""Chrome, Edge on Android, Brave, Opera, Samsung Internet."""
KNOWN_BELOW = (".push.services.mozilla.com", ".push.apple.com", ".notify.windows.com")
"""Firefox; Safari and everything on iPhones; Edge."""
_PUBLIC = UrlRules(ports=frozenset({443}))


@dataclass(frozen=True, slots=True)
class PushHosts:
    """Where we may post."""

    added: tuple[str, ...] = field(default=())
    """Origins of the operator's own choice (``HERMIT_PUSH_HOSTS``); these alone may be in a private network."""

    def read_endpoint(self, text: str) -> tuple[Link, UrlRules]:
        """The address of a subscription, and the rules under which it may be connected to. Raises BadInput."""
        rules = self._rules_of(text)
        link = parse_url(text, rules)
        if rules is _PUBLIC and not _is_known(link.host):
            raise BadInput(
                f"endpoint: {link.host} is no push service that HermitShell knows. Add it to HERMIT_PUSH_HOSTS if you "
                "trust it."
            )
        return link, rules

    def _rules_of(self, text: str) -> UrlRules:
        try:
            parts = urlsplit(text)
            origin = (parts.scheme, (parts.hostname or "").lower(), parts.port or DEFAULT_PORTS.get(parts.scheme))
        except ValueError:  # a port that is none: the strict reader says so
            return _PUBLIC
        for own in map(urlsplit, self.added):
            port = own.port or DEFAULT_PORTS[own.scheme]
            if origin == (own.scheme, own.hostname, port):
                return UrlRules.of_own_server(own.scheme, port)
        return _PUBLIC


def _is_known(host: str) -> bool:
    return host in KNOWN or host.endswith(KNOWN_BELOW)
