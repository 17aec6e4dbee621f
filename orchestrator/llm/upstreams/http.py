"""HTTP to one provider: a kept pool of connections, and one exchange (request and answer) at a time on each.

Owns timeouts, size caps, certificates and the sentences for what can go wrong on the wire. It never retries, never
follows a redirect, never reads a proxy or a key from the environment, and nothing that the provider wrote gets into an
error text.
"""

from __future__ import annotations

import logging
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit

import certifi
import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NameResolutionError,
    NewConnectionError,
    ReadTimeoutError,
    SSLError,
)

from orchestrator.errors import ConfigError, Stopped, UpstreamFailed
from orchestrator.llm.upstreams.refusals import Provider, failure_of_status

logger = logging.getLogger(__name__)

KEPT_CONNECTIONS = 64
CONNECT_TIMEOUT_S = 10.0
IDLE_TIMEOUT_S = 120.0
"""The longest silence of a provider that thinks."""
TOTAL_TIMEOUT_S = 600.0
MAX_ANSWER_BYTES = 16 * 1024 * 1024
DRAIN_TIMEOUT_S = 0.2
"""How long the end of an answer that we have whole may take to arrive; else the connection is not worth keeping."""
DRAIN_BYTES = 64 * 1024
READ_BYTES = 64 * 1024

_under_way: ContextVar[Exchange | None] = ContextVar("_under_way", default=None)
"""The exchange that this thread is sending: urllib3 chooses the connection, and ``Exchange.close`` has to know it."""


class _Held:
    """What both kinds of connection add to urllib3's: they tell the exchange which socket it is on."""

    sock: socket.socket | None

    def connect(self) -> None:
        super().connect()  # type: ignore[misc]  # a mix-in: the connection classes below have it
        self._tell()

    def request(self, *args: Any, **kwargs: Any) -> None:
        self._tell()
        super().request(*args, **kwargs)  # type: ignore[misc]  # as above

    def _tell(self) -> None:
        exchange = _under_way.get()
        if exchange is not None and self.sock is not None:
            exchange.hold(self.sock)


class _PlainConnection(_Held, HTTPConnection):
    """HTTP."""


class _TlsConnection(_Held, HTTPSConnection):
    """HTTPS."""


class _PlainPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _PlainConnection


class _TlsPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


def tls_context(ca_file: str | None = None) -> ssl.SSLContext:
    """Certificates and host names are checked, against ``ca_file`` when one is set, else against certifi's list."""
    context = urllib3.util.ssl_.create_urllib3_context()
    try:
        context.load_verify_locations(cafile=ca_file or certifi.where())
    except (OSError, ssl.SSLError):
        raise ConfigError("The file with certificates (SSL_CERT_FILE) cannot be read. Check its path.") from None
    return context


class Endpoint:
    """Where a provider answers. Thread-safe."""

    def __init__(
        self,
        base_url: str,
        provider: Provider,
        *,
        tls: ssl.SSLContext | None = None,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        idle_timeout_s: float = IDLE_TIMEOUT_S,
        total_timeout_s: float = TOTAL_TIMEOUT_S,
    ) -> None:
        scheme, host, port, self._path, self._query = _split(base_url, provider.name)
        self.provider = provider
        self.host = host
        self.idle_timeout_s = idle_timeout_s
        self.total_timeout_s = total_timeout_s
        self._timeout = urllib3.Timeout(connect=connect_timeout_s, read=idle_timeout_s)
        self._pool: urllib3.HTTPConnectionPool
        if scheme == "https":
            self._pool = _TlsPool(host, port, maxsize=KEPT_CONNECTIONS, ssl_context=tls or tls_context())
        else:
            self._pool = _PlainPool(host, port, maxsize=KEPT_CONNECTIONS)
        # urllib3 would log headers that it cannot read as they came; a provider may have echoed the key in them.
        logging.getLogger("urllib3.connection").setLevel(logging.CRITICAL)

    def __repr__(self) -> str:
        return f"Endpoint({self.provider.name} at {self.host})"

    def open(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> urllib3.BaseHTTPResponse:
        """The answer's head, whatever its status; urllib3's errors as they are."""
        return self._pool.urlopen(
            method,
            self._path + path + self._query,
            body,
            headers,
            retries=False,
            redirect=False,
            timeout=self._timeout,
            preload_content=False,
            decode_content=False,
        )

    def close(self) -> None:
        """No kept connection is left."""
        self._pool.close()


class Exchange:
    """One request and its answer. ``close`` may come from any thread at any time, the rest belongs to one thread."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._guard = threading.Lock()  # over _socket and _is_closed, between the reader and whoever closes
        self._inside = threading.Lock()  # held within the response, which urllib3 does not make thread-safe
        self._socket: socket.socket | None = None
        self._is_closed = False
        self._response: urllib3.BaseHTTPResponse | None = None
        self._deadline = time.monotonic() + endpoint.total_timeout_s

    def hold(self, sock: socket.socket) -> None:
        """Called by the connection as soon as it has a socket, so that ``close`` can shut it before any answer came."""
        with self._guard:
            self._socket = sock
            sock.settimeout(self._endpoint.idle_timeout_s)  # a kept one may still be in the hurry of its last answer
            if self._is_closed:
                _shut(sock)

    def send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> int:
        """Send the request; returns the status when the answer's head is there."""
        token = _under_way.set(self)
        try:
            with self._inside:
                self._response = self._endpoint.open(method, path, body, headers)
        except (HTTPError, HTTPException, OSError, ValueError) as error:
            raise self._explain(error) from None  # urllib3's error could carry what was sent
        finally:
            _under_way.reset(token)
        if self._is_closed:
            self.drop()  # whoever closed could not: there was no response yet
        self._raise_if_closed()
        return self._response.status

    @property
    def is_done(self) -> bool:
        """It holds no connection: the answer was read to its end, or nothing was sent, or it was closed."""
        return self._socket is None

    def header(self, name: str) -> str:
        """One header of the answer, or an empty text."""
        return self._response.headers.get(name, "") if self._response is not None else ""

    def failure(self, status: int) -> UpstreamFailed:
        """The sentence for a status that is no answer."""
        return failure_of_status(self._endpoint.provider, status, self.header, host=self._endpoint.host)

    def pieces(self) -> Iterator[bytes]:
        """The answer's body as it arrives, within the caps of size and time."""
        total = 0
        while piece := self._read():
            total += len(piece)
            if total > MAX_ANSWER_BYTES:
                raise self.broken("sent far more than an answer can hold", may_retry=False)
            yield piece

    def whole(self, limit: int = MAX_ANSWER_BYTES) -> bytes:
        """The whole body, cut off behind ``limit`` bytes."""
        body = bytearray()
        for piece in self.pieces():
            body += piece
            if len(body) >= limit:
                break
        return bytes(body[:limit])

    def hurry(self, timeout_s: float) -> None:
        """From now on wait for the next byte no longer than this."""
        with self._guard:
            if self._socket is not None and self._socket.fileno() >= 0:
                self._socket.settimeout(timeout_s)

    def finish(self) -> None:
        """We know enough: read the answer's last bytes so that the connection can serve again, else drop it."""
        self.hurry(DRAIN_TIMEOUT_S)
        left = DRAIN_BYTES
        try:
            while left > 0 and (piece := self._read()):
                left -= len(piece)
        except (UpstreamFailed, Stopped):
            left = 0
        if left <= 0:
            self.drop()

    def drop(self) -> None:
        """Give up the answer at hand with its connection, but not the exchange: it may send again."""
        if self._response is not None:
            with self._inside:
                self._response.close()
        self._let_go()

    def close(self) -> None:
        """The connection is gone when this returns, and a reader that waits for it wakes."""
        with self._guard:
            self._is_closed = True
            sock, self._socket = self._socket, None
        if sock is not None:
            _shut(sock)
        # A reader was woken by the shutdown and leaves at once; one that still connects closes for itself.
        if self._response is not None and self._inside.acquire(timeout=1.0):
            try:
                self._response.close()
            finally:
                self._inside.release()

    def broken(self, what: str, *, may_retry: bool) -> UpstreamFailed:
        """The sentence for an answer that is none: ``The provider NAME {what}.``"""
        text = f"The provider {self._endpoint.provider.name} {what}."
        return UpstreamFailed(text, may_retry=may_retry, may_have_cost=True)

    def _read(self) -> bytes:
        if self._response is None:
            raise RuntimeError("read before send")
        if time.monotonic() > self._deadline:
            raise self.broken(
                f"took longer than {self._endpoint.total_timeout_s:.0f} s for its answer", may_retry=False
            )
        try:
            with self._inside:
                self._raise_if_closed()
                piece = self._response.read1(READ_BYTES)
                if self._response.closed:
                    self._let_go()
        except (HTTPError, HTTPException, OSError, ValueError) as error:
            raise self._explain(error) from None
        self._raise_if_closed()
        return piece

    def _let_go(self) -> None:
        """Forget the socket: its connection is in the pool again and may soon carry another exchange."""
        with self._guard:
            self._socket = None

    def _raise_if_closed(self) -> None:
        if self._is_closed:
            raise Stopped("The call to the model was stopped.")

    def _explain(self, error: Exception) -> UpstreamFailed | Stopped:
        """The failure as our sentence. Only the error's type goes to the log: its text may hold what was sent."""
        self._let_go()  # urllib3 has closed the connection
        if self._is_closed:
            return Stopped("The call to the model was stopped.")
        provider, host = self._endpoint.provider.name, self._endpoint.host
        logger.info("upstream %s at %s: %s", provider, host, type(error).__name__)
        if isinstance(error, SSLError) and self._response is None:
            text = f"The provider {provider} at {host} does not show a valid certificate. Check the base URL."
            return UpstreamFailed(text, may_retry=False)
        if isinstance(error, (ConnectTimeoutError, NewConnectionError, NameResolutionError)):
            text = f"The provider {provider} cannot be reached at {host}. Check the network and the base URL."
            return UpstreamFailed(text, may_retry=True)
        if isinstance(error, (ReadTimeoutError, TimeoutError)):
            return self.broken("stopped answering", may_retry=True)
        return self.broken("broke off the connection before its answer was whole", may_retry=True)


def _shut(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the other side was faster: gone is gone


def _split(base_url: str, name: str) -> tuple[str, str, int | None, str, str]:
    mend = f"The base URL of {name} must look like https://HOST/v1."
    try:
        parts = urlsplit(base_url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ConfigError(mend) from None
    if parts.scheme not in ("http", "https") or not host or not base_url.strip().isprintable():
        raise ConfigError(mend)
    if parts.username or parts.password:
        raise ConfigError(f"The base URL of {name} holds a password. Put the key into its own setting.")
    return parts.scheme, host, port, parts.path.rstrip("/"), f"?{parts.query}" if parts.query else ""
