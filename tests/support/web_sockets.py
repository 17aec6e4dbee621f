"""Text over WebSockets (RFC 6455), both ends, as much as a test needs: whole messages, no extensions."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import socket
import struct
from dataclasses import dataclass
from typing import BinaryIO

_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10


@dataclass
class WebSocket:
    """One end of a connection that is open."""

    sock: socket.socket
    reader: BinaryIO
    is_client: bool

    def send(self, text: str) -> None:
        """A whole message."""
        self._send_frame(_TEXT, text.encode())

    def receive(self) -> str | None:
        """The next message; None at the end."""
        message = b""
        while True:
            head = self.reader.read(2)
            if len(head) < 2:
                return None
            size = head[1] & 127
            if size > 125:
                size = struct.unpack("!H" if size == 126 else "!Q", self.reader.read(2 if size == 126 else 8))[0]
            mask = self.reader.read(4) if head[1] & 128 else b""
            body = _masked(self.reader.read(size), mask) if mask else self.reader.read(size)
            if (code := head[0] & 15) == _CLOSE:
                return None
            if code == _PING:
                self._send_frame(_PONG, body)
            elif code != _PONG:
                message += body
                if head[0] & 128:
                    return message.decode()

    def close(self) -> None:
        """The connection is gone, for whoever reads it too."""
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.reader.close()
        self.sock.close()

    def _send_frame(self, code: int, body: bytes) -> None:
        size = len(body)
        is_masked = 128 if self.is_client else 0
        if size < 126:
            head = struct.pack("!BB", 128 | code, is_masked | size)
        elif size < 65536:
            head = struct.pack("!BBH", 128 | code, is_masked | 126, size)
        else:
            head = struct.pack("!BBQ", 128 | code, is_masked | 127, size)
        mask = os.urandom(4) if self.is_client else b""
        self.sock.sendall(head + mask + (_masked(body, mask) if mask else body))


def connect(port: int, path: str) -> WebSocket:
    """To a server on this machine; raises OSError while it does not answer."""
    sock = socket.create_connection(("127.0.0.1", port), 5.0)
    key = base64.b64encode(os.urandom(16)).decode()
    sock.sendall(
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    sock.settimeout(None)
    reader = sock.makefile("rb")
    if b" 101 " not in reader.readline():
        raise ConnectionError("no WebSocket there")
    while reader.readline().strip():
        pass
    return WebSocket(sock, reader, is_client=True)


def accept(sock: socket.socket) -> WebSocket:
    """From a client that asks for one."""
    reader = sock.makefile("rb")
    headers: dict[bytes, bytes] = {}
    while line := reader.readline().strip():
        name, _, value = line.partition(b":")
        headers[name.lower()] = value.strip()
    proof = base64.b64encode(hashlib.sha1(headers[b"sec-websocket-key"] + _MAGIC, usedforsecurity=False).digest())
    lines = [b"HTTP/1.1 101 Switching Protocols", b"Upgrade: websocket", b"Connection: Upgrade"]
    lines.append(b"Sec-WebSocket-Accept: " + proof)
    if protocol := headers.get(b"sec-websocket-protocol"):
        lines.append(b"Sec-WebSocket-Protocol: " + protocol.split(b",")[0].strip())
    sock.sendall(b"\r\n".join([*lines, b"", b""]))
    return WebSocket(sock, reader, is_client=False)


def _masked(body: bytes, mask: bytes) -> bytes:
    whole = int.from_bytes(body, "big") ^ int.from_bytes((mask * (len(body) // 4 + 1))[: len(body)], "big")
    return whole.to_bytes(len(body), "big")
