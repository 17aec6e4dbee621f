"""Which addresses may be opened at all, for agents and people alike. Pure."""

from __future__ import annotations

from orchestrator.browser.tabs import host_of
from orchestrator.capabilities.browser.known_hosts import is_measuring
from orchestrator.core.errors import BadInput
from orchestrator.web.urls import DEFAULT_PORTS, Link, UrlRules, parse_url

_MEASURES = "{host} measures people or advertises. It is kept from every page."


def read_address(url: str, private_hosts: frozenset[tuple[str, int]], *, field: str = "url") -> Link:
    """The address's parts. ``private_hosts`` are of a private network, with the port: the operator named them;
    ``field`` is what the caller calls it. Raises BadInput."""
    ports = frozenset({*DEFAULT_PORTS.values(), *(port for _, port in private_hosts)})
    link = parse_url(url, UrlRules(plain_http=True, ports=ports, local_names=bool(private_hosts)))
    if (link.host, link.port) not in private_hosts:
        link = parse_url(url, UrlRules(plain_http=True))
        if link.address is not None:
            raise BadInput(f"{field}: write the name of a host, not an address.")
    if is_measuring(link.host):
        raise BadInput(f"{field}: " + _MEASURES.format(host=link.host))
    return link


def host_in(url: str) -> str:
    """The host of an address that the browser tells of; empty for none."""
    return host_of(url) if url.startswith(("http://", "https://")) else ""
