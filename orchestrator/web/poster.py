"""Posting a few bytes to one checked address: no redirects, no cookies, nothing of the answer but its status and how
long it asks us to wait. For messages of our own to a service whose host is on a list.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import cast

from orchestrator.core.errors import BadInput, Unavailable
from orchestrator.web.body import FetchConnection, FetchDeadline, FetchLimits
from orchestrator.web.connector import CheckedConnector
from orchestrator.web.limits import Internet
from orchestrator.web.urls import Link, UrlRules, parse_url

LIMITS = FetchLimits(file_bytes=64 * 1024, total_s=20.0, connect_s=8.0, silence_s=10.0)
_LONGEST_WAIT_S = 3600.0


@dataclass(frozen=True, slots=True)
class PostAnswer:
    """What the service said."""

    status: int
    retry_after_s: float = 0.0
    """So many seconds it wants to be left alone, an hour at most; 0 where it says nothing."""


def post_bytes(
    link: Link, body: bytes, headers: Mapping[str, str], *, rules: UrlRules, internet: Internet
) -> PostAnswer:
    """Post ``body`` to ``link``, once. Raises BadInput (the link is against the rules), Forbidden (an address inside a
    private network that the rules don't allow), and Unavailable for everything that the network does."""
    if parse_url(link.url, rules) != link:
        raise BadInput("The link was not read from its URL.")
    clock = FetchDeadline(LIMITS.total_s, lambda: False)
    sock, _ = CheckedConnector(internet.network, rules, LIMITS, internet.tls, clock).connect(link)
    with sock:
        answer = HTTPResponse(cast("socket.socket", FetchConnection(sock, LIMITS, clock)), method="POST")
        try:
            sock.settimeout(min(LIMITS.connect_s, clock.seconds_left()))
            sock.sendall(_head(link, len(body), headers) + body)
            answer.begin()
            return PostAnswer(answer.status, _wait_s(answer.getheader("Retry-After") or ""))
        except (HTTPException, OSError, ValueError):
            raise Unavailable(f"{link.host} broke off or sent no valid answer. Try again later.") from None
        finally:
            answer.close()


def _head(link: Link, size_bytes: int, headers: Mapping[str, str]) -> bytes:
    fixed = {"Host": link.authority, "Content-Length": str(size_bytes), "Connection": "close"}
    lines = [f"{name}: {value}" for name, value in {**fixed, **headers}.items()]
    return "\r\n".join([f"POST {link.target} HTTP/1.1", *lines, "", ""]).encode("ascii")


def _wait_s(text: str) -> float:
    return min(float(text), _LONGEST_WAIT_S) if text.isdecimal() and len(text) < 10 else 0.0
