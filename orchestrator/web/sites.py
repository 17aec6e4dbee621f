"""Sites: what a person allows when they let a page be opened. A site is a host without ``www.``, with all names below
it; never what is above, so that one page of a shared host allows no other. Pure.
"""

from __future__ import annotations

from orchestrator.core.errors import BadInput
from orchestrator.web.urls import parse_url


def site_of(host: str) -> str:
    """The site of a host, in ASCII and lower case."""
    bare = host.removeprefix("www.")
    return bare if "." in bare else host


def is_within(host: str, site: str) -> bool:
    """The host is the site's own, or below it."""
    return host == site or host.endswith(f".{site}")


def find_site(host: str, sites: frozenset[str]) -> str:
    """The longest of these sites that a host is within; empty for none."""
    return max((site for site in sites if is_within(host, site)), key=len, default="")


def read_site(text: str) -> str | None:
    """A site as a person writes it; None for what is none."""
    host = _read_host(text)
    return None if host is None else site_of(host)


def read_companion(host: str, site: str) -> str | None:
    """``HOST with SITE``: what pages of the site may load from the host; None for what are no hosts."""
    loaded, loading = _read_host(host), read_site(site)
    return None if loaded is None or loading is None else f"{loaded} with {loading}"


def _read_host(text: str) -> str | None:
    try:
        link = parse_url(f"https://{text.strip()}/")
    except BadInput:
        return None
    return link.host if link.url == f"https://{link.host}/" else None
