"""Connections to one provider: h11 says what the bytes mean, this module has the sockets and keeps them for the next
request.

Nothing is retried, followed, unpacked or read from the environment here. Errors come as the socket, TLS and h11 raise
them (``FAULTS``); whoever speaks to people turns them into sentences.
"""

from __future__ import annotations

import select
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import h11

FAULTS = (OSError, h11.ProtocolError, ValueError)
"""What any method here raises when the wire or the other side fails."""

_KEPT = 64
_READ_BYTES = 64 * 1024
_HEAD_BYTES = 64 * 1024
_HEADERS = 100


class UnreachableError(OSError):
    """There is no connection to be had."""


class UpstreamConnection:
    """One connection, with one request and its answer at a time."""

    def __init__(self, connection: socket.socket, host: str) -> None:
        self.socket = connection
        self.is_whole = False
        """The answer was read to its end."""
        self._host = host
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_BYTES)

    def send_request(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, str]]:
        """Send a request; the status and the headers (names in lower case) when the answer's head is there."""
        sent = [("Host", self._host), *headers.items()]
        if body:
            sent.append(("Content-Length", str(len(body))))
        pieces = [self._http.send(h11.Request(method=method, target=target, headers=sent))]
        if body:
            pieces.append(self._http.send(h11.Data(data=body)))
        pieces.append(self._http.send(h11.EndOfMessage()))
        with suppress(BrokenPipeError):  # it may have answered, and closed, before it had read everything
            self.socket.sendall(b"".join(piece for piece in pieces if piece))
        while not isinstance(event := self._read_line(), h11.Response):
            if not isinstance(event, h11.InformationalResponse):
                raise h11.RemoteProtocolError("there is no answer")
        return event.status_code, _read_headers(event)

    def read(self) -> bytes:
        """What of the answer's body has arrived, at least a byte; none at its end."""
        pieces: list[bytes] = []
        while not self.is_whole:
            event = self._read_line(may_wait=not pieces)
            if event is None:
                break
            if isinstance(event, h11.Data):
                pieces.append(event.data)
            elif isinstance(event, h11.EndOfMessage):
                self.is_whole = True
            else:
                raise h11.RemoteProtocolError("there is something else than an answer")
        return b"".join(pieces)

    def prepare_next(self) -> bool:
        """Get ready for the next request; False when this connection has served its last."""
        if not self.is_whole or self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        if self._http.trailing_data != (b"", False):  # something came that nobody asked for, or the end
            return False
        self._http.start_next_cycle()
        self.is_whole = False
        return True

    def is_idle(self) -> bool:
        """Nobody has closed it, and nothing came that nobody asked for."""
        poller = select.poll()
        poller.register(self.socket, select.POLLIN)
        return not poller.poll(0)

    def close(self) -> None:
        """The connection is gone; again is fine."""
        self.socket.close()

    def _read_line(self, *, may_wait: bool = True) -> Any:
        """The next h11 event; None when it has not arrived yet and nobody wants to wait."""
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if not may_wait:
                return None
            self._http.receive_data(self.socket.recv(_READ_BYTES))
        return event


class ConnectionPool:
    """The kept connections to one host. Thread-safe."""

    def __init__(self, host: str, port: int, *, tls: ssl.SSLContext | None, connect_timeout_s: float) -> None:
        """Without ``tls`` it is plain HTTP."""
        self._address = (host, port)
        self._tls = tls
        self._connect_timeout_s = connect_timeout_s
        name = f"[{host}]" if ":" in host else host
        self._host = name if port == (443 if tls else 80) else f"{name}:{port}"
        self._idle: list[UpstreamConnection] = []
        self._lock = threading.Lock()  # protects _idle

    def take_connection(self) -> UpstreamConnection:
        """One that nobody else has. Raises UnreachableError, or ssl.SSLError when the other side can't be trusted."""
        while True:
            with self._lock:
                wire = self._idle.pop() if self._idle else None
            if wire is None:
                return UpstreamConnection(self._open_connection(), self._host)
            if wire.is_idle():
                return wire
            wire.close()

    def return_connection(self, wire: UpstreamConnection) -> None:
        """It is not needed any more: kept for the next request if it can serve one, else closed."""
        if wire.prepare_next():
            with self._lock:
                if len(self._idle) < _KEPT:
                    self._idle.append(wire)
                    return
        wire.close()

    def close(self) -> None:
        """No kept connection is left."""
        with self._lock:
            idle, self._idle = self._idle, []
        for wire in idle:
            wire.close()

    def __del__(self) -> None:
        """A provider whose key was changed is replaced while calls to it are under way; the last one lets go of it."""
        self.close()

    def _open_connection(self) -> socket.socket:
        try:
            connection = socket.create_connection(self._address, self._connect_timeout_s)
        except (OSError, ValueError) as error:  # a name can be none, too
            raise UnreachableError(type(error).__name__) from error
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is None:
                return connection
            return self._tls.wrap_socket(connection, server_hostname=self._address[0])
        except ssl.SSLError:
            connection.close()
            raise
        except OSError as error:
            connection.close()
            raise UnreachableError(type(error).__name__) from error


def _read_headers(head: h11.Response) -> dict[str, str]:
    """By names in lower case; of one that comes often the values with commas between them."""
    if len(head.headers) > _HEADERS or sum(len(value) for _, value in head.headers) > _HEAD_BYTES:
        raise h11.RemoteProtocolError("the head is too large")
    found: dict[str, str] = {}
    for name, value in head.headers:
        known, text = name.decode("ascii"), value.decode("latin-1")
        found[known] = f"{found[known]}, {text}" if known in found else text
    return found
