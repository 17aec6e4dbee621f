"""What somebody unknown can make the dashboard read, on a real socket: next to nothing."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.support.app_fixture import API_TOKEN, AppFixture, run_app

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def install(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppFixture]:
    """An install that answers."""
    with run_app(tmp_path_factory.mktemp("home")) as made:
        yield made


def _head(install: AppFixture, path: str, length: int, *more: str, host: str = "") -> bytes:
    own = install.url.removeprefix("http://")
    lines = [f"POST {path} HTTP/1.1", f"Host: {host or own}", f"Content-Length: {length}", *more]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _connect(install: AppFixture) -> socket.socket:
    name, _, port = install.url.removeprefix("http://").partition(":")
    return socket.create_connection((name, int(port)), timeout=30)


def _status(client: socket.socket) -> int:
    return int(client.recv(65536).split(b" ", 2)[1])


def _own(install: AppFixture) -> str:
    return f"Origin: {install.url}"


@pytest.mark.parametrize(
    ("path", "lines", "host", "status"),
    [
        ("/login", ("Content-Type: application/x-www-form-urlencoded",), "evil.example", 421),
        ("/login", ("Content-Type: application/x-www-form-urlencoded", "Origin: http://evil.example"), "", 403),
        ("/api/agents/crab/messages", ("Content-Type: application/json", "{own}"), "", 401),
        ("/api/agents/crab/messages", ("Content-Type: application/json", "Authorization: Bearer x"), "", 401),
        ("/login", ("Content-Type: application/x-www-form-urlencoded", "{own}"), "", 413),
        ("/login/abc", ("Content-Type: application/x-www-form-urlencoded", "{own}"), "", 413),
        ("/nothing/here", ("Content-Type: application/json",), "", 404),
    ],
)
def test_the_head_decides(install: AppFixture, path: str, lines: tuple[str, ...], host: str, status: int) -> None:
    """Four megabytes are announced; the answer comes without a byte of them."""
    with _connect(install) as client:
        client.sendall(_head(install, path, 4 * MIB, *(line.format(own=_own(install)) for line in lines), host=host))
        assert _status(client) == status


def test_more_than_anybody_may_send_is_refused_at_once(install: AppFixture) -> None:
    """Also to who is known."""
    with _connect(install) as client:
        client.sendall(_head(install, "/api/agents/crab/messages", 64 * MIB, f"Authorization: Bearer {API_TOKEN}"))
        assert _status(client) == 413


def test_a_form_of_many_fields_is_not_read(install: AppFixture) -> None:
    """Six hundred thousand took a second and a half each before any throttle counted."""
    form = b"a=&" * 600_000
    began = time.process_time()
    for _ in range(5):
        with _connect(install) as client:
            client.sendall(
                _head(install, "/login", len(form), "Content-Type: application/x-www-form-urlencoded", _own(install))
            )
            assert _status(client) == 413
    assert time.process_time() - began < 1.5, "five forms, each of which took that long to read"


def test_four_hundred_silent_connections_shut_nobody_out(install: AppFixture) -> None:
    """Nor do as many that have said half a request."""
    with ExitStack() as crowd:
        for count in range(400):
            client = crowd.enter_context(_connect(install))
            if count % 2:
                client.sendall(
                    _head(install, "/login", 1000, "Content-Type: application/x-www-form-urlencoded", _own(install))
                )
        with _connect(install) as honest:
            honest.sendall(f"GET /api/health HTTP/1.1\r\nHost: {install.url.removeprefix('http://')}\r\n\r\n".encode())
            assert _status(honest) in (200, 503)
