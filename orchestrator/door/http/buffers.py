"""A connection's two ends as cheroot wants them: reading by line and by length, writing with few system calls.

cheroot's own are written for every case of Python's io module and look at a request byte by byte; these know what a
request is (it mostly arrives in one piece) and that a head should leave together with its body.
"""

from __future__ import annotations

import re
import socket

_PIECE = 65_536
_WITH_BODY = re.compile(rb"\r\nContent-Length: [1-9]", re.IGNORECASE)


class RequestReader:
    """What the client sends. Reads raise ``TimeoutError`` like the socket."""

    def __init__(self, source: socket.socket) -> None:
        self._source = source
        self._buffer = bytearray()
        self.closed = False

    def has_data(self) -> bool:
        """Something was received that nobody has read yet."""
        return bool(self._buffer)

    @property
    def waiting(self) -> int:
        """How many bytes were received that nobody has read yet."""
        return len(self._buffer)

    def readline(self, size: int = -1) -> bytes:
        """Up to and with the next newline, ``size`` bytes at most; less only where the client has ended."""
        start = 0
        while True:
            end = self._buffer.find(b"\n", start) + 1
            if end or 0 <= size <= len(self._buffer):
                return self._take(min(end or size, size) if size >= 0 else end)
            start = len(self._buffer)
            if not self._receive():
                return self._take(start)

    def read(self, size: int) -> bytes:
        """Exactly ``size`` bytes; less only where the client has ended."""
        while len(self._buffer) < size and self._receive():
            pass
        return self._take(size)

    def close(self) -> None:
        """Nothing more is read."""
        self.closed = True

    def _receive(self) -> bool:
        piece = self._source.recv(_PIECE)
        self._buffer += piece
        return bool(piece)

    def _take(self, size: int) -> bytes:
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken


class Writer:
    """What the client gets. The head of an answer of known length waits for its body's first bytes."""

    def __init__(self, target: socket.socket) -> None:
        self._target = target
        self._head = b""

    def write(self, data: bytes) -> int:
        """Send ``data``, or keep it when it is a head whose body follows at once."""
        if not self._head and data.startswith(b"HTTP/1.") and _WITH_BODY.search(data) and data.endswith(b"\r\n\r\n"):
            self._head = data
            return len(data)
        head, self._head = self._head, b""
        self._target.sendall(head + data)
        return len(data)

    def flush(self) -> None:
        """Send a head whose body did not come (an answer to HEAD)."""
        if self._head:
            self.write(b"")


def streams_of(connection: socket.socket, mode: str, _size: int) -> RequestReader | Writer:
    """What cheroot calls to make its files: a reader for ``rb``, a writer for ``wb``."""
    return RequestReader(connection) if "r" in mode else Writer(connection)
