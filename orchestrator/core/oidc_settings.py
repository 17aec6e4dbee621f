"""Settings of a login by an OpenID Connect provider. Pure; the client's secret is among the secrets."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from orchestrator.core.errors import ConfigError

ISSUER, CLIENT, SECRET = "HERMIT_OIDC_ISSUER", "HERMIT_OIDC_CLIENT_ID", "HERMIT_OIDC_CLIENT_SECRET"
NAME, NEW_PEOPLE, GROUP = "HERMIT_OIDC_NAME", "HERMIT_OIDC_NEW_PEOPLE", "HERMIT_OIDC_GROUP"
USUAL_NAME = "single sign-on"
_MOST_CHARS = 300


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """Who else may say who somebody is."""

    issuer: str = ""
    """The provider, exactly as it calls itself; empty: there is none."""
    client_id: str = ""
    name: str = USUAL_NAME
    """What people call it."""
    makes_members: bool = False
    """Somebody who is not known here becomes a member when they come in."""
    group: str = ""
    """Only people in this group come in by the provider; empty: whoever it lets in."""

    @property
    def is_on(self) -> bool:
        """There is a provider."""
        return bool(self.issuer)


def parse_oidc(values: Mapping[str, str]) -> OidcSettings:
    """What the settings say of it. Raises ConfigError that names the setting."""
    issuer, client = values.get(ISSUER, "").strip(), values.get(CLIENT, "").strip()
    if not issuer:
        for name in (CLIENT, SECRET, NAME, NEW_PEOPLE, GROUP):
            if values.get(name, "").strip():
                raise ConfigError(f"{name} is set, but {ISSUER} is not. Set it to the provider's address.")
        return OidcSettings()
    _check_issuer(issuer)
    if not client:
        raise ConfigError(f"{CLIENT} is missing. Set it to the id that the provider gave this application.")
    group, new_people = values.get(GROUP, "").strip(), values.get(NEW_PEOPLE, "").strip().lower()
    if new_people not in ("", "no", "members"):
        raise ConfigError(f"{NEW_PEOPLE} is {new_people[:40]!r}; it must be no or members.")
    for name, value in ((CLIENT, client), (NAME, values.get(NAME, "")), (GROUP, group)):
        if len(value) > _MOST_CHARS:
            raise ConfigError(f"{name} is too long: at most {_MOST_CHARS} characters.")
    name = values.get(NAME, "").strip() or USUAL_NAME
    return OidcSettings(issuer, client, name, new_people == "members" or (bool(group) and not new_people), group)


def may_be_plain(url: str) -> bool:
    """The address is one of this machine, where nobody reads on the way."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _check_issuer(issuer: str) -> None:
    bad = ConfigError(
        f"{ISSUER} is {issuer[:100]!r}; it must be the provider's https address, such as https://auth.example.org/."
    )
    try:
        parts = urlsplit(issuer)
        port = parts.port
    except ValueError:
        raise bad from None
    is_plain = parts.scheme == "http" and may_be_plain(issuer)
    if not (parts.scheme == "https" or is_plain) or not parts.hostname or port == 0 or len(issuer) > _MOST_CHARS:
        raise bad
    if parts.query or parts.fragment or parts.username or parts.password or any(char.isspace() for char in issuer):
        raise bad
