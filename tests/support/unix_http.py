"""HTTP over a unix socket, as a cubicle speaks it at its door."""

from __future__ import annotations

import http.client
import socket
from pathlib import Path

TIMEOUT_S = 30.0


class UnixHttp(http.client.HTTPConnection):
    """A connection to the socket at a path."""

    def __init__(self, path: Path) -> None:
        super().__init__("door", timeout=TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(TIMEOUT_S)
        self.sock.connect(str(self._path))
