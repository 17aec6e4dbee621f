"""A server for tests of live apps, of the standard library alone: pages, echoes, events, a WebSocket, and bad manners.
``python3 live_server.py PORT NAME [PAGE]``."""

from __future__ import annotations

import base64
import hashlib
import http.server
import os
import sys
import time
from pathlib import Path
from typing import ClassVar

_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Handler(http.server.BaseHTTPRequestHandler):
    """Each path is a manner."""

    protocol_version = "HTTP/1.1"
    busy: ClassVar[list[int]] = []
    """One for each request that is under way without an end."""

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""

    def do_GET(self) -> None:
        """By the first word of the path."""
        work = {"": self.home, "events": self.events, "ws": self.echo, "silent": self.silent, "flood": self.flood}
        if self.path == "/busy":
            self.say(str(len(self.busy)).encode())
            return
        work.get(self.path.strip("/").partition("?")[0], self.hang_up)()

    def do_POST(self) -> None:
        """What was sent, in capital letters."""
        self.say(self.rfile.read(int(self.headers.get("Content-Length", 0))).upper())

    def home(self) -> None:
        """A page that says whose it is, or the one that was given."""
        if len(sys.argv) > 3:
            self.say(Path(sys.argv[3]).read_bytes(), "text/html")
            return
        self.say(f"<!doctype html><title>{sys.argv[2]}</title><img src='/x.png'>{sys.argv[2]}".encode(), "text/html")

    def say(self, body: bytes, kind: str = "text/plain") -> None:
        """A whole answer."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Set-Cookie", "seen=1; Path=/")
        self.end_headers()
        self.wfile.write(body)

    def events(self) -> None:
        """One event at once, the next when a file called ``go`` is there."""
        self.begin("text/event-stream")
        self.wfile.write(b"data: first\n\n")
        while not Path("go").exists():
            time.sleep(0.01)
        self.wfile.write(b"data: second\n\n")

    def echo(self) -> None:
        """A WebSocket that says what it is told, for short texts."""
        key = self.headers["Sec-WebSocket-Key"].encode()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key + _MAGIC).digest()).decode())  # noqa: S324 - as the protocol has it
        self.end_headers()
        while len(head := self.rfile.read(2)) == 2 and head[0] & 15 != 8:
            mask, length = self.rfile.read(4), head[1] & 127
            text = bytes(byte ^ mask[at % 4] for at, byte in enumerate(self.rfile.read(length)))
            self.wfile.write(bytes((0x81, len(text))) + text)
        self.close_connection = True

    def silent(self) -> None:
        """Never an answer."""
        self.busy.append(1)
        time.sleep(3_600)

    def flood(self) -> None:
        """More than anybody takes."""
        self.busy.append(1)
        self.begin("application/octet-stream")
        while True:
            self.wfile.write(os.urandom(65_536))

    def hang_up(self) -> None:
        """No answer, and no connection."""
        self.close_connection = True

    def begin(self, kind: str) -> None:
        """An answer without a length."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.end_headers()


if __name__ == "__main__":
    http.server.ThreadingHTTPServer.request_queue_size = 128
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
