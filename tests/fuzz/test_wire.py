"""The doors' wire: bytes of any kind over a real unix socket, read as a second, stricter reader reads them."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.door.http.server import HttpServer, ServerLimits
from tests.fuzzing import bounded
from tests.support.core_fixture import KEY
from tests.support.two_doors import TwoDoors, street_of

HEAD_BYTES, BODY_BYTES, UPLOAD_BYTES = 4_096, 1_000, 5_000


class Ear:
    """A server that notes what it was asked, behind a real socket."""

    def __init__(self, folder: Path) -> None:
        self.heard: list[tuple[str, str, bytes]] = []
        self._path = str(folder / "ear.sock")
        self.server = HttpServer()
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(self._path)
        listening.listen(16)
        listening.setblocking(False)
        limits = ServerLimits(header_bytes=HEAD_BYTES, body_bytes=BODY_BYTES, upload_bytes=UPLOAD_BYTES, read_s=5.0)
        self.server.add_listener(listening, self._app, limits=limits, environ={})

    def _app(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        body = b""
        while piece := environ["wsgi.input"].read(700):
            body += piece
        self.heard.append((environ["REQUEST_METHOD"], environ["REQUEST_URI"], body))
        start("200 OK", [("Content-Length", "2")])
        return [b"ok"]

    def say(self, data: bytes) -> bytes:
        """Everything that is answered to these bytes."""
        return said(self._path, data)


def said(path: str, data: bytes) -> bytes:
    """What comes back on a connection of its own, until its end."""
    got = b""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(30)
        client.connect(path)
        with suppress(BrokenPipeError, ConnectionResetError):
            client.sendall(data)
        with suppress(OSError):
            client.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            while more := client.recv(65536):
                got += more
    return got


@pytest.fixture
def ear(tmp_path: Path) -> Iterator[Ear]:
    """One server for all examples: none may break it."""
    made = Ear(tmp_path)
    yield made
    made.server.close()
    made.server.await_quiet()


_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Z-]+) (/[!-~\x80-\xff]*|\*|https?://[!-~]+) HTTP/1\.[01]\r\n")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\r\n\0]*)\r\n")


def strictly(data: bytes) -> list[tuple[str, bytes]]:
    """The methods and bodies of the requests in these bytes, up to the first that is doubtful."""
    found: list[tuple[str, bytes]] = []
    at = 0
    while True:
        if data.startswith(b"\r\n", at):  # one empty line before a request is allowed
            at += 2
        line = _REQUEST_LINE.match(data, at)
        if line is None:
            return found
        at, lengths = line.end(), []
        while header := _HEADER.match(data, at):
            at, name = header.end(), header[1].lower()
            if name == b"transfer-encoding":
                return found
            if name == b"content-length":
                lengths.append(header[2].strip(b" \t"))
        if (
            not data.startswith(b"\r\n", at)
            or len(lengths) > 1
            or (lengths and not re.fullmatch(rb"[0-9]{1,12}", lengths[0]))
        ):
            return found
        at += 2
        length = int(lengths[0]) if lengths else 0
        if len(data) < at + length:
            return found
        found.append((line[1].decode(), data[at : at + length]))
        at += length


_LINES = st.sampled_from(
    [b"GET / HTTP/1.1\r\n", b"POST /a HTTP/1.1\r\n", b"PUT /b?c HTTP/1.1\r\n", b"HEAD / HTTP/1.0\r\n",
     b"OPTIONS * HTTP/1.1\r\n", b"get / HTTP/1.1\r\n",
     b"GET http://door/ HTTP/1.1\r\n", b"GET /%00%2f.. HTTP/1.1\r\n", b"GET  / HTTP/1.1\r\n", b"GET / HTTP/1.1\n",
     b"GET / HTTP/2.0\r\n", b"GET /\r\n",
     b"POST / HTTP/1.1 \r\n", b"POST /\xff HTTP/1.1\r\n", b"CONNECT a:1 HTTP/1.1\r\n", b"\r\n",
     b"PUT /up HTTP/1.1\r\n", b"GET //x/../y HTTP/1.1\r\n",
     b"GET / HTTP/1.\xb2\r\n", b"GET /a;b=c#d HTTP/1.1\r\n", b"GET http://[ HTTP/1.1\r\n"]
)  # fmt: skip
_HEADERS = st.sampled_from(
    [b"Host: door\r\n", b"Host: a\r\nHost: b\r\n", b"Content-Length: 4\r\n", b"Content-Length: 5\r\n",
     b"content-length:0\r\n", b"Content-Length: 4, 4\r\n",
     b"Content-Length: +4\r\n", b"Content-Length : 4\r\n", b"Content-Length: 4_0\r\n", b"Content-Length: 0x4\r\n",
     b"Content-Length: \xb2\r\n",
     b"Content-Length: 1500\r\n", b"Content-Length: 900\r\n", b"Content-Length: 99999999999\r\n",
     b"Content-Length: 00004\r\n", b"Content-Length:\t4 \r\n",
     b"Transfer-Encoding: chunked\r\n", b"transfer-encoding: identity\r\n", b"Transfer_Encoding: chunked\r\n",
     b"Content_Length: 9\r\n", b"X: y\n",
     b"Transfer-Encoding : chunked\r\n", b" Transfer-Encoding: chunked\r\n", b"\tfolded\r\n", b"X: a\rb\r\n",
     b"X: a\0b\r\n", b"X\0: b\r\n", b"nothing\r\n",
     b": empty\r\n", b"Connection: close\r\n", b"Connection: keep-alive\r\n", b"Connection: Content-Length\r\n",
     b"Expect: 100-continue\r\n", b"X: \xff\r\n",
     b"X-Forwarded-Host: evil\r\n", b"Trailer: X\r\n", b"Upgrade: h2c\r\n", b"X:" + b" " * 3000 + b"\r\n",
     b"X: " + b"y" * 3000 + b"\r\n"]
)  # fmt: skip
_BODIES = st.sampled_from(
    [
        b"",
        b"abcd",
        b"abcde",
        b"0\r\n\r\n",
        b"4\r\nabcd\r\n0\r\n\r\n",
        b"GET /smuggled HTTP/1.1\r\nHost: door\r\n\r\n",
        b"z" * 900,
        b"z" * 1500,
        b"\r\n",
        b"\n",
    ]
)
_REQUESTS = st.builds(
    lambda line, headers, end, body: line + b"".join(headers) + end + body,
    _LINES, st.lists(_HEADERS, max_size=5), st.sampled_from([b"\r\n", b"\r\n", b"\r\n", b"\n", b"", b"\r\n\r\n"]),
    _BODIES,
)  # fmt: skip
_GOOD = st.builds(
    lambda method, body: b"%s / HTTP/1.1\r\nHost: door\r\nContent-Length: %d\r\n\r\n%s" % (method, len(body), body),
    st.sampled_from([b"GET", b"POST", b"PUT"]), _BODIES,
)  # fmt: skip


@st.composite
def _streams(draw: st.DrawFn) -> bytes:
    """Requests behind one another, with a few bytes changed."""
    data = b"".join(draw(st.lists(_GOOD | _REQUESTS, min_size=1, max_size=4)))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(data)))
        data = (
            data[:at]
            + draw(st.sampled_from([b"", b"\r", b"\n", b"\r\n", b" ", b"\0", b":", b"\x0b", b"\x85", b"0", b"\xff"]))
            + data[at + draw(st.integers(0, 2)) :]
        )
    return data


@bounded(300)
@given(_streams() | st.binary(max_size=300))
def test_no_request_is_smuggled(ear: Ear, data: bytes) -> None:
    """What the application is asked is a beginning of what a strict reader of the same bytes finds, body by body; all
    answers are well-formed, and nothing is a 500."""
    ear.heard.clear()
    got = ear.say(data)
    wanted = strictly(data)
    assert [(method, body) for method, _, body in ear.heard] == wanted[: len(ear.heard)]
    statuses = re.findall(rb"HTTP/1\.1 ([0-9]{3})", got)
    assert not got or got.startswith(b"HTTP/1.1 ")
    assert b"500" not in statuses
    assert statuses.count(b"200") >= len([method for method, _, _ in ear.heard]) - 1
    assert ear.say(b"GET /fine HTTP/1.1\r\nHost: door\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1 200")


# --- what a door is told ---------------------------------------------------------------------------------------

_KEYS = st.sampled_from(
    ["phase", "n", "turn", "thought", "command", "approval", "output", "exit_code", "ended", "status", "message",
     "error", "action", "actions", "call",
     "name", "fields", "messages", "model", "tools", "max_tokens", "text", "role", "content", "x"]
)  # fmt: skip
_TEXTS = st.text(max_size=10) | st.sampled_from(
    [
        "start",
        "output",
        "end",
        "actions",
        "done",
        "failed",
        "idle",
        "exited",
        "stopped",
        "MEMORY_ADD",
        "STATUS",
        "ls",
        "rm -rf x",
        "\0",
        "\ud800",
        "a" * 40,
        "user",
    ]
)
_LEAVES = (
    st.none()
    | st.booleans()
    | st.sampled_from([0, 1, 2, -1, 2**31, 2**53, 2**63, 2**64, -(2**63), 1.5, 1e308])
    | _TEXTS
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS | _TEXTS, inner, max_size=4),
    max_leaves=8,
)
_RAW = st.sampled_from(
    [b"", b"{", b"null", b"[]", b'{"n":1,"n":2}', b'{"n":NaN}', b'{"n":1e999}', b'{"n":' + b"9" * 5000 + b"}",
     b'{"a":' * 5000, b"[" * 20000, b"\xff\xfe{\0}\0",
     b'{"command":"\\ud800"}', b'{"x":"\xed\xa0\x80"}', b'\xef\xbb\xbf{"n":1}', b'{"n":1} x',
     b'{"n":-0,"phase":"start"}', b'{"n":1.0,"phase":"start"}', b'{"n":true}']
)  # fmt: skip
_SENT = st.one_of(
    st.dictionaries(_KEYS, _VALUES, max_size=7).map(lambda value: json.dumps(value).encode()),
    _RAW,
    st.binary(max_size=60),
)
_PATHS = st.sampled_from(
    ["POST turns/1/steps", "POST turns/1/finish", "POST turns/2/steps", "POST turns/9007199254740991/steps",
     "POST turns/9007199254740992/finish", "POST turns/-1/steps",
     "POST approvals", "POST llm", "POST status", "POST calls", "GET calls/x?wait=0", "GET calls/%00?wait=0",
     "GET calls", "GET memories?q=%ff%00%F0%9F%A6", "GET memories",
     "GET turns/next?boot=b&wait=0", "GET turns/next?boot=%00&wait=-1", "GET turns/next?boot=b&wait=%D9%A3",
     "GET turns/next?boot=b&wait=1e9", "GET turns/1/waited?since=9e9",
     "GET turns/1/waited?since=1", "GET streams?wait=0", "POST ../../api/users", "POST //llm", "PUT llm",
     "DELETE turns/1/steps", "POST turns/%31/steps", "GET turns/next"]
)  # fmt: skip
_TYPES = st.sampled_from(
    [
        "application/json",
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded",
        "",
        "\xff/;=,",
    ]
)


@pytest.fixture
def street(tmp_path: Path) -> Iterator[TwoDoors]:
    """Doors with the install's rules behind them, and a turn under way."""
    with street_of(tmp_path / "home") as made:
        yield made


@bounded(250)
@given(_PATHS, _SENT, _TYPES)
def test_a_door_takes_anything(street: TwoDoors, where: str, body: bytes, kind: str) -> None:
    """Whatever a cubicle sends through its door is answered with JSON and a status of the door's own, never with 500,
    and the door works on."""
    if not street.rooms.turns.list_held(KEY):
        street.rooms.under_way()
    method, path = where.split(" ")
    head = (
        f"{method} /api/internal/{path} HTTP/1.1\r\nHost: door\r\nConnection: close\r\nContent-Length: {len(body)}\r\n"
    )
    got = said(str(street.door(KEY)), head.encode() + b"Content-Type: " + kind.encode("latin-1") + b"\r\n\r\n" + body)
    top, _, answer = got.partition(b"\r\n\r\n")
    assert int(top.split(b" ")[1]) in (200, 204, 400, 402, 404, 405, 409, 413, 429, 503), (top, answer)
    assert not answer or isinstance(json.loads(answer), dict)
    assert b"Traceback" not in answer
    assert street.post("status", {"status": "idle"}) == (200, {})
