"""The preview origin with apps that are servers inside: requests, streams, sockets, and servers that misbehave."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from orchestrator.apps.previews import live_proxy as lives
from orchestrator.apps.previews import routes
from orchestrator.apps.previews.proxy_headers import rewrite_location, with_prefix
from tests.support.core_fixture import KEY, at_once, core_fixture
from tests.support.preview_fixture import PreviewFixture, preview_install

BASE = "http://localhost:3001/a/T.S/"


class Handler(BaseHTTPRequestHandler):
    """A server as an agent may write one."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        return

    def do_GET(self) -> None:
        """A path, a page."""
        path = self.path.partition("?")[0]
        work = getattr(self, "page_" + path.strip("/").replace("/", "_"), None)
        if work is None:
            self.say(404, b"no such page")
        else:
            work()

    def do_HEAD(self) -> None:
        """The same without its body."""
        self.do_GET()

    def do_POST(self) -> None:
        """What was sent comes back."""
        if self.headers.get("Transfer-Encoding") == "chunked":
            parts = []
            while (size := int(self.rfile.readline(), 16)) > 0:
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            self.say(200, b"".join(parts))
        else:
            self.say(200, self.rfile.read(int(self.headers["Content-Length"])), ("Content-Type", "text/plain"))

    def page_(self) -> None:
        """The front page."""
        page = b'<!doctype html><head></head><a href="/next">n</a><img src=\'/i.png\'><a href="//other/x">o</a>'
        self.say(200, page, ("Content-Type", "text/html; charset=utf-8"))

    def page_headers(self) -> None:
        """What the server was told."""
        self.say(200, json.dumps(dict(self.headers.items())).encode(), ("Content-Type", "application/json"))

    def page_away(self) -> None:
        """A redirect to anywhere."""
        self.say(302, b"", ("Location", self.path.partition("?")[2]))

    def page_cookies(self) -> None:
        """Sets one, and says which came."""
        extra = ("Set-Cookie", "session=abc; Path=/; HttpOnly")
        self.say(200, self.headers.get("Cookie", "").encode(), extra, ("Content-Type", "text/plain"))

    def page_loud(self) -> None:
        """Headers that say too much."""
        extra = [
            ("Link", "<https://evil.example>; rel=preload"),
            ("Refresh", "0; url=https://evil.example"),
            ("Content-Security-Policy", "default-src *"),
            ("Access-Control-Allow-Credentials", "true"),
            ("X-Frame-Options", "ALLOWALL"),
            ("Clear-Site-Data", '"*"'),
            ("Content-Type", "text/plain"),
        ]
        self.say(200, b"loud", *extra)

    def page_events(self) -> None:
        """Server-sent events, one after the other."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        with suppress(OSError):
            for number in range(3):
                self.wfile.write(f"data: {number}\n\n".encode())
                time.sleep(0.1)
        self.close_connection = True

    def page_socket(self) -> None:
        """A WebSocket that sends back what comes, by its frames' bytes."""
        key = self.headers["Sec-WebSocket-Key"]
        accept = base64.b64encode(
            hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode(), usedforsecurity=False).digest()
        ).decode()
        self.send_response(101)
        for name, value in (("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept)):
            self.send_header(name, value)
        self.end_headers()
        with suppress(OSError):
            while piece := self.connection.recv(4096):
                self.connection.sendall(piece)
        self.close_connection = True

    def say(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        """An answer."""
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@pytest.fixture
def install(tmp_path: Path) -> Iterator[PreviewFixture]:
    """An origin with one live app."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    with core_fixture(tmp_path / "home") as made, preview_install(made.home, made.store) as previews:
        previews.write("live/app.json", json.dumps({"port": server.server_port, "title": "Live"}))
        previews.sail()
        yield previews
    server.shutdown()
    server.server_close()


def test_a_page_of_a_server_inside(install: PreviewFixture) -> None:
    """With the same walls as any app, its root-relative links led below the app."""
    ticket = install.ticket("live")
    got = install.get(f"/a/{ticket}/")
    assert got.status == 200
    assert got.policy["sandbox"].startswith("allow-scripts")
    body = got.body.decode()
    assert body.startswith('<!doctype html><script src="')
    prefix = f"/a/{ticket}/"
    assert f'href="{prefix}' in body
    assert f"src='{prefix}" in body
    assert 'href="//other/x"' in body
    assert install.app("live", "nothing").status == 404


def test_the_server_knows_where_it_is_seen(install: PreviewFixture) -> None:
    """And nothing of the browser's that is not its business."""
    ticket = install.ticket("live")
    got = install.get(
        f"/a/{ticket}/headers?x=1",
        Cookie="dashboard=secret",
        Authorization="Bearer x",
        Origin="null",
        Referer="http://x",
    )
    told = {name.lower(): value for name, value in json.loads(got.body).items()}
    assert told["x-forwarded-prefix"] == f"/a/{ticket}"
    assert told["x-forwarded-host"] == f"localhost:{install.port}"
    assert told["origin"] == f"http://{told['host']}"
    assert not {"cookie", "authorization", "referer", "sec-fetch-dest"} & set(told)


def test_bodies_go_both_ways(install: PreviewFixture) -> None:
    """Large ones too, of known and of unknown length."""
    blob = os.urandom(3_000_000)
    assert install.app("live", "echo", method="POST", body=blob).body == blob
    connection = http.client.HTTPConnection("localhost", install.port, timeout=20)
    connection.request("POST", f"/a/{install.ticket('live')}/echo", body=iter([b"one", b"two"]), encode_chunked=True)
    assert connection.getresponse().read() == b"onetwo"
    connection.close()


def test_events_come_as_they_are_written(install: PreviewFixture) -> None:
    """Not at the end."""
    connection = http.client.HTTPConnection("localhost", install.port, timeout=20)
    connection.request("GET", f"/a/{install.ticket('live')}/events")
    answer = connection.getresponse()
    assert answer.getheader("Content-Type") == "text/event-stream"
    assert answer.readline() == b"data: 0\n"
    assert answer.read().endswith(b"data: 2\n\n")
    connection.close()


def test_a_web_socket(install: PreviewFixture) -> None:
    """Agreed to by the server, then bytes both ways until one side ends it."""
    with socket.create_connection(("localhost", install.port), timeout=20) as browser:
        browser.sendall(
            f"GET /a/{install.ticket('live')}/socket HTTP/1.1\r\n"
            f"Host: localhost:{install.port}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-Fetch-Dest: empty\r\n\r\n".encode()
        )
        heard = b""
        while b"\r\n\r\n" not in heard:
            heard += browser.recv(4096)
        assert heard.startswith(b"HTTP/1.1 101")
        assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in heard
        for said in (b"\x81\x05hello", b"\x82" + b"x" * 1000):
            browser.sendall(said)
            back = b""
            while len(back) < len(said):
                back += browser.recv(4096)
            assert back == said
    deadline = time.monotonic() + 20
    while install.reverse_tunnel.count_streams(KEY) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert install.reverse_tunnel.count_streams(KEY) == 0


def test_headers_pass_by_name(install: PreviewFixture) -> None:
    """What could load, redirect, loosen or wipe something does not."""
    got = install.app("live", "loud")
    assert got.body == b"loud"
    assert not {"link", "refresh", "x-frame-options", "clear-site-data"} & set(got.headers)
    assert "access-control-allow-credentials" not in got.headers
    assert got.policy["default-src"] == "'none'"


def test_cookies_stay_on_the_host(install: PreviewFixture) -> None:
    """The server gets its own back; the browser never sees one; another visit has none."""
    ticket = install.ticket("live")
    first, second = (install.get(f"/a/{ticket}/cookies") for _ in range(2))
    assert (first.body, second.body) == (b"", b"session=abc")
    assert "set-cookie" not in first.headers
    assert install.get(f"/a/{install.ticket('live', good_for_s=999)}/cookies").body == b""


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("/x?a=1#b", "/a/T.S/x?a=1#b"),
        ("/a/T.S/x", "/a/T.S/x"),
        ("x/y", "x/y"),
        ("../y", "../y"),
        ("http://localhost:8080/x", "/a/T.S/x"),
        ("http://127.0.0.1/x", "/a/T.S/x"),
        ("http://localhost:3001/x", "/a/T.S/x"),
        ("https://evil.example/x", None),
        ("//evil.example/x", None),
        ("\\\\evil.example/x", None),
        ("/\\evil.example/x", None),
        ("\t//evil.example/x", None),
        ("javascript:alert(1)", None),
        ("data:text/html,x", None),
        ("http://[::1", None),
    ],
)
def test_redirects_stay_within(place: str, found: str | None) -> None:
    """One that leads elsewhere leads nowhere."""
    assert rewrite_location(place, base=BASE) == found


def test_a_redirect_elsewhere_is_not_told(install: PreviewFixture) -> None:
    """The browser hears of the one, not of the other."""
    ticket = install.ticket("live")
    assert install.get(f"/a/{ticket}/away?/next").headers["location"] == f"/a/{ticket}/next"
    assert "location" not in install.get(f"/a/{ticket}/away?https://evil.example/").headers


def test_links_are_led_once() -> None:
    """A framework that heeds the prefix is not helped twice."""
    page = b'<a href="/x"><a href="/a/T.S/y"><a href="z"><form action="/f">'
    assert with_prefix(page, BASE) == (b'<a href="/a/T.S/x"><a href="/a/T.S/y"><a href="z"><form action="/a/T.S/f">')


def _rogue(work: Callable[[socket.socket], None]) -> tuple[int, socket.socket]:
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                connection.settimeout(20)
                threading.Thread(target=_heard_and_worked, args=(work, connection), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    return server.getsockname()[1], server


def _heard_and_worked(work: Callable[[socket.socket], None], connection: socket.socket) -> None:
    with connection, suppress(OSError):
        connection.recv(65536)
        work(connection)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 999999 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n folded\r\n\r\n",
    ],
    ids=["nothing", "ssh", "two lengths", "long head", "status", "folded"],
)
def test_servers_that_speak_no_http(install: PreviewFixture, answer: bytes) -> None:
    """A page says so, and the next request of another app is served."""
    port, server = _rogue(lambda connection: connection.sendall(answer))
    install.write("rogue/app.json", json.dumps({"port": port}))
    assert install.app("rogue").status == 503
    assert install.app("live").status == 200
    server.close()


def test_an_answer_that_breaks_off_is_cut(install: PreviewFixture) -> None:
    """It is never taken for whole."""
    port, server = _rogue(
        lambda c: c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nContent-Type: a/b\r\n\r\nhello")
    )
    install.write("rogue/app.json", json.dumps({"port": port}))
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        install.app("rogue")
    assert install.app("live").status == 200
    server.close()


def test_a_server_that_is_not_there(install: PreviewFixture) -> None:
    """It is said so."""
    free = socket.create_server(("127.0.0.1", 0))
    port = free.getsockname()[1]
    free.close()
    install.write("gone/app.json", json.dumps({"port": port}))
    got = install.app("gone")
    assert got.status == 404
    assert b"Is the server running?" in got.body


@pytest.mark.parametrize("about", ["{}", '{"port": "8080"}', '{"port": 0}', '{"port": 70000}', "[", '{"port": true}'])
def test_descriptions_that_say_no_port(install: PreviewFixture, about: str) -> None:
    """The person is told what to ask for."""
    install.write("odd/app.json", about)
    got = install.app("odd")
    assert got.status == 404
    assert b"names no port" in got.body


def test_slow_servers_hold_nobody_up(install: PreviewFixture) -> None:
    """Fifty requests that wait, and one that does not."""
    wait = threading.Event()

    def dawdle(_: socket.socket) -> None:
        wait.wait(20)

    port, server = _rogue(dawdle)
    install.write("slow/app.json", json.dumps({"port": port}))
    base = f"/a/{install.ticket('slow')}/"
    waiting = [threading.Thread(target=partial(_quietly, install, base)) for _ in range(50)]
    for thread in waiting:
        thread.start()
    began = time.monotonic()
    assert install.app("live").status == 200
    assert time.monotonic() - began < 10
    wait.set()
    for thread in waiting:
        thread.join(20)
    server.close()


def _quietly(install: PreviewFixture, path: str) -> None:
    with suppress(OSError, http.client.HTTPException):
        install.get(path)


def test_a_hundred_requests_at_once(install: PreviewFixture) -> None:
    """Each gets its own answer."""
    ticket = install.ticket("live")
    asks = [partial(install.get, f"/a/{ticket}/echo", method="POST", body=f"{n}".encode() * 1_000) for n in range(100)]
    answers = at_once(*asks, timeout_s=60)
    assert [answer.body for answer in answers] == [f"{n}".encode() * 1_000 for n in range(100)]


def test_a_reader_who_leaves_ends_the_stream(install: PreviewFixture) -> None:
    """An endless answer costs nothing once nobody reads it."""

    def endless(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        while True:
            connection.sendall(b"data: x\n\n" * 500)
            time.sleep(0.01)

    port, server = _rogue(endless)
    install.write("endless/app.json", json.dumps({"port": port}))
    connection = http.client.HTTPConnection("localhost", install.port, timeout=20)
    connection.request("GET", f"/a/{install.ticket('endless')}/")
    answer = connection.getresponse()
    answer.read(100)
    answer.close()
    connection.close()
    deadline = time.monotonic() + 20
    while install.reverse_tunnel.count_streams(KEY) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert install.reverse_tunnel.count_streams(KEY) == 0
    server.close()


def test_a_stream_ends_with_its_ticket(install: PreviewFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much comes through it."""
    monkeypatch.setattr(routes, "LOOK_S", 0.1)

    def endless(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        while True:
            connection.sendall(b"data: x\n\n")
            time.sleep(0.01)

    port, rogue = _rogue(endless)
    install.write("endless/app.json", json.dumps({"port": port}))
    connection = http.client.HTTPConnection("localhost", install.port, timeout=20)
    connection.request("GET", f"/a/{install.ticket('endless', login='mine')}/")
    answer = connection.getresponse()
    assert answer.read(100)
    install.ended.add("mine")
    with suppress(http.client.IncompleteRead, ConnectionResetError):  # cut, not ended
        while answer.read(100):
            pass
    assert install.get(f"/a/{install.ticket('endless', login='mine')}/").status == 404
    connection.close()
    rogue.close()


def test_a_browser_that_leaves_before_any_answer(install: PreviewFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that never answers keeps no stream of somebody who has gone."""
    monkeypatch.setattr(lives, "LOOK_S", 0.1)
    is_asked, may_end = threading.Event(), threading.Event()

    def wait(_: socket.socket) -> None:
        is_asked.set()
        may_end.wait(30)

    port, server = _rogue(wait)
    with server:
        install.write("rogue/app.json", json.dumps({"port": port}))
        with socket.create_connection(("localhost", install.port), timeout=20) as browser:
            path = f"/a/{install.ticket('rogue')}/"
            browser.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost:{install.port}\r\n\r\n".encode())
            assert is_asked.wait(20)
            assert install.reverse_tunnel.count_streams(KEY) == 1
        deadline = time.monotonic() + 20
        while install.reverse_tunnel.count_streams(KEY) and time.monotonic() < deadline:
            time.sleep(0.02)
        may_end.set()
    assert install.reverse_tunnel.count_streams(KEY) == 0
