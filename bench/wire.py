"""HTTP by hand over a kept connection: who measures should cost next to nothing beside what is measured."""

from __future__ import annotations

import json
import select
import socket
from typing import Any


class Line:
    """A kept connection to one server on this machine."""

    def __init__(self, port: int, headers: str) -> None:
        """``headers`` are whole lines that go along with every request."""
        self._port = port
        self._headers = headers
        self._wire: socket.socket | None = None

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """The answer's JSON. Raises RuntimeError for a bad status."""
        answer = exchange(self._connected(), post(path, body, self._headers))
        return json.loads(answer.partition(b"\r\n\r\n")[2])

    def close(self) -> None:
        """Hang up."""
        if self._wire is not None:
            self._wire.close()

    def _connected(self) -> socket.socket:
        """The kept connection, or a new one where the server has closed it."""
        if self._wire is not None and select.select([self._wire], [], [], 0)[0]:
            self._wire.close()
            self._wire = None
        if self._wire is None:
            self._wire = socket.create_connection(("127.0.0.1", self._port), 300)
            self._wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._wire


def post(path: str, body: dict[str, Any], headers: str = "") -> bytes:
    """A whole request."""
    payload = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}Content-Type: application/json\r\n"
    return f"{head}Content-Length: {len(payload)}\r\n\r\n".encode() + payload


def exchange(wire: socket.socket, request: bytes) -> bytes:
    """The whole answer, its head too. Raises RuntimeError for a bad status."""
    wire.sendall(request)
    said = b""
    while not is_whole(said):
        said += received(wire)
    return said


def is_whole(said: bytes) -> bool:
    """The answer has all of its body; chunks or a length. Raises RuntimeError for a bad status."""
    head, end, body = said.partition(b"\r\n\r\n")
    if not end:
        return False
    if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")):
        raise RuntimeError(said.decode(errors="replace"))
    _, named, length = head.lower().partition(b"\r\ncontent-length:")
    if named:
        return len(body) >= int(length.partition(b"\r\n")[0])
    return body.endswith(b"0\r\n\r\n")


def received(wire: socket.socket) -> bytes:
    """What has come. Raises RuntimeError when the server has hung up."""
    piece = wire.recv(65_536)
    if not piece:
        raise RuntimeError("the connection was closed")
    return piece
