"""Fetching one approved link: look up once, check every address, connect to a checked one, follow few redirects.

The request is made of the link and fixed headers alone: no cookies, no referrer, no body, nothing of the agent's, and
neither proxies nor passwords from the environment. Owns no files: the bytes go to the writable that is given, and what
was written before an error is the caller's to throw away.
"""

from __future__ import annotations

import hashlib
import logging
import re
import socket
import ssl
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from typing import cast

import certifi

from orchestrator.core.errors import BadInput, Forbidden, Unavailable
from orchestrator.files.models import Writable
from orchestrator.web.body import FetchConnection, FetchDeadline, FetchLimits, read_unpacked, too_large
from orchestrator.web.connector import CheckedConnector
from orchestrator.web.ip_rules import Address
from orchestrator.web.network import Network, SystemNetwork
from orchestrator.web.urls import Link, UrlRules, follow_redirect, parse_url

logger = logging.getLogger(__name__)

USER_AGENT = "HermitShell"
_HEADERS = f"User-Agent: {USER_AGENT}\r\nAccept: */*\r\nAccept-Encoding: identity\r\nConnection: close\r\n"
"""The same for everybody. ``identity``: an archive shall arrive as the archive that it is."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CONTENT_TYPE = re.compile(r"[a-z0-9][a-z0-9.+_-]{0,60}/[a-z0-9][a-z0-9.+_-]{0,80}", re.ASCII)
_REFUSALS = {
    401: "wants a login for it",
    403: "does not give it out",
    404: "does not have it",
    410: "does not have it any more",
    429: "is asked too often; try again later",
}


class NewHost(Forbidden):
    """A redirect leads to a host that nobody has agreed to; it was not even looked up."""

    code = "new_host"

    def __init__(self, link: Link, before: Link) -> None:
        super().__init__(
            f"{before.readable_host} sends you on to another host, {link.host}, which needs an approval of its own."
        )
        self.link = link
        """What to ask for."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file that came whole."""

    link: Link
    """Where it came from in the end."""
    passed: tuple[Link, ...]
    """The links that sent on to it."""
    address: Address
    """What was connected to in the end."""
    sha256: str
    size_bytes: int
    content_type: str
    """What the server says it is, e.g. ``application/pdf``; empty when it says nothing sensible. A claim, no fact."""


def tls_context(ca_file: str | None = None) -> ssl.SSLContext:
    """Certificates and names are checked, against ``ca_file`` when one is set, else against certifi's list."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.load_verify_locations(cafile=ca_file or certifi.where())
    return context


class Fetcher:
    """Fetches links. Thread-safe: it keeps nothing between two calls."""

    def __init__(
        self,
        limits: FetchLimits | None = None,
        *,
        rules: UrlRules | None = None,
        network: Network | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._limits = limits or FetchLimits()
        self._rules = rules or UrlRules()
        self._network = network or SystemNetwork()
        self._tls = tls or tls_context()

    def fetch(
        self,
        link: Link,
        sink: Writable,
        *,
        other_hosts: Collection[str] = (),
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> Fetched:
        """Write what ``link`` holds to ``sink``; redirects within its host and to ``other_hosts`` (ASCII) are followed.

        Raises NewHost, BadInput (the link or a redirect is against the rules), Forbidden (an address inside a private
        network), TooLarge, Stopped, and Unavailable for everything that the server or the network does.
        """
        if parse_url(link.url, self._rules) != link:
            raise BadInput("The link was not read from its URL.")
        run = _Run(self._network, self._rules, self._limits, self._tls, FetchDeadline(self._limits.total_s, is_stopped))
        hosts, passed = {link.host, *other_hosts}, []
        while True:
            onwards = run.get(link, sink)
            if isinstance(onwards, _Kept):
                kept = onwards
                break
            passed.append(link)
            link = _checked_step(passed, onwards, hosts, self._rules, self._limits)
        return Fetched(link, tuple(passed), kept.address, kept.sha256, kept.size_bytes, kept.content_type)


@dataclass(frozen=True, slots=True)
class _Kept:
    address: Address
    sha256: str
    size_bytes: int
    content_type: str


def _checked_step(passed: list[Link], location: str, hosts: set[str], rules: UrlRules, limits: FetchLimits) -> Link:
    """Where the last of ``passed`` leads."""
    before = passed[-1]
    if len(passed) > limits.redirects:
        raise Unavailable(f"{before.host} sends in circles: more than {limits.redirects} redirects.")
    try:
        link = follow_redirect(before, location, rules)
    except BadInput as error:
        raise BadInput(f"{before.host} sends on to a URL that is not followed. {error.message}") from None
    if before.scheme == "https" and link.scheme == "http":
        raise BadInput(f"{before.host} sends on from https to http, where anybody could change the file.")
    if link.host not in hosts:
        raise NewHost(link, before)
    return link


class _Run:
    """One fetch."""

    def __init__(
        self, network: Network, rules: UrlRules, limits: FetchLimits, tls: ssl.SSLContext, clock: FetchDeadline
    ) -> None:
        self._connector = CheckedConnector(network, rules, limits, tls, clock)
        self._limits, self._clock = limits, clock

    def get(self, link: Link, sink: Writable) -> _Kept | str:
        """What was kept, or the location that it redirects to."""
        sock, address = self._connector.connect(link)
        with sock:
            answer = HTTPResponse(cast("socket.socket", FetchConnection(sock, self._limits, self._clock)), method="GET")
            try:
                with _explain_errors(link):
                    sock.settimeout(min(self._limits.connect_s, self._clock.seconds_left()))
                    sock.sendall(
                        f"GET {link.target} HTTP/1.1\r\nHost: {link.authority}\r\n{_HEADERS}\r\n".encode("ascii")
                    )
                    answer.begin()
                return self._location(answer, link) or self._keep(answer, link, sink, address)
            finally:
                answer.close()

    def _location(self, answer: HTTPResponse, link: Link) -> str | None:
        if answer.status not in _REDIRECTS:
            return None
        location = (answer.getheader("Location") or "").strip()
        if not location:
            raise Unavailable(f"{link.host} sends on without saying where to.")
        try:  # headers come as Latin-1; addresses are UTF-8 where they are not ASCII
            return location.encode("latin-1").decode("utf-8")
        except UnicodeError:
            raise Unavailable(f"{link.host} sends on to a place that cannot be read.") from None

    def _keep(self, answer: HTTPResponse, link: Link, sink: Writable, address: Address) -> _Kept:
        if answer.status != HTTPStatus.OK:
            raise Unavailable(_refusal_text(link, answer.status))
        if answer.length is not None and answer.length > self._limits.file_bytes:
            raise too_large(self._limits)
        digest, size_bytes = hashlib.sha256(), 0
        with _explain_errors(link):
            pieces = read_unpacked(answer, self._limits)
        while piece := _next_piece(pieces, link):
            digest.update(piece)
            size_bytes += len(piece)
            sink.write(piece)
        claimed = (answer.getheader("Content-Type") or "").partition(";")[0].strip().lower()
        content_type = claimed if _CONTENT_TYPE.fullmatch(claimed) else ""
        return _Kept(address, digest.hexdigest(), size_bytes, content_type)


def _next_piece(pieces: Iterator[bytes], link: Link) -> bytes:
    with _explain_errors(link):
        return next(pieces, b"")


@contextmanager
def _explain_errors(link: Link) -> Iterator[None]:
    """What goes wrong on the wire becomes a sentence; a failing sink is not inside."""
    try:
        yield
    except TimeoutError:
        raise Unavailable(f"{link.host} stopped answering. Try again later.") from None
    except (HTTPException, OSError, ValueError) as error:
        logger.info("fetch: %s: %s", link.host, type(error).__name__)
        raise Unavailable(f"{link.host} broke off or sent no valid answer. Try again later.") from None


def _refusal_text(link: Link, status: int) -> str:
    if status in _REFUSALS:
        return f"{link.host} {_REFUSALS[status]} (status {status})."
    blame = "has a problem of its own; try again later" if status >= 500 else "gave no file"
    return f"{link.host} {blame} (status {status})."
