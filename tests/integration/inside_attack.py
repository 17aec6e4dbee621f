"""Runs inside a cubicle, not on the host: besieges the door with connections that say nothing, say it slowly, stop in
the middle or say far too much, and prints how each kind was met as one JSON object."""

from __future__ import annotations

import collections
import contextlib
import json
import socket
import sys
import time

DOOR = "/run/hermit/door.sock"
SILENT = 1_000
HEAD = b"POST /api/internal/status HTTP/1.1\r\nHost: door\r\nContent-Type: application/json\r\n"
KINDS = {
    "half a line": b"POST /api/int",
    "half a head": HEAD,
    "half a body": HEAD + b"Content-Length: 100\r\n\r\n{",
    "a body of a terabyte": HEAD + b"Content-Length: 1099511627776\r\n\r\n" + b"x" * 65_536,
    "a length that is none": HEAD + b"Content-Length: -1\r\n\r\n",
    "two lengths": HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
    "a length and chunks": HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a head of a megabyte": HEAD + b"X: " + b"x" * 2**20 + b"\r\n\r\n",
    "another host": b"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
    "a tunnel": b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n",
    "another protocol": b"GET / HTTP/1.1\r\nHost: door\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "no text": bytes(range(256)) * 16,
}
HELD = ("half a line", "half a head", "half a body")
"""They may still be meant well; the others are answered at once."""


def line(timeout_s: float = 10.0) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(timeout_s)
    made.connect(DOOR)
    return made


def said(beginning: bytes) -> str:
    """The status that the door answered with, or how it ended."""
    try:
        with line() as made:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it hung up; its answer may be there
                made.sendall(beginning)
            return made.recv(4096).decode("latin-1").partition("\r\n")[0].partition(" ")[2] or "hung up"
    except (ConnectionError, TimeoutError) as error:
        return type(error).__name__


def silent() -> tuple[list[socket.socket], collections.Counter[str]]:
    """Connections that are opened and left; half of them drip a byte of a head."""
    held, met = [], collections.Counter[str]()
    for n in range(SILENT):
        made = socket.socket(socket.AF_UNIX)
        made.setblocking(False)
        try:
            made.connect(DOOR)
            if n % 2:
                made.send(HEAD[:1])
            held.append(made)
            met["open"] += 1
        except OSError as error:
            made.close()
            met[type(error).__name__] += 1
    return held, met


if __name__ == "__main__":
    answers = {name: said(beginning) for name, beginning in KINDS.items() if name not in HELD}
    held = [line() for _ in HELD]
    for made, name in zip(held, HELD, strict=True):
        made.sendall(KINDS[name])
    more, met = silent()
    sys.stdout.write(json.dumps({"answers": answers, "met": met}) + "\n")
    sys.stdout.flush()
    deadline = time.monotonic() + float(sys.argv[1])
    n = 0
    while time.monotonic() < deadline:  # slowly, slowly
        n += 1
        for made in more[1::2]:
            try:
                made.send(HEAD[n % len(HEAD) :][:1])
            except OSError:
                continue
        time.sleep(0.25)
