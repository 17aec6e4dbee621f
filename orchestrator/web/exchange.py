"""One request to one checked address, and its answer: no redirects, no cookies, nothing read that is not bounded. For
messages of our own to a service that the operator chose or whose host is on a list.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import Literal, cast

from orchestrator.core.errors import BadInput, Unavailable
from orchestrator.web.body import FetchConnection, FetchDeadline, FetchLimits, read_unpacked
from orchestrator.web.connector import CheckedConnector
from orchestrator.web.limits import Internet
from orchestrator.web.urls import Link, UrlRules, parse_url

LIMITS = FetchLimits(file_bytes=64 * 1024, total_s=20.0, connect_s=8.0, silence_s=10.0)
_LONGEST_WAIT_S = 3600.0


@dataclass(frozen=True, slots=True)
class ServiceAnswer:
    """What the service said."""

    status: int
    retry_after_s: float = 0.0
    """So many seconds it wants to be left alone, an hour at most; 0 where it says nothing."""
    body: bytes = b""
    """Of an answer that was asked to be read, and that it gave with status 200, or with any."""


def send_request(
    method: Literal["GET", "POST"],
    link: Link,
    headers: Mapping[str, str],
    body: bytes | None = None,
    *,
    rules: UrlRules,
    internet: Internet,
    limits: FetchLimits = LIMITS,
    reads_body: bool = False,
    reads_failure: bool = False,
    is_stopped: Callable[[], bool] = lambda: False,
) -> ServiceAnswer:
    """Send it once. Raises BadInput (the link is against the rules), Forbidden (an address inside a private network
    that the rules don't allow), TooLarge (an answer over ``limits``), Stopped, and Unavailable for everything that the
    network does."""
    if parse_url(link.url, rules) != link:
        raise BadInput("The link was not read from its URL.")
    clock = FetchDeadline(limits.total_s, is_stopped)
    sock, _ = CheckedConnector(internet.network, rules, limits, internet.tls, clock).connect(link)
    with sock:
        answer = HTTPResponse(cast("socket.socket", FetchConnection(sock, limits, clock)), method=method)
        try:
            sock.settimeout(min(limits.connect_s, clock.seconds_left()))
            sock.sendall(_head(method, link, body, headers) + (body or b""))
            answer.begin()
            is_read = (reads_body and answer.status == 200) or reads_failure
            read = b"".join(read_unpacked(answer, limits)) if is_read else b""
            return ServiceAnswer(answer.status, _wait_s(answer.getheader("Retry-After") or ""), read)
        except (HTTPException, OSError, ValueError):
            raise Unavailable(f"{link.host} broke off or sent no valid answer. Try again later.") from None
        finally:
            answer.close()


def _head(method: str, link: Link, body: bytes | None, headers: Mapping[str, str]) -> bytes:
    fixed = {"Host": link.authority, "Connection": "close"}
    if body is not None:
        fixed["Content-Length"] = str(len(body))
    lines = [f"{name}: {value}" for name, value in {**fixed, **headers}.items()]
    return "\r\n".join([f"{method} {link.target} HTTP/1.1", *lines, "", ""]).encode("ascii")


def _wait_s(text: str) -> float:
    return min(float(text), _LONGEST_WAIT_S) if text.isdecimal() and len(text) < 10 else 0.0
