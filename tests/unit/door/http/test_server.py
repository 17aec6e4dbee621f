"""``orchestrator.door.http.server`` and ``http_framing``: doubtful requests are refused, floods stay where they
are, nothing is left behind.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from orchestrator.door.http import connection_limits as crowd
from orchestrator.door.http.server import HttpServer, Listener, ServerLimits

SLOW_S = 15.0


def _app(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
    """Says what it was asked, and whose door it was."""
    if environ["PATH_INFO"] == "/unread":
        start("403 Forbidden", [("Content-Length", "0")])
        return []
    body = environ["wsgi.input"].read()
    if environ["PATH_INFO"] == "/wait":
        environ["test.doors"].waiting += 1
        environ["test.gate"].wait(SLOW_S)
    if environ["PATH_INFO"] == "/break":
        raise ZeroDivisionError
    if environ["PATH_INFO"] == "/same":
        start("304 Not Modified", [])
        return Opened(environ, [])
    if environ["PATH_INFO"] == "/long":
        start("200 OK", [("Content-Length", str(1 << 20))])
        return Opened(environ, [bytes(1 << 16)] * 16)
    if environ["PATH_INFO"] == "/late":
        start("200 OK", [("Content-Length", "1")])
        return Opened(environ, (1 // 0 for _ in range(1)))
    told = {"door": environ.get("test.door"), "path": environ["PATH_INFO"], "body": body.decode("latin-1")}
    answer = json.dumps(told | {"names": sorted(k for k in environ if k.startswith("HTTP_"))}).encode()
    start("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(answer)))])
    return [answer]


class Opened:
    """An answer that holds something open, as a file's does; sets ``test.closed`` when it is closed."""

    def __init__(self, environ: dict[str, Any], chunks: Iterable[Any]) -> None:
        self._environ = environ
        self._chunks = chunks

    def __iter__(self) -> Iterator[Any]:
        self._environ["test.opened"].set()
        self._environ["test.gate"].wait(SLOW_S)
        return iter(self._chunks)

    def close(self) -> None:
        self._environ["test.closed"].set()


class Doors:
    """A server with doors in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = HttpServer()
        self.gate, self.opened, self.closed = threading.Event(), threading.Event(), threading.Event()
        self.clients: list[socket.socket] = []
        self.waiting = 0

    def add(self, name: str, **limits: Any) -> Listener:
        """Another door."""
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(str(self.folder / name))
        listening.listen(256)
        listening.setblocking(False)
        told = {
            "test.doors": self,
            "test.door": name,
            "test.gate": self.gate,
            "test.opened": self.opened,
            "test.closed": self.closed,
        }
        return self.server.add_listener(listening, _app, limits=ServerLimits(**limits), environ=told)

    def connect(self, name: str) -> socket.socket:
        """A client's connection."""
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.settimeout(SLOW_S)
        self.clients.append(client)
        client.connect(str(self.folder / name))
        return client

    def say(self, name: str, data: bytes) -> bytes:
        """Send on a fresh connection; what comes until it is closed or has answered once."""
        with closing(self.connect(name)) as client:
            return _exchange(client, data)

    def close(self) -> None:
        """Nobody is there any more."""
        self.gate.set()
        for client in self.clients:
            client.close()
        self.server.close()
        self.server.await_quiet()


@pytest.fixture
def doors(tmp_path: Path) -> Iterator[Doors]:
    """A server with one door, ``a``."""
    with closing(Doors(tmp_path)) as made:
        made.add("a", read_s=1.0)
        yield made


def _exchange(client: socket.socket, data: bytes) -> bytes:
    client.sendall(data)
    return _answer(client)


def _answer(client: socket.socket) -> bytes:
    got = b""
    while True:
        try:
            more = client.recv(65536)
        except ConnectionResetError:
            return got
        got += more
        head, end, rest = got.partition(b"\r\n\r\n")
        length = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        if not more or (end and length and len(rest) >= int(length[0].split(b":")[1])):
            return got


def _until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SLOW_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _is_closed(client: socket.socket) -> bool:
    try:
        return client.recv(65536) == b""
    except ConnectionResetError:
        return True


def _status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


def _get(path: str = "/", *headers: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: door", *headers, "", ""]).encode()


def _post(body: bytes, *headers: str, path: str = "/") -> bytes:
    return b"\r\n".join([f"POST {path} HTTP/1.1".encode(), b"Host: door", *(h.encode() for h in headers), b"", body])


# --- ordinary requests -----------------------------------------------------------------------------------------


def test_answers_one_after_the_other_on_a_kept_connection(doors: Doors) -> None:
    """Body, path and door are what they are."""
    client = doors.connect("a")
    for n in range(3):
        body = f"n={n}".encode()
        answer = _exchange(client, _post(body, f"Content-Length: {len(body)}"))
        told = json.loads(answer.partition(b"\r\n\r\n")[2])
        assert (told["door"], told["body"]) == ("a", f"n={n}")


def test_pipelined_requests_are_answered_in_order(doors: Doors) -> None:
    """Both, on one connection."""
    client = doors.connect("a")
    client.sendall(_get("/one") + _get("/two", "Connection: close"))
    got = b""
    while more := client.recv(65536):
        got += more
    assert got.index(b"/one") < got.index(b"/two")


def test_the_door_can_not_be_named_in_a_request(doors: Doors) -> None:
    """Whatever the headers say, it is the socket's."""
    answer = doors.say("a", _get("/", "test.door: b", "Test-Door: b", "X-Sandbox-ID: b"))
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["door"] == "a"


def test_an_application_that_breaks_is_a_500_and_the_next_one_works(doors: Doors) -> None:
    """One bad request never ends the server."""
    assert _status(doors.say("a", _get("/break"))) == 500
    assert _status(doors.say("a", _get())) == 200


# --- framing ---------------------------------------------------------------------------------------------------

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: door\r\n\r\n"
DOUBTFUL = {
    "length and chunks": _post(b"0\r\n\r\n" + SMUGGLED, "Content-Length: 4", "Transfer-Encoding: chunked"),
    "chunks": _post(b"0\r\n\r\n" + SMUGGLED, "Transfer-Encoding: chunked"),
    "odd chunks": _post(b"0\r\n\r\n" + SMUGGLED, "Transfer-Encoding: xchunked"),
    "two lengths": _post(b"abcd" + SMUGGLED, "Content-Length: 4", "Content-Length: 5"),
    "the same length twice": _post(b"abcd" + SMUGGLED, "Content-Length: 4", "content-length: 4"),
    "a list of lengths": _post(b"abcd" + SMUGGLED, "Content-Length: 4, 4"),
    "a signed length": _post(b"abcd" + SMUGGLED, "Content-Length: +4"),
    "a negative length": _post(b"abcd" + SMUGGLED, "Content-Length: -4"),
    "a length in hex": _post(b"abcd" + SMUGGLED, "Content-Length: 0x4"),
    "an underscored length": _post(b"abcd" + SMUGGLED, "Content-Length: 1_0"),
    "an endless length": _post(b"abcd" + SMUGGLED, "Content-Length: " + "9" * 13),
    "an empty length": _post(b"abcd" + SMUGGLED, "Content-Length:"),
    "an underscore": _post(b"abcd" + SMUGGLED, "Content-Length: 40", "Content_Length: 4"),
    "an underscore alone": _post(b"abcd" + SMUGGLED, "Content_Length: 4"),
    "chunks with an underscore": _post(b"0\r\n\r\n" + SMUGGLED, "Transfer_Encoding: chunked"),
    "two hosts with an underscore": _get("/", "HOST_: x", "Content_Type: x") + SMUGGLED,
    "a folded header": _get("/", "X-A: 1", " folded: 2") + SMUGGLED,
    "a blank before the colon": _post(b"abcd" + SMUGGLED, "Content-Length : 4"),
    "no colon": _get("/", "Nothing") + SMUGGLED,
    "no name": _get("/", ": x") + SMUGGLED,
    "two hosts": _get("/", "Host: other") + SMUGGLED,
    "bare line feeds": b"GET / HTTP/1.1\nHost: door\n\n" + SMUGGLED,
    "one bare line feed": b"GET / HTTP/1.1\r\nHost: door\nX: y\r\n\r\n" + SMUGGLED,
    "a bare carriage return": b"GET / HTTP/1.1\r\nHost: door\r\nX: a\rY: b\r\n\r\n" + SMUGGLED,
    "a NUL": b"GET / HTTP/1.1\r\nHost: door\r\nX: a\0b\r\n\r\n" + SMUGGLED,
    "absolute form": _get("http://door/") + SMUGGLED,
    "another scheme": _get("https://evil.example/") + SMUGGLED,
    "no URL at all": _get("http://[") + SMUGGLED,
    "a fragment": _get("/#a") + SMUGGLED,
    "no path": _get("door") + SMUGGLED,
    "connect": b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n" + SMUGGLED,
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SMUGGLED,
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n" + SMUGGLED,
    "no version": b"GET /\r\n\r\n" + SMUGGLED,
    "a carriage return before it": b"\rGET / HTTP/1.1\r\nHost: door\r\n\r\n" + SMUGGLED,
    "a blank behind it": b"GET / HTTP/1.1 \r\nHost: door\r\n\r\n" + SMUGGLED,
    "a tab in the target": b"GET /a\tb HTTP/1.1\r\nHost: door\r\n\r\n" + SMUGGLED,
    "an odd version": b"GET / HTTP/+1.1\r\nHost: door\r\n\r\n" + SMUGGLED,
    "a small method": b"get / HTTP/1.1\r\nHost: door\r\n\r\n" + SMUGGLED,
    "a huge header": _get("/", "X-A: " + "x" * 40_000) + SMUGGLED,
    "many headers": _get("/", *(f"X-{n}: y" for n in range(5_000))) + SMUGGLED,
    "a huge path": _get("/" + "x" * 40_000) + SMUGGLED,
    "a body over the cap": _post(b"", f"Content-Length: {17 * 2**20}") + SMUGGLED,
}


@pytest.mark.parametrize("request_", DOUBTFUL.values(), ids=DOUBTFUL)
def test_doubtful_requests_are_refused_and_end_their_connection(doors: Doors, request_: bytes) -> None:
    """A 4xx (505 for another HTTP) and nothing that was behind it is ever looked at; the next client is served."""
    client = doors.connect("a")
    got = b""
    with suppress(BrokenPipeError, ConnectionResetError):  # it was refused before it was whole
        client.sendall(request_)
    with suppress(ConnectionResetError):
        while more := client.recv(65536):
            got += more
    assert _status(got) in (0, 400, 405, 413, 414, 431, 505)
    assert b"smuggled" not in got
    assert got.count(b"HTTP/1.1 ") <= 1
    assert _status(doors.say("a", _get())) == 200


SAFETY = {b"Content-Security-Policy: default-src 'none'", b"X-Content-Type-Options: nosniff", b"X-Frame-Options: DENY"}
"""What a browser is told with every answer, these included."""


@pytest.mark.parametrize(
    ("request_", "status", "code"),
    [
        (DOUBTFUL["chunks"], 400, "bad_input"),
        (DOUBTFUL["a body over the cap"], 413, "too_large"),
        (_get("/", "X-A: " + "x" * 40_000), 413, "too_large"),
        (_get("/" + "x" * 40_000), 414, "request_uri_too_long"),
        (b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n", 405, "method_not_allowed"),
        (_get("/break"), 500, "internal"),
    ],
)
def test_what_is_refused_down_here_is_told_as_by_the_application(
    doors: Doors, request_: bytes, status: int, code: str
) -> None:
    """As JSON with a code and a sentence, and it arrives while its client still sends."""
    client = doors.connect("a")
    client.sendall(request_ + b"x" * 1_000_000)
    head, _, body = _answer(client).partition(b"\r\n\r\n")
    error = json.loads(body)["error"]
    assert (_status(head), error["code"], b"application/json" in head) == (status, code, True)
    assert error["message"].endswith(".")
    assert {name for name in SAFETY if name not in head} == set()


def test_a_header_with_an_underscore_is_not_told(doors: Doors) -> None:
    """It could pass for the one with a hyphen, which a proxy in front of us may have set or taken out."""
    answer = doors.say("a", _get("/", "X-Forwarded-Proto: https", "X_Forwarded_Proto: http", "X_CSRF_Token: y"))
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["names"] == ["HTTP_HOST", "HTTP_X_FORWARDED_PROTO"]


# --- slow clients and floods -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "beginning",
    [b"GE", b"GET / HTTP/1.1\r\nHost: do", _post(b"abc", "Content-Length: 10")],
    ids=["line", "header", "body"],
)
def test_a_request_that_does_not_arrive_is_cut(doors: Doors, beginning: bytes) -> None:
    """After ``read_s``, however it drips."""
    client = doors.connect("a")
    client.sendall(beginning)
    began = time.monotonic()
    assert b"200 OK" not in _answer(client)
    assert time.monotonic() - began < SLOW_S


def test_a_dripping_client_is_cut_too(doors: Doors) -> None:
    """A byte now and then buys no time."""
    client = doors.connect("a")
    client.sendall(b"GET / HTTP/1.1\r\nX: ")
    cut = threading.Event()

    def drip() -> None:
        try:
            while not cut.wait(0.05):
                client.sendall(b"x")
        except OSError:
            return

    dripping = threading.Thread(target=drip)
    dripping.start()
    assert b"200 OK" not in _answer(client)
    cut.set()
    dripping.join(SLOW_S)


def test_a_handler_may_take_longer_than_a_request_may(doors: Doors) -> None:
    """The time is for reading; a long poll is no slow client."""
    doors.add("b", read_s=0.1)
    client = doors.connect("b")
    client.sendall(_get("/wait"))
    threading.Timer(1.6, doors.gate.set).start()
    assert _status(_answer(client)) == 200


def test_idle_connections_end(doors: Doors) -> None:
    """A kept connection without a request is closed after ``idle_s``."""
    doors.add("b", idle_s=0.1)
    client = doors.connect("b")
    assert _status(_exchange(client, _get())) == 200
    assert _is_closed(client)


def test_two_hundred_silent_connections_leave_other_doors_alone(doors: Doors) -> None:
    """The flooder fills its own queue; threads and descriptors of ours stay few."""
    doors.add("flooded", connections=8)
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - descriptors, not files
    for _ in range(200):
        doors.connect("flooded")
    began = time.monotonic()
    assert _status(doors.say("a", _get())) == 200
    assert time.monotonic() - began < SLOW_S
    assert sum(thread.name == "http" for thread in threading.enumerate()) <= 10
    assert len(os.listdir("/proc/self/fd")) - before - 201 <= 12  # noqa: PTH208 - as above; 201 are the clients'


def test_a_body_is_not_waited_for_before_the_application_decides(doors: Doors) -> None:
    """What is refused by its headers is answered while its body is still at home; the connection ends then."""
    doors.add("b", body_bytes=1 << 30)
    client = doors.connect("b")
    got = _exchange(client, _post(b"", f"Content-Length: {1 << 29}", path="/unread"))
    assert _status(got) == 403
    assert _is_closed(client)


def test_a_short_body_that_nobody_read_does_not_end_the_connection(doors: Doors) -> None:
    """It has come together with its head."""
    client = doors.connect("a")
    for _ in range(3):
        assert _status(_exchange(client, _post(b"{}", "Content-Length: 2", path="/unread"))) == 403


def test_a_crowd_of_silent_clients_keeps_nobody_out(doors: Doors) -> None:
    """Who only waits makes room for who asks, again and again."""
    doors.add("busy", connections=8, makes_room=True)
    for _ in range(20):
        for _ in range(20):
            doors.connect("busy")
        assert _status(doors.say("busy", _get())) == 200
    _until(lambda: sum(thread.name == "http" for thread in threading.enumerate()) <= 10)


@pytest.mark.parametrize(
    "beginning",
    [b"GE", b"GET / HTTP/1.1\r\nHost: do", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc"],
    ids=["line", "header", "body"],
)
def test_a_crowd_that_never_ends_its_requests_keeps_nobody_out(doors: Doors, beginning: bytes) -> None:
    """However far they come."""
    doors.add("busy", connections=8, makes_room=True, read_s=SLOW_S)
    for _ in range(40):
        doors.connect("busy").sendall(beginning)
    assert _status(doors.say("busy", _get())) == 200


def test_a_crowd_that_has_asked_keeps_nobody_out(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds all places between two requests; who comes then is served, also after a moment of silence."""
    monkeypatch.setattr(crowd, "GRACE_S", SLOW_S)  # a moment is long where the machine is slow
    doors.add("busy", connections=8, makes_room=True)
    for client in [doors.connect("busy") for _ in range(8)]:
        assert _status(_exchange(client, _get())) == 200
    honest = doors.connect("busy")
    for _ in range(4):
        doors.connect("busy")
    time.sleep(0.1)
    assert _status(_exchange(honest, _get())) == 200


def test_work_under_way_makes_no_room(doors: Doors) -> None:
    """A new client waits for one of those that are served, and each of them gets its answer."""
    doors.add("busy", connections=4, makes_room=True)
    served = [doors.connect("busy") for _ in range(4)]
    for client in served:
        client.sendall(_get("/wait"))
    _until(lambda: doors.waiting >= 4)
    late = doors.connect("busy")
    late.sendall(_get())
    late.settimeout(0.3)
    with pytest.raises(TimeoutError):
        late.recv(1)
    late.settimeout(SLOW_S)
    doors.gate.set()
    assert [_status(_answer(client)) for client in (*served, late)] == [200] * 5


def test_a_full_door_serves_again_when_a_place_is_free(doors: Doors) -> None:
    """Whoever waited is served then."""
    doors.add("b", connections=2)
    holders = [doors.connect("b") for _ in range(2)]
    for holder in holders:
        assert _status(_exchange(holder, _get())) == 200
    waiting = doors.connect("b")
    waiting.sendall(_get())
    waiting.settimeout(0.1)
    with pytest.raises(TimeoutError):
        waiting.recv(1)
    holders[0].close()
    waiting.settimeout(SLOW_S)
    assert _status(_answer(waiting)) == 200


def test_a_busy_door_does_not_lose_its_waiters(doors: Doors) -> None:
    """A hundred short connections through a door of two places: every one is answered."""
    doors.add("b", connections=2)
    answers: list[int] = []

    def ask() -> None:
        answers.extend([_status(doors.say("b", _get("/", "Connection: close"))) for _ in range(10)])

    threads = [threading.Thread(target=ask) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert answers == [200] * 100


def test_without_a_descriptor_left_it_waits_and_goes_on(doors: Doors) -> None:
    """Accepting survives; as soon as there is room again clients are served."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    client = doors.connect("a")
    waiting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    doors.clients.append(waiting)
    waiting.settimeout(SLOW_S)
    used = max(int(name) for name in os.listdir("/proc/self/fd"))  # noqa: PTH208 - as above
    resource.setrlimit(resource.RLIMIT_NOFILE, (used, hard))
    try:
        waiting.connect(str(doors.folder / "a"))
        waiting.sendall(_get())
        time.sleep(0.1)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert _status(_answer(waiting)) == 200
    assert _status(_exchange(client, _get())) == 200
    assert doors.server.is_accepting


# --- coming and going ------------------------------------------------------------------------------------------


def test_doors_come_and_go_while_others_serve(doors: Doors) -> None:
    """A removed one answers nobody, on old connections neither; removing again is fine."""
    for n in range(20):
        listener = doors.add(f"d{n}")
        client = doors.connect(f"d{n}")
        assert _status(_exchange(client, _get())) == 200
        doors.server.remove_listener(listener)
        doors.server.remove_listener(listener)
        assert _is_closed(client)
        with pytest.raises(ConnectionRefusedError):
            doors.connect(f"d{n}")
        assert _status(doors.say("a", _get())) == 200


def test_a_removed_door_cuts_what_is_under_way(doors: Doors) -> None:
    """Its long polls end without an answer."""
    listener = doors.add("b")
    client = doors.connect("b")
    client.sendall(_get("/wait"))
    doors.server.remove_listener(listener)
    assert _answer(client) == b""


def test_nothing_is_left_after_close(tmp_path: Path) -> None:
    """No thread, no descriptor, with connections in every state."""
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208 - as above
    doors = Doors(tmp_path)
    doors.add("a", connections=4)
    idle = doors.connect("a")
    assert _status(_exchange(idle, _get())) == 200
    doors.connect("a").sendall(b"GE")
    doors.connect("a").sendall(_get("/wait"))
    for _ in range(5):
        doors.connect("a")
    doors.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("http")]
    assert set(os.listdir("/proc/self/fd")) - before == set()  # noqa: PTH208 - as above


def test_a_client_that_breaks_off_is_no_news(doors: Doors, caplog: pytest.LogCaptureFixture) -> None:
    """Half a body gets no answer, and nothing in the log that somebody could fill."""
    client = doors.connect("a")
    client.sendall(_post(b"abc", "Content-Length: 10"))
    client.shutdown(socket.SHUT_WR)
    assert _answer(client) == b""
    assert not [record for record in caplog.records if record.levelname != "DEBUG"]


@pytest.mark.parametrize("path", ["/same", "/long"])
def test_what_an_answer_opened_is_closed_when_its_client_has_gone(doors: Doors, path: str) -> None:
    """Whether the first bytes that can't be sent are a body's or the head of an answer that has none."""
    client = doors.connect("a")
    client.sendall(_get(path))
    assert doors.opened.wait(SLOW_S)
    client.close()
    doors.gate.set()
    assert doors.closed.wait(SLOW_S)


def test_an_answer_that_breaks_before_its_first_byte_is_a_500(doors: Doors) -> None:
    """However far the application had said that all is well."""
    doors.gate.set()
    assert _status(doors.say("a", _get("/late"))) == 500
    assert doors.closed.wait(SLOW_S)


def test_a_door_that_is_gone_leaves_nothing_in_memory(tmp_path: Path) -> None:
    """Cubicles come and go for months in one process."""

    class App:
        def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
            return _app(environ, start)

    server, app = HttpServer(), App()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tmp_path / "door"))
    listening.listen()
    listening.setblocking(False)
    server.remove_listener(server.add_listener(listening, app, limits=ServerLimits(), environ={}))
    is_there = weakref.ref(app)
    del app
    server.close()
    gc.collect()
    assert is_there() is None
