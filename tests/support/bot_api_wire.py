"""The HTTP side of the test's Bot API server: connections, request bodies, faults, answers.

It decides nothing about methods: a request becomes a `Call`, `bot_api_methods` runs it, the outcome goes out as JSON.
"""

from __future__ import annotations

import email.message
import email.policy
import http.server
import json
import socket
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.support.bot_api_faults import HANG_S, Fault
from tests.support.bot_api_methods import MAX_DOWNLOAD, RUN
from tests.support.bot_api_parameters import known_method, read_parameters
from tests.support.bot_api_rules import Json, Refused
from tests.support.bot_api_updates import get_updates
from tests.support.bot_api_world import Bot, Call, Upload, World

MAX_BODY = 64 * 1024 * 1024
"""Over what one file may have, so that the file's own limit speaks first."""


class Dropped(Exception):
    """The connection ends without an answer."""


class Server(http.server.ThreadingHTTPServer):
    """Listens on loopback; remembers its connections so that they can be cut."""

    daemon_threads = False
    block_on_close = True
    request_queue_size = 64

    def __init__(self, world: World) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.world = world
        self.faults: list[Fault] = []
        self._open: set[socket.socket] = set()
        self._is_unwelcome = False
        self.socket.setblocking(False)  # who waits may have been turned away before they are let in

    def get_request(self) -> tuple[socket.socket, Any]:
        """The next connection, and whether it came while the server was offline."""
        with self.world.changed:
            self._is_unwelcome = self.world.is_offline or self.world.is_closing
            connection, address = super().get_request()
            return connection, address

    def process_request(self, request: Any, client_address: Any) -> None:
        """A connection that came while the server was offline is reset."""
        if self._is_unwelcome:
            _reset(request)
            return
        with self.world.changed:
            self._open.add(request)
        super().process_request(request, client_address)

    def turn_away(self) -> None:
        """Whoever has come by now, and was not let in, is reset."""
        with suppress(BlockingIOError):
            while True:
                _reset(self.socket.accept()[0])

    def shutdown_request(self, request: Any) -> None:
        """The connection is over."""
        with self.world.changed:
            self._open.discard(request)
        super().shutdown_request(request)

    def cut(self) -> None:
        """Ends every connection as it is."""
        with self.world.changed:
            for connection in self._open:
                _shut(connection)

    def take_fault(self, method: str) -> Fault | None:
        """The fault that this call meets; it is one nearer to being spent."""
        with self.world.changed:
            fault = next((one for one in self.faults if one.matches(method)), None)
            if fault is not None:
                fault.left -= 1
                fault.hits += 1
                self.world.changed.notify_all()
            return fault

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Broken connections are part of the tests; anything else is a mistake of this server and is shown."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def _reset(connection: socket.socket) -> None:
    """Close without a farewell."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it was over already


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection, kept alive between requests."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server_version = "nginx"
    sys_version = ""

    @property
    def install(self) -> Server:
        """The server, by its own type."""
        return cast("Server", self.server)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class names it so
        """Says nothing: the path holds the token."""

    def do_GET(self) -> None:
        """A method call, or a file."""
        self._serve()

    def do_POST(self) -> None:
        """A method call."""
        self._serve()

    def _serve(self) -> None:
        try:
            path = urlsplit(self.path).path
            body = self._read_body()
            if path.startswith("/file/bot"):
                self._send_file(path.removeprefix("/file/bot"))
            else:
                self._answer(*self._call(path, body))
        except Refused as refusal:
            self._answer(refusal.code, refusal.body())
        except Dropped:
            self.close_connection = True
        except ConnectionError:
            self.close_connection = True

    def _read_body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return self._read_chunks()
        length = int(self.headers.get("Content-Length") or 0)
        if length <= MAX_BODY:
            return self.rfile.read(length)
        while length > 0:
            piece = self.rfile.read(min(length, 1 << 20))
            if not piece:
                raise Dropped
            length -= len(piece)
        raise Refused(413, "Request Entity Too Large")

    def _read_chunks(self) -> bytes:
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _call(self, path: str, body: bytes) -> tuple[int, Json]:
        token, _, name = path.removeprefix("/bot").partition("/")
        world = self.install.world
        raw, uploads = read_request(self.path, self.headers, body)
        with world.changed:
            number = len(world.calls) + 1
            call = Call(number, unquote(token), name, raw, uploads, time.monotonic())
            fault = self.install.take_fault(name)
            call.is_faulty = fault is not None
            world.calls.append(call)
            if fault is None or fault.is_after:
                status, call.answer = _outcome(world, call, self._is_gone)
            else:
                _note(call, fault)
            world.changed.notify_all()
        if fault is not None:
            self._fail(fault)
        return status, cast("Json", call.answer)

    def _is_gone(self) -> bool:
        """The client has hung up."""
        try:
            return not self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def _fail(self, fault: Fault) -> None:
        refusal = fault.refusal()
        if refusal is not None:
            raise refusal
        if fault.html:
            self._send(fault.status or 502, "text/html", fault.html.encode(), then="close")
        elif fault.is_silent:
            fault.released.wait(HANG_S)
        else:
            _reset(self.connection)
        raise Dropped

    def _send_file(self, path: str) -> None:
        token, _, name = unquote(path).partition("/")
        world = self.install.world
        fault = self.install.take_fault("download")
        if fault is not None:
            self._fail(fault)
        with world.changed:
            world.authorize(token)
            stored = next((one for one in world.files.values() if one.path == name), None)
            if stored is None or stored.size > MAX_DOWNLOAD:
                raise Refused(404, "Not Found")
            world.fetched.append(stored)
            world.changed.notify_all()
        self._send(200, "application/octet-stream", stored.content)

    def _answer(self, status: int, body: Json) -> None:
        self._send(status, "application/json", json.dumps(body).encode())

    def _send(self, status: int, kind: str, content: bytes, *, then: str = "keep-alive") -> None:
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nServer: nginx\r\nContent-Type: {kind}\r\n"
            f"Content-Length: {len(content)}\r\nConnection: {then}\r\n\r\n"
        )
        self.wfile.write(head.encode() + content)


def _outcome(world: World, call: Call, is_gone: Callable[[], bool]) -> tuple[int, Json]:
    try:
        bot = world.authorize(call.token)
        call.method = known_method(call.method)
        call.parameters = read_parameters(call.method, call.parameters, set(call.uploads))
        return 200, {"ok": True, "result": _run(world, bot, call, is_gone)}
    except Refused as refusal:
        return refusal.code, refusal.body()


def _note(call: Call, fault: Fault) -> None:
    """Writes down a call that is broken instead of carried out, as far as it can be read."""
    refusal = fault.refusal()
    call.answer = refusal.body() if refusal else None
    try:
        call.method = known_method(call.method)
        call.parameters = read_parameters(call.method, call.parameters, set(call.uploads))
    except Refused:
        return  # the fault's own answer goes out


def _run(world: World, bot: Bot, call: Call, is_gone: Callable[[], bool]) -> Any:
    if call.method == "getUpdates":
        return get_updates(world, bot, call, is_gone)
    return RUN[call.method](world, bot, call)


def read_request(target: str, headers: email.message.Message, body: bytes) -> tuple[Json, dict[str, Upload]]:
    """The parameters as they came, from the query and the body, and the files."""
    raw: Json = dict(parse_qsl(urlsplit(target).query, keep_blank_values=True))
    kind = headers.get("Content-Type", "")
    if not body:
        return raw, {}
    if kind.startswith("application/json"):
        return raw | _json_object(body), {}
    if kind.startswith("application/x-www-form-urlencoded"):
        return raw | dict(parse_qsl(body.decode(), keep_blank_values=True)), {}
    if kind.startswith("multipart/form-data"):
        fields, uploads = read_multipart(kind, body)
        return raw | fields, uploads
    raise Refused(400, "Bad Request: this test server can't read that content type")


def _json_object(body: bytes) -> Json:
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Refused(400, "Bad Request: can't parse JSON in the request body")
    return found


def read_multipart(kind: str, body: bytes) -> tuple[Json, dict[str, Upload]]:
    """The fields and the files of a multipart body."""
    head = email.message.Message()
    head["Content-Type"] = kind
    boundary = str(head.get_param("boundary"))
    fields: Json = {}
    uploads: dict[str, Upload] = {}
    for part in (b"\r\n" + body).split(b"\r\n--" + boundary.encode())[1:-1]:
        top, _, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        headers = email.message_from_bytes(top, policy=email.policy.HTTP)
        name = headers.get_param("name", header="Content-Disposition")
        filename = headers.get_filename()
        if filename is None:
            fields[str(name)] = content.decode()
        else:
            uploads[str(name)] = Upload(filename, content, headers.get_content_type())
    return fields, uploads
