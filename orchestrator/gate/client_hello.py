"""The server name that a TLS client asks for, read from its first message. Pure.

Nothing is decrypted. What is no such message, or names a server in two ways, is refused.
"""

from __future__ import annotations

MAX_HELLO_BYTES = 64 * 1024
_HANDSHAKE, _CLIENT_HELLO, _SERVER_NAME, _HOST_NAME = 22, 1, 0, 0
_RECORD_BYTES = 1 << 14


class NotTls(Exception):
    """These bytes are no TLS client's first message, or one that can be read in two ways."""


class _Fields:
    """Numbers and pieces, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, size: int) -> bytes:
        piece = self._data[self._at : self._at + size]
        if len(piece) < size:
            raise NotTls("a field is cut short")
        self._at += size
        return piece

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def piece(self, size_bytes: int) -> bytes:
        """What is behind its own length."""
        return self.take(self.number(size_bytes))

    @property
    def is_over(self) -> bool:
        return self._at >= len(self._data)


def read_server_name(data: bytes) -> str | None:
    """The name in lower case, empty when the client names none; None while bytes are missing. ``data`` is all that came
    so far. Raises NotTls."""
    hello = _join_records(data)
    if hello is None:
        if len(data) > MAX_HELLO_BYTES:
            raise NotTls("the first message is too long")
        return None
    return _find_name(_Fields(hello))


def _join_records(data: bytes) -> bytes | None:
    """The body of the first handshake message, which may be spread over records; None while bytes are missing."""
    at, body = 0, b""
    while True:
        head = data[at : at + 5]
        if head[:1] not in (b"", bytes([_HANDSHAKE])) or head[1:2] not in (b"", b"\x03"):
            raise NotTls("this is no TLS handshake")
        if len(head) < 5:
            return None
        size = int.from_bytes(head[3:5], "big")
        if not 0 < size <= _RECORD_BYTES:
            raise NotTls("a record has an impossible length")
        body += data[at + 5 : at + 5 + size]
        at += 5 + size
        if body[:1] not in (b"", bytes([_CLIENT_HELLO])):
            raise NotTls("the first message is no client's greeting")
        if len(body) >= 4:
            wanted = int.from_bytes(body[1:4], "big")
            if wanted > MAX_HELLO_BYTES:
                raise NotTls("the first message is too long")
            if len(body) >= 4 + wanted:
                return body[4 : 4 + wanted]
        if at > len(data):
            return None


def _find_name(hello: _Fields) -> str:
    hello.take(2 + 32)  # version and random bytes
    hello.piece(1)  # session
    hello.piece(2)  # ciphers
    hello.piece(1)  # compressions
    if hello.is_over:
        return ""
    extensions = _Fields(hello.piece(2))
    if not hello.is_over:
        raise NotTls("bytes follow the extensions")
    names = []
    while not extensions.is_over:
        kind, content = extensions.number(2), extensions.piece(2)
        if kind == _SERVER_NAME:
            names.append(_read_names(content))
    if len(names) > 1:
        raise NotTls("two server names")
    return names[0] if names else ""


def _read_names(content: bytes) -> str:
    outer = _Fields(content)
    listed = _Fields(outer.piece(2))
    kind, name = listed.number(1), listed.piece(2)
    if kind != _HOST_NAME or not name or not name.isascii() or not listed.is_over or not outer.is_over:
        raise NotTls("the server name is none")
    return name.decode("ascii").lower()
