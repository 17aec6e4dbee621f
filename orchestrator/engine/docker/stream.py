"""Bytes to and from a program in a container, over the connection that the engine hands over for it."""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import Any

from orchestrator.core.errors import Unavailable

_PIECE = 32 * 1024
_TAKES_S = 10
"""How long a program may take nothing of what is sent."""
_FRAME = struct.Struct(">BxxxL")
_STDOUT = 1


class Stream:
    """One connection: bytes, as they come, both ways. ``read`` and ``read_stdout`` are for one thread."""

    def __init__(self, raw: Any) -> None:
        """``raw`` is what the library gives of a connection that the engine has handed over."""
        self._answer = raw._response  # noqa: SLF001 - the SDK hands out half of what belongs together
        # The SDK reads the head of the answer through this reader, so what came with the head is still in it.
        self._reader = self._answer.raw._fp.fp  # noqa: SLF001 - as above
        self._socket: socket.socket = getattr(raw, "_sock", raw)
        self._socket.settimeout(None)  # a program may be silent for as long as it likes
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", _TAKES_S, 0))
        self._kind, self._left = _STDOUT, 0

    def read(self) -> bytes:
        """The next piece; empty at the end."""
        return self._read(_PIECE)

    def read_stdout(self) -> bytes:
        """The next piece of a program without a terminal, whose two outputs come in frames; empty at the end. What it
        writes to its standard error is passed over."""
        while True:
            while not self._left:
                head = b""
                while len(head) < _FRAME.size:
                    if not (piece := self._read(_FRAME.size - len(head))):
                        return b""
                    head += piece
                self._kind, self._left = _FRAME.unpack(head)
            piece = self._read(min(self._left, _PIECE))
            self._left -= len(piece)
            if self._kind == _STDOUT or not piece:
                return piece

    def write(self, data: bytes) -> None:
        """The program gets this. Raises Unavailable."""
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise Unavailable("The program takes nothing more.") from error

    def close(self) -> None:
        """The connection ends under whatever reads it."""
        with contextlib.suppress(OSError):  # ended already
            self._socket.shutdown(socket.SHUT_RDWR)
        self._answer.close()

    def _read(self, most_bytes: int) -> bytes:
        try:
            return bytes(self._reader.read1(most_bytes))
        except (OSError, ValueError):  # ValueError: closed meanwhile
            return b""
