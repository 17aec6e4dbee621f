"""One question to one checked address, answered with a JSON object: no redirects, no cookies, bounded in size and time.
For services whose address somebody set up, and whose answers are read as a stranger's all the same.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from typing import Any, cast
from urllib.parse import urlencode

from orchestrator.core.errors import BadInput, TooLarge, Unavailable
from orchestrator.core.strict_json import read_object
from orchestrator.web.body import FetchConnection, FetchDeadline, FetchLimits, read_unpacked
from orchestrator.web.connector import CheckedConnector
from orchestrator.web.limits import Internet
from orchestrator.web.urls import Link, UrlRules, parse_url

LIMITS = FetchLimits(file_bytes=256 * 1024, total_s=10.0, connect_s=5.0, silence_s=8.0)
_HEADERS = {"User-Agent": "HermitShell", "Accept": "application/json", "Accept-Encoding": "identity"}


@dataclass(frozen=True, slots=True)
class JsonAnswer:
    """What the service said."""

    status: int
    body: dict[str, Any]
    """Empty where a failure came without a JSON object."""

    @property
    def is_ok(self) -> bool:
        """It is what was asked for."""
        return self.status == HTTPStatus.OK


def ask_json(
    link: Link,
    *,
    rules: UrlRules,
    internet: Internet,
    form: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> JsonAnswer:
    """Get ``link``, or post ``form`` to it. Raises BadInput (the link is against the rules), Forbidden (an address that
    the rules don't allow), and Unavailable for everything else, an answer that is no JSON object among it."""
    if parse_url(link.url, rules) != link:
        raise BadInput("The link was not read from its URL.")
    clock = FetchDeadline(LIMITS.total_s, lambda: False)
    body = urlencode(form).encode() if form is not None else b""
    method = "GET" if form is None else "POST"
    sock, _ = CheckedConnector(internet.network, rules, LIMITS, internet.tls, clock).connect(link)
    with sock:
        answer = HTTPResponse(cast("socket.socket", FetchConnection(sock, LIMITS, clock)), method=method)
        try:
            sock.settimeout(min(LIMITS.connect_s, clock.seconds_left()))
            sock.sendall(_head(method, link, body, headers or {}) + body)
            answer.begin()
            return _read(answer, link)
        except TooLarge:
            raise Unavailable(f"{link.host} sent more than {LIMITS.file_bytes // 1024} kB.") from None
        except (HTTPException, OSError, ValueError):
            raise Unavailable(f"{link.host} broke off or sent no valid answer.") from None
        finally:
            answer.close()


def _head(method: str, link: Link, body: bytes, headers: Mapping[str, str]) -> bytes:
    fixed = {"Host": link.authority, "Connection": "close", **_HEADERS}
    if method == "POST":
        fixed |= {"Content-Type": "application/x-www-form-urlencoded", "Content-Length": str(len(body))}
    lines = [f"{name}: {value}" for name, value in {**fixed, **headers}.items()]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("a header would be two")
    return "\r\n".join([f"{method} {link.target} HTTP/1.1", *lines, "", ""]).encode("ascii")


def _read(answer: HTTPResponse, link: Link) -> JsonAnswer:
    if 300 <= answer.status < 400:
        raise Unavailable(f"{link.host} sends on to another address, which is not followed.")
    if answer.length is not None and answer.length > LIMITS.file_bytes:
        raise Unavailable(f"{link.host} sent more than {LIMITS.file_bytes // 1024} kB.")
    body = b"".join(read_unpacked(answer, LIMITS))
    try:
        return JsonAnswer(answer.status, read_object(body))
    except BadInput:
        if answer.status == HTTPStatus.OK:
            raise Unavailable(f"{link.host} did not answer with a JSON object.") from None
        return JsonAnswer(answer.status, {})
