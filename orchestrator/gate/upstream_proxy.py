"""The proxy by which this machine reaches the internet, where it has one: read from the environment as other programs
do. Pure."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit


@dataclass(frozen=True, slots=True)
class UpstreamProxy:
    """One proxy. ``repr`` shows no password."""

    host: str
    port: int
    authorization: str = field(default="", repr=False)
    """The value of ``Proxy-Authorization``; empty for none."""
    is_usable: bool = True
    """Its address is one that is understood; where it is not, nothing goes past it."""


@dataclass(frozen=True, slots=True)
class UpstreamProxies:
    """Which proxy, for what."""

    plain: UpstreamProxy | None = None
    tunnel: UpstreamProxy | None = None
    direct: tuple[str, ...] = ()
    """Hosts that are reached without one, as ``no_proxy`` has them."""

    def find(self, host: str, port: int, *, is_tunnel: bool) -> UpstreamProxy | None:
        """The proxy by which a host is reached; None for none."""
        if any(_is_named(entry, host, port) for entry in self.direct):
            return None
        return self.tunnel if is_tunnel else self.plain


def read_upstream_proxies(environment: Mapping[str, str]) -> UpstreamProxies:
    """What ``http_proxy``, ``https_proxy`` and ``no_proxy`` say, in small letters or capitals."""

    def value(name: str) -> str:
        return (environment.get(name) or environment.get(name.upper(), "")).strip()

    direct = tuple(part.strip().lower() for part in value("no_proxy").split(",") if part.strip())
    return UpstreamProxies(_read_proxy(value("http_proxy")), _read_proxy(value("https_proxy")), direct)


def _read_proxy(text: str) -> UpstreamProxy | None:
    if not text:
        return None
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        host, port = parts.hostname, parts.port or 80
    except ValueError:
        return UpstreamProxy("", 0, is_usable=False)
    if parts.scheme != "http" or not host:
        return UpstreamProxy("", 0, is_usable=False)
    owner = parts.netloc.rpartition("@")[0]
    secret = base64.b64encode(unquote(owner).encode()).decode() if owner else ""
    return UpstreamProxy(host.lower(), port, f"Basic {secret}" if secret else "")


def _is_named(entry: str, host: str, port: int) -> bool:
    """Whether an entry of ``no_proxy`` means the host: itself, or names below it."""
    if entry == "*":
        return True
    name, colon, wanted = entry.rpartition(":")
    if colon and wanted.isdecimal() and ":" not in name:
        entry = name
        if int(wanted) != port:
            return False
    entry = entry.strip("[]").removeprefix("*").lstrip(".")
    return bool(entry) and (host == entry or host.endswith(f".{entry}"))
