"""Single HTTP requests to one server: to addresses that were checked, without cookies, and to no other host."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from typing import Literal, cast
from urllib.parse import urlsplit

from orchestrator.core.errors import BadInput, Forbidden, TooLarge, Unavailable
from orchestrator.mcp.faults import McpBroken, McpError
from orchestrator.web.body import READ_BYTES, FetchConnection, FetchDeadline, FetchLimits
from orchestrator.web.connector import CheckedConnector
from orchestrator.web.limits import Internet
from orchestrator.web.urls import Link, UrlRules, follow_redirect, parse_url

Method = Literal["GET", "POST", "DELETE"]
_REDIRECTS = frozenset({307, 308})
_MAX_REDIRECTS = 3
_CONNECT_S = 10.0
_NO_SILENCE_S = 3_600.0
_ALL_PORTS = frozenset(range(1, 65_536))
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_OWN_HEADERS = frozenset({"host", "connection", "content-length", "transfer-encoding", "cookie"})


class HttpReply:
    """One answer, whose body is still to be read."""

    def __init__(self, answer: HTTPResponse, host: str) -> None:
        self._answer, self._host = answer, host
        self.status = answer.status

    def header(self, name: str) -> str:
        """The header; empty without one."""
        return (self._answer.getheader(name) or "").strip()

    @property
    def content_type(self) -> str:
        """Without parameters, in lower case."""
        return self.header("Content-Type").partition(";")[0].strip().lower()

    def pieces(self) -> Iterator[bytes]:
        """The body as it comes. Raises McpBroken."""
        if self.header("Content-Encoding").lower() not in ("", "identity"):
            raise McpBroken(f"{self._host} packed its answer, which it was not asked to.")
        while piece := self._next():
            yield piece

    def _next(self) -> bytes:
        with _explained(self._host):
            return self._answer.read1(READ_BYTES)

    def body(self, max_bytes: int) -> bytes:
        """The whole body. Raises McpBroken."""
        whole = bytearray()
        for piece in self.pieces():
            whole += piece
            if len(whole) > max_bytes:
                raise McpBroken(f"{self._host} sent an answer of more than {max_bytes / (1 << 20):,.3g} MiB.")
        return bytes(whole)


class HttpWire:
    """The way to the server of one URL."""

    def __init__(
        self,
        url: str,
        internet: Internet,
        *,
        headers: Mapping[str, str],
        bearer: Callable[[], str] | None,
        is_private_allowed: bool,
        max_exchange: int,
    ) -> None:
        """``max_exchange``: bytes of one answer, with all that comes in it. Raises BadInput."""
        self._internet = internet
        self._headers, self._bearer = check_headers(headers), bearer
        self._rules = _rules_for(url, is_private_allowed=is_private_allowed)
        self._max_exchange = max_exchange
        self.link = parse_url(url, self._rules)

    def resolve(self, location: str) -> Link:
        """An address that the server gave, where it is its own. Raises McpBroken."""
        elsewhere = McpBroken(
            f"{self.link.host} sends on to another host, which is not followed. Add the server by its own address."
        )
        try:
            link = follow_redirect(self.link, location, self._rules)
        except BadInput:
            raise elsewhere from None
        if (link.scheme, link.host, link.port) != (self.link.scheme, self.link.host, self.link.port):
            raise elsewhere
        return link

    @contextmanager
    def send(
        self,
        method: Method,
        headers: Mapping[str, str],
        clock: FetchDeadline,
        *,
        body: bytes | None = None,
        link: Link | None = None,
        is_endless: bool = False,
    ) -> Iterator[HttpReply]:
        """Send one request; redirects within the host are followed. Raises McpError, and Stopped."""
        target = link or self.link
        for _ in range(_MAX_REDIRECTS + 1):
            with self._send_once(method, target, headers, body, clock, is_endless=is_endless) as reply:
                if reply.status not in _REDIRECTS or not reply.header("Location"):
                    yield reply
                    return
                target = self.resolve(reply.header("Location"))
        raise McpBroken(f"{self.link.host} sends on too often.")

    @contextmanager
    def _send_once(
        self,
        method: Method,
        link: Link,
        headers: Mapping[str, str],
        body: bytes | None,
        clock: FetchDeadline,
        *,
        is_endless: bool,
    ) -> Iterator[HttpReply]:
        limits = FetchLimits(
            file_bytes=1 << 50 if is_endless else self._max_exchange,
            connect_s=_CONNECT_S,
            silence_s=_NO_SILENCE_S,
            pace_bytes=0,
        )
        with _explained(link.host):
            sock, _ = CheckedConnector(self._internet.network, self._rules, limits, self._internet.tls, clock).connect(
                link
            )
        with sock:
            answer = HTTPResponse(cast("socket.socket", FetchConnection(sock, limits, clock)), method=method)
            try:
                with _explained(link.host):
                    sock.settimeout(clock.seconds_left())
                    sock.sendall(self._head(method, link, headers, body) + (body or b""))
                    answer.begin()
                yield HttpReply(answer, link.host)
            finally:
                answer.close()

    def _head(self, method: str, link: Link, headers: Mapping[str, str], body: bytes | None) -> bytes:
        fixed = {
            "Host": link.authority,
            "Connection": "close",
            "User-Agent": "HermitShell",
            "Accept-Encoding": "identity",
        }
        if body is not None:
            fixed |= {"Content-Length": str(len(body)), "Content-Type": "application/json"}
        if self._bearer is not None and (token := self._bearer()):
            fixed |= check_headers({"Authorization": f"Bearer {token}"})
        lines = [f"{name}: {value}" for name, value in {**fixed, **self._headers, **headers}.items()]
        return "\r\n".join([f"{method} {link.target} HTTP/1.1", *lines, "", ""]).encode("ascii")


def check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers, where a request can have them. Raises BadInput, which names none of their values."""
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or name.lower() in _OWN_HEADERS:
            raise BadInput(f"headers: {name!r} is no header that can be set.")
        if not value.isascii() or not value.isprintable():
            raise BadInput(f"headers: the value of {name} must be printable ASCII.")
    return dict(headers)


def _rules_for(url: str, *, is_private_allowed: bool) -> UrlRules:
    if not is_private_allowed:
        return UrlRules(ports=_ALL_PORTS)
    try:
        parts = urlsplit(url)
        port = parts.port or (80 if parts.scheme == "http" else 443)
    except ValueError:
        raise BadInput("The URL's host or port cannot be read.") from None
    return UrlRules.of_own_server(parts.scheme, port)


@contextmanager
def _explained(host: str) -> Iterator[None]:
    """What goes wrong on the way becomes an `McpBroken`."""
    try:
        yield
    except McpError:
        raise
    except TooLarge:
        raise McpBroken(f"{host} sent more for one call than is taken.") from None
    except (Unavailable, Forbidden) as error:
        raise McpBroken(error.message) from None
    except (HTTPException, OSError, ValueError):
        raise McpBroken(f"{host} broke off or sent no valid answer. Try again later.") from None
