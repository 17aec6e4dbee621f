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
from urllib.parse import urlsplit

import certifi

from orchestrator.core.errors import ConfigError, Stopped, UpstreamFailed
from orchestrator.llm.upstreams.connections import FAULTS, ConnectionPool, UnreachableError, UpstreamConnection
from orchestrator.llm.upstreams.http_errors import Provider, failure_of_status

logger = logging.getLogger(__name__)

CONNECT_TIMEOUT_S = 10.0
IDLE_TIMEOUT_S = 120.0
"""The longest silence of a provider that thinks."""
TOTAL_TIMEOUT_S = 600.0
MAX_ANSWER_BYTES = 16 * 1024 * 1024
DRAIN_TIMEOUT_S = 0.2
"""How long the end of an answer that we have whole may take to arrive; else the connection is not worth keeping."""
DRAIN_BYTES = 64 * 1024


def tls_context(ca_file: str | None = None) -> ssl.SSLContext:
    """Certificates and host names are checked, against ``ca_file`` when one is set, else against certifi's list."""
    try:
        context = ssl.create_default_context(cafile=ca_file or certifi.where())
    except (OSError, ssl.SSLError):
        raise ConfigError("The file with certificates (SSL_CERT_FILE) cannot be read. Check its path.") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
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
        scheme, host, port, self._path, self._query = _split_url(base_url, provider.name)
        self.provider = provider
        self.host = host
        self.idle_timeout_s = idle_timeout_s
        self.total_timeout_s = total_timeout_s
        default_port = 443 if scheme == "https" else 80
        self.wires = ConnectionPool(
            host,
            default_port if port is None else port,
            tls=(tls or tls_context()) if scheme == "https" else None,
            connect_timeout_s=connect_timeout_s,
        )

    def __repr__(self) -> str:
        return f"Endpoint({self.provider.name} at {self.host})"

    def request_target(self, path: str) -> str:
        """What stands in the request line for this path below the base URL."""
        return f"{self._path}{path}{self._query}"

    def close(self) -> None:
        """No kept connection is left."""
        self.wires.close()


class Exchange:
    """One request and its answer. ``close`` may come from any thread at any time, the rest belongs to one thread."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._guard = threading.Lock()  # over _wire and _is_closed, between the reader and whoever closes
        self._inside = threading.Lock()  # held while the wire is used: nobody may close its descriptor under a reader
        self._wire: UpstreamConnection | None = None
        self._is_closed = False
        self._headers: dict[str, str] | None = None
        self._deadline = time.monotonic() + endpoint.total_timeout_s

    def send_request(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> int:
        """Send the request; returns the status when the answer's head is there."""
        try:
            with self._inside:
                wire = self._endpoint.wires.take_connection()
                self._hold(wire)
                status, self._headers = wire.send_request(
                    method, self._endpoint.request_target(path), headers, body or b""
                )
        except FAULTS as error:
            raise self._explain(error) from None  # the error could carry what was sent
        self._raise_if_closed()
        return status

    @property
    def is_done(self) -> bool:
        """It holds no connection: the answer was read to its end, or nothing was sent, or it was closed."""
        return self._wire is None

    def get_header(self, name: str) -> str:
        """One header of the answer, by its name in lower case, or an empty text."""
        return (self._headers or {}).get(name, "")

    def describe_status(self, status: int) -> UpstreamFailed:
        """The sentence for a status that is no answer."""
        return failure_of_status(self._endpoint.provider, status, self.get_header, host=self._endpoint.host)

    def read_pieces(self) -> Iterator[bytes]:
        """The answer's body as it arrives, within the caps of size and time."""
        total = 0
        while piece := self._read():
            total += len(piece)
            if total > MAX_ANSWER_BYTES:
                raise self.describe_broken("sent far more than an answer can hold", may_retry=False)
            yield piece

    def read_whole(self, limit: int = MAX_ANSWER_BYTES) -> bytes:
        """The whole body, cut off behind ``limit`` bytes."""
        body = bytearray()
        for piece in self.read_pieces():
            body += piece
            if len(body) >= limit:
                break
        return bytes(body[:limit])

    def set_read_timeout(self, timeout_s: float) -> None:
        """From now on wait for the next byte no longer than this."""
        with self._guard:
            if self._wire is not None:
                self._wire.socket.settimeout(timeout_s)

    def finish_answer(self) -> None:
        """We know enough: read the answer's last bytes so that the connection can serve again, else drop it."""
        self.set_read_timeout(DRAIN_TIMEOUT_S)
        left = DRAIN_BYTES
        try:
            while left > 0 and (piece := self._read()):
                left -= len(piece)
        except (UpstreamFailed, Stopped):
            left = 0
        if left <= 0:
            self.drop_connection()

    def drop_connection(self) -> None:
        """Give up the answer at hand with its connection, but not the exchange: it may send again."""
        with self._guard:
            wire, self._wire = self._wire, None
        if wire is not None:
            wire.close()

    def close(self) -> None:
        """The connection is gone when this returns, and a reader that waits for it wakes."""
        with self._guard:
            self._is_closed = True
            wire, self._wire = self._wire, None
            if wire is not None:
                _shut_socket(wire.socket)
        # A reader was woken by that and leaves at once; one that still connects closes for itself.
        if wire is not None and self._inside.acquire(timeout=1.0):
            try:
                wire.close()
            finally:
                self._inside.release()

    def describe_broken(self, what: str, *, may_retry: bool) -> UpstreamFailed:
        """The sentence for an answer that is none: ``The provider NAME {what}.``"""
        text = f"The provider {self._endpoint.provider.name} {what}."
        return UpstreamFailed(text, may_retry=may_retry, may_have_cost=True)

    def _read(self) -> bytes:
        if self._headers is None:
            raise RuntimeError("read before send")
        if time.monotonic() > self._deadline:
            raise self.describe_broken(
                f"took longer than {self._endpoint.total_timeout_s:.0f} s for its answer", may_retry=False
            )
        try:
            with self._inside:
                self._raise_if_closed()
                wire = self._wire
                piece = b"" if wire is None else wire.read()
        except FAULTS as error:
            raise self._explain(error) from None
        self._raise_if_closed()
        if wire is not None and wire.is_whole:
            self._give_back()
        return piece

    def _hold(self, wire: UpstreamConnection) -> None:
        """From now on ``close`` shuts this one, before any answer came too."""
        with self._guard:
            self._wire = wire
            wire.socket.settimeout(self._endpoint.idle_timeout_s)  # a kept one may still be in its last one's hurry
            if self._is_closed:
                _shut_socket(wire.socket)

    def _give_back(self) -> None:
        """The answer is whole: its connection may soon carry another exchange."""
        with self._guard:
            wire, self._wire = self._wire, None
        if wire is not None:
            self._endpoint.wires.return_connection(wire)

    def _raise_if_closed(self) -> None:
        if self._is_closed:
            raise Stopped("The call to the model was stopped.")

    def _explain(self, error: Exception) -> UpstreamFailed | Stopped:
        """The failure as our sentence. Only the error's type goes to the log: its text may hold what was sent."""
        self.drop_connection()
        if self._is_closed:
            return Stopped("The call to the model was stopped.")
        provider, host = self._endpoint.provider.name, self._endpoint.host
        logger.info("upstream %s at %s: %s", provider, host, type(error).__name__)
        if isinstance(error, ssl.SSLError) and self._headers is None:
            text = f"The provider {provider} at {host} does not show a valid certificate. Check its address."
            return UpstreamFailed(text, may_retry=False)
        if isinstance(error, UnreachableError):
            text = f"The provider {provider} cannot be reached at {host}. Check the network and its address."
            return UpstreamFailed(text, may_retry=True)
        if isinstance(error, TimeoutError):
            return self.describe_broken("stopped answering", may_retry=True)
        return self.describe_broken("broke off the connection before its answer was complete", may_retry=True)


def _shut_socket(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the other side was faster: gone is gone


def _split_url(base_url: str, name: str) -> tuple[str, str, int | None, str, str]:
    fix = f"The address of {name} must look like https://HOST/v1."
    try:
        parts = urlsplit(base_url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ConfigError(fix) from None
    if parts.scheme not in ("http", "https") or not host or not base_url.strip().isprintable():
        raise ConfigError(fix)
    if parts.username or parts.password:
        raise ConfigError(f"The address of {name} holds a password. Give the key by itself.")
    return parts.scheme, host, port, parts.path.rstrip("/"), f"?{parts.query}" if parts.query else ""
