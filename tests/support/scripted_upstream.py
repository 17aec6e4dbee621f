"""A model provider on loopback that says what the test scripts, in OpenAI's and in Anthropic's dialect.

``with ScriptedUpstream() as provider:`` serves ``/v1/chat/completions``, ``/v1/messages`` and ``/v1/models`` under
``provider.base_url``. Replies are taken in order from ``provider.script(...)``; with none left, ``provider.answer(fn)``
decides, and without that every call is answered with an object that repeats the last user message. Every request is
recorded in ``provider.requests``. It has a small HTTP reader of its own instead of ``http.server``, because benches use
it and it must not be what they measure.
"""

from __future__ import annotations

import json
import socket
import socketserver
import ssl
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Self

from tests.support.scripted_replies import (
    ConnectionOver,
    Piece,
    Reply,
    answers,
    cut,
    drip,
    echoes_key,
    endless_line,
    endless_stream,
    garbage,
    hangs,
    hangs_up,
    not_http,
    plain,
    raw_answer,
    raw_events,
    raw_stream,
    says,
    split_at,
    status,
    streams,
    web_page,
)
from tests.support.scripted_wire import Gate, Request, answer_object, http

__all__ = [
    "ConnectionOver",
    "Gate",
    "Reply",
    "Request",
    "ScriptedUpstream",
    "answer_object",
    "answers",
    "cut",
    "drip",
    "echoes_key",
    "endless_line",
    "endless_stream",
    "garbage",
    "hangs",
    "hangs_up",
    "http",
    "not_http",
    "plain",
    "raw_answer",
    "raw_events",
    "raw_stream",
    "says",
    "split_at",
    "status",
    "streams",
    "web_page",
]

CUT_WAIT_S = 10.0
"""The longest a handler waits for a test, so that a failing test ends."""
MODELS = ("scripted-large", "scripted-small")

_REPEAT = "You said: "


class ScriptedUpstream:
    """The provider. Everything may be called from any thread."""

    def __init__(self, *, tls: ssl.SSLContext | None = None) -> None:
        self._changed = threading.Condition()  # over all below, between handlers and the test
        self._script: deque[Reply] = deque()
        self._answer: Callable[[Request], Reply | str] | None = None
        self._offered = http(200, json.dumps({"object": "list", "data": [{"id": name} for name in MODELS]}).encode())
        self._open: set[socket.socket] = set()
        self.requests: list[Request] = []
        self.connections = 0
        """How many connections were ever accepted."""
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.upstream = self
        self._server.tls = tls
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="scripted-upstream")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self.hang_up()
        self._server.server_close()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    @property
    def base_url(self) -> str:
        """What ``HERMIT_LLM_BASE_URL`` would be."""
        return f"{'https' if self._server.tls else 'http'}://127.0.0.1:{self.port}/v1"

    def script(self, *replies: Reply) -> None:
        """These replies come next, in this order, one a call."""
        with self._changed:
            self._script.extend(replies)

    def answer(self, decide: Callable[[Request], Reply | str]) -> None:
        """With no script left, ``decide`` makes the reply (a text is said as it is)."""
        with self._changed:
            self._answer = decide

    def offer(self, models: bytes) -> None:
        """From now on this HTTP answer is the list of models."""
        with self._changed:
            self._offered = models

    @property
    def calls(self) -> list[Request]:
        """The recorded requests that asked for a completion."""
        with self._changed:
            return [request for request in self.requests if request.method == "POST"]

    def wait_for_requests(self, count: int, timeout_s: float = CUT_WAIT_S) -> list[Request]:
        """The requests, once there are as many. Raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.requests) >= count, timeout_s):
                raise TimeoutError(f"{len(self.requests)} requests instead of {count}")
            return list(self.requests)

    def wait_until_left(self, timeout_s: float = CUT_WAIT_S) -> None:
        """Every client has closed its connection. Raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: not self._open, timeout_s):
                raise TimeoutError("a client still holds its connection")

    def hang_up(self) -> None:
        """Every open connection is shut."""
        with self._changed:
            for sock in self._open:
                _shut(sock)

    def reply_to(self, request: Request) -> Reply:
        """What the script says to this request, which is recorded."""
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
            if request.method == "GET":
                return raw_answer(self._offered)
            if self._script:
                return self._script.popleft()
            decide = self._answer
        if decide is None:
            return answers(_REPEAT + request.last_text)
        made = decide(request)
        return says(made) if isinstance(made, str) else made

    def joined(self, sock: socket.socket) -> None:
        """A client connected."""
        with self._changed:
            self.connections += 1
            self._open.add(sock)
            self._changed.notify_all()

    def left(self, sock: socket.socket) -> None:
        """A client is gone."""
        with self._changed:
            self._open.discard(sock)
            self._changed.notify_all()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    allow_reuse_address = True
    upstream: ScriptedUpstream
    tls: ssl.SSLContext | None = None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that breaks off, in the middle of a TLS handshake say, is nothing to print about."""


class _Handler(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        if self.server.tls is not None:
            self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def finish(self) -> None:
        super().finish()
        self.request.close()

    def handle(self) -> None:
        upstream = self.server.upstream
        upstream.joined(self.connection)
        try:
            while (request := self._read()) is not None:
                self._write(upstream.reply_to(request)(request))
        except (ConnectionOver, OSError):
            return  # the script or the client wants it so
        finally:
            upstream.left(self.connection)

    def _read(self) -> Request | None:
        line = self.rfile.readline(65536).decode("latin-1").split()
        if len(line) != 3:
            return None
        headers: dict[str, str] = {}
        while (text := self.rfile.readline(65536)) not in (b"\r\n", b"\n", b""):
            name, _, value = text.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        return Request(line[0], line[1], headers, self.rfile.read(int(headers.get("content-length", "0"))))

    def _write(self, pieces: Iterator[Piece]) -> None:
        for piece in pieces:
            if isinstance(piece, bytes):
                self.connection.sendall(piece)
                continue
            piece.reached.set()
            piece.opened.wait(CUT_WAIT_S)


def _shut(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # gone is gone
