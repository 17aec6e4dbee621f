"""Uploads through ``orchestrator.door.http.server``: read by their handler piece by piece, never whole in memory; a
client that hangs, drips or is refused harms nobody.
"""

from __future__ import annotations

import hashlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from typing import Any

import pytest

from orchestrator.door.http.server import HttpServer, ServerLimits

SLOW_S = 8.0
MOST = 64 << 20


class Server:
    """A server on loopback whose handler hashes what it is sent, or refuses it unread under ``/refuse``."""

    def __init__(self, **limits: Any) -> None:
        self.largest_piece = 0
        self.begun = threading.Event()
        self.broken_off = threading.Event()
        self._server = HttpServer()
        listening = socket.create_server(("127.0.0.1", 0))
        self.address = listening.getsockname()
        listening.setblocking(False)
        given = {"body_bytes": 1 << 20, "upload_bytes": MOST, "read_s": 1.0, **limits}
        self._server.add_listener(listening, self._app, limits=ServerLimits(**given), environ={})

    def close(self) -> None:
        """Nobody listens any more."""
        self._server.close()
        self._server.await_quiet()

    def connect(self) -> socket.socket:
        """A client's connection."""
        return socket.create_connection(self.address, timeout=SLOW_S)

    def _app(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        self.begun.set()
        if environ["PATH_INFO"] == "/refuse":
            return _answer(start, "401 Unauthorized", {})
        digest, size = hashlib.sha256(), 0
        try:
            while piece := environ["wsgi.input"].read(1 << 30 if environ["REQUEST_METHOD"] == "PUT" else 1000):
                self.largest_piece = max(self.largest_piece, len(piece))
                digest.update(piece)
                size += len(piece)
        except ConnectionResetError:
            self.broken_off.set()
            raise
        return _answer(start, "200 OK", {"size": size, "sha256": digest.hexdigest()})


def _answer(start: Callable[..., Any], status: str, told: dict[str, Any]) -> list[bytes]:
    body = json.dumps(told).encode()
    start(status, [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]


@pytest.fixture
def server() -> Iterator[Server]:
    """One that takes uploads."""
    with closing(Server()) as made:
        yield made


def head(length: int, *headers: str, method: str = "PUT", path: str = "/") -> bytes:
    """A request without its body."""
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", f"Content-Length: {length}", *headers, "", ""]).encode()


def read_answer(client: socket.socket) -> tuple[int, dict[str, Any]]:
    """Status and JSON of the next answer."""
    got = b""
    while b"\r\n\r\n" not in got:
        piece = client.recv(65_536)
        assert piece, got
        got += piece
    top, _, body = got.partition(b"\r\n\r\n")
    length = next(int(line.split(b":")[1]) for line in top.split(b"\r\n") if line.lower().startswith(b"content-length"))
    while len(body) < length:
        body += client.recv(65_536)
    is_json = b"application/json" in top
    return int(top.split()[1]), json.loads(body) if is_json else {}


def test_an_upload_is_read_piece_by_piece(server: Server) -> None:
    """However much its handler asks for at once; several on one connection."""
    content = bytes(range(256)) * 20_000
    with server.connect() as client:
        for _ in range(2):
            client.sendall(head(len(content)) + content)
            status, told = read_answer(client)
            assert (status, told["size"], told["sha256"]) == (200, len(content), hashlib.sha256(content).hexdigest())
    assert server.largest_piece <= 1 << 18


@pytest.mark.parametrize("size", [0, 1, (1 << 18) - 1, 1 << 18, (1 << 18) + 1])
def test_sizes_around_a_piece(server: Server, size: int) -> None:
    """Nothing is lost at an edge."""
    with server.connect() as client:
        client.sendall(head(size) + b"x" * size)
        assert read_answer(client)[1]["size"] == size


def test_other_bodies_have_the_smaller_cap(server: Server) -> None:
    """Only a PUT may be so large, and only up to its own cap."""
    for method, length, status in (("POST", (1 << 20) + 1, 413), ("PUT", MOST + 1, 413)):
        with server.connect() as client:
            client.sendall(head(length, method=method))
            assert read_answer(client)[0] == status


def test_a_listener_without_uploads_takes_none() -> None:
    """A cubicle's door reads a PUT like anything else."""
    with closing(Server(upload_bytes=0)) as server, server.connect() as client:
        client.sendall(head((1 << 20) + 1))
        assert read_answer(client)[0] == 413


def test_a_client_that_waits_is_told_to_go_on_when_it_is_read(server: Server) -> None:
    """``100 Continue`` comes with the first read; whoever is refused never sends its body."""
    with server.connect() as client:
        client.sendall(head(5, "Expect: 100-continue"))
        assert client.recv(65_536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"hello")
        assert read_answer(client)[1]["size"] == 5
        client.sendall(head(5, "Expect: 100-Continue", method="POST"))
        assert client.recv(65_536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"hello")
        assert read_answer(client)[1]["size"] == 5
    with server.connect() as client:
        client.sendall(head(50_000_000, "Expect: 100-continue", path="/refuse"))
        assert read_answer(client)[0] == 401


def test_a_refusal_is_heard_by_whoever_still_sends(server: Server) -> None:
    """The answer arrives, the rest is thrown away, and the connection ends: nothing in the body is a request."""
    smuggled = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
    with server.connect() as client:
        client.sendall(head(30_000_000, path="/refuse"))
        client.sendall((smuggled * 900_000)[:30_000_000])
        assert read_answer(client)[0] == 401
        assert client.recv(65_536) == b""


def test_a_refused_client_that_sends_on_for_ever_is_cut(server: Server) -> None:
    """After some seconds."""
    began = time.monotonic()
    with server.connect() as client, suppress(OSError):
        client.sendall(head(MOST, path="/refuse"))
        while time.monotonic() - began < 20:
            client.sendall(b"x")
            time.sleep(0.05)
    assert time.monotonic() - began < 15


def test_a_client_that_hangs_up_ends_the_upload(server: Server) -> None:
    """The handler is told that it is not whole, and the next client is served."""
    with server.connect() as client:
        client.sendall(head(1_000_000) + b"x" * 500_000)
        assert server.begun.wait(SLOW_S)
    assert server.broken_off.wait(SLOW_S)
    with server.connect() as client:
        client.sendall(head(2) + b"ok")
        assert read_answer(client)[1]["size"] == 2


def test_a_client_that_falls_silent_is_cut(server: Server) -> None:
    """Within the time that a piece may take."""
    with server.connect() as client:
        client.sendall(head(1_000_000) + b"x" * 300_000)
        began = time.monotonic()
        with suppress(ConnectionResetError):
            while client.recv(65_536):
                pass
        assert time.monotonic() - began < SLOW_S


def test_a_slow_upload_takes_the_time_it_needs() -> None:
    """Longer than any other request may: each piece has its own time."""
    with closing(Server(read_s=0.4)) as server, server.connect() as client:
        client.sendall(head(16 << 18))
        for _ in range(16):
            time.sleep(0.1)
            client.sendall(b"x" * (1 << 18))
        assert read_answer(client)[1]["size"] == 16 << 18
