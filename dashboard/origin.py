"""Whose page sends a request. A browser says so in Origin and Sec-Fetch-Site, which no page can forge; a form on a
page without referrer says ``Origin: null``, and then Sec-Fetch-Site has to vouch for it.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import request
from werkzeug.datastructures import Headers

from orchestrator.core.errors import Forbidden

_OURS = ("same-origin", "none")


def is_https() -> bool:
    """The browser came by https, to us or to a proxy in front of us.

    A client may lie about the proxy: it then gets a stricter cookie and a stricter check, nothing else.
    """
    return request.is_secure or request.headers.get("X-Forwarded-Proto", "") == "https"


def own_origin(public_url: str) -> str:
    """How the browser calls us: under the public name what the operator said, else what it asked for itself. The host
    was checked before (``hosts``)."""
    host = str(request.environ["HTTP_HOST"]).lower()
    if public_url and urlsplit(f"//{host}").hostname == urlsplit(public_url).hostname:
        return public_url
    return f"{'https' if is_https() else 'http'}://{host}"


def check_not_foreign() -> None:
    """Refuse what another site's page sends, whoever it speaks for."""
    if _is_foreign(request.headers):
        raise Forbidden("Another site's page sent this request, so nothing was done.")


def check_own() -> None:
    """Refuse a change unless our own page asks for it; raises Forbidden."""
    check_not_foreign()
    if not _says_own(request.headers):
        raise Forbidden(
            "The browser did not say that this page sent the request, so nothing was done. Reload the page and try "
            "again; a program should use an API token."
        )


def is_own(origin: str, host: str, *, https: bool) -> bool:
    """``origin`` is that of the pages that are served under ``host``. Never an http page for an https one."""
    try:
        parts = urlsplit(origin)
        port, own = parts.port, urlsplit(f"//{host}")
        if parts.scheme not in ("https", "http") or (https and parts.scheme != "https"):
            return False
        default = 443 if parts.scheme == "https" else 80
        return parts.hostname is not None and (parts.hostname, port or default) == (
            own.hostname,
            own.port or default,
        )
    except ValueError:  # a port that is no number
        return False


def _is_foreign(headers: Headers) -> bool:
    origin = headers.get("Origin", "")
    if headers.get("Sec-Fetch-Site", "same-origin") not in _OURS and (origin or request.method not in ("GET", "HEAD")):
        return True
    return origin not in ("", "null") and not is_own(origin, request.environ["HTTP_HOST"], https=is_https())


def _says_own(headers: Headers) -> bool:
    origin = headers.get("Origin", "")
    if origin in ("", "null"):
        return headers.get("Sec-Fetch-Site") == "same-origin"
    return is_own(origin, request.environ["HTTP_HOST"], https=is_https())
