"""Connections to a provider: which are used again, and what is made of the odd things that servers do."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from orchestrator.llm.upstreams.connections import FAULTS, ConnectionPool, UnreachableError
from tests.support.scripted_upstream import ScriptedUpstream

WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture
def provider() -> Iterator[ScriptedUpstream]:
    """A server that answers whatever it was scripted to."""
    with ScriptedUpstream() as scripted:
        yield scripted


@pytest.fixture
def wires(provider: ScriptedUpstream) -> Iterator[ConnectionPool]:
    """Connections to it."""
    port = int(provider.base_url.rsplit(":", 1)[1].split("/")[0])
    made = ConnectionPool("127.0.0.1", port, tls=None, connect_timeout_s=5.0)
    yield made
    made.close()


def asked(wires: ConnectionPool, body: bytes = b"{}") -> tuple[int, bytes]:
    """One request and its whole answer, as an exchange would do it."""
    wire = wires.take_connection()
    wire.socket.settimeout(5.0)
    try:
        status, _ = wire.send_request("POST", "/v1/chat/completions", {"Content-Type": "application/json"}, body)
        said = b""
        while piece := wire.read():
            said += piece
    except FAULTS:
        wire.close()
        raise
    wires.return_connection(wire)
    return status, said


AGAIN = [
    (WHOLE, True),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", True),
    (b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" + WHOLE, True),
    (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", False),
    (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", False),
    (WHOLE + b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nslips", False),
]


@pytest.mark.parametrize(("answer", "is_kept"), AGAIN)
def test_which_connections_are_used_again(
    provider: ScriptedUpstream,
    wires: ConnectionPool,
    answer: bytes,
    is_kept: bool,  # noqa: FBT001 - pytest passes it by name
) -> None:
    """One whose answer was whole, and behind which nothing came that nobody asked for."""
    provider.script(lambda _: iter([answer]), lambda _: iter([WHOLE]))
    assert asked(wires) == (200, b"ok")
    assert asked(wires) == (200, b"ok")
    assert provider.connections == (1 if is_kept else 2)


@contextmanager
def hasty(answer: bytes) -> Iterator[ConnectionPool]:
    """A server that answers one request before it has read more than its head, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(answer)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1 << 20):
                    pass

        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        wires = ConnectionPool("127.0.0.1", server.getsockname()[1], tls=None, connect_timeout_s=5.0)
        yield wires
        serving.join(5)
        assert not serving.is_alive(), "the connection was not closed"
        wires.close()


def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    """As old servers do it."""
    with hasty(b"HTTP/1.1 200 OK\r\n\r\nall of it") as wires:
        assert asked(wires) == (200, b"all of it")


def test_a_refusal_that_comes_before_the_request_was_read() -> None:
    """A server that will not have so large a request says so by its head: that is heard."""
    with hasty(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n") as wires:
        assert asked(wires, b"x" * 8_000_000)[0] == 413


def test_no_more_are_kept_than_are_worth_it(provider: ScriptedUpstream, wires: ConnectionPool) -> None:
    """After a rush the rest is closed."""
    provider.answer(lambda _: lambda _: iter([WHOLE]))
    taken = [wires.take_connection() for _ in range(70)]
    for wire in taken:
        wire.send_request("POST", "/v1/chat/completions", {}, b"{}")
        assert wire.read() == b"ok"
    for wire in taken:
        wires.return_connection(wire)
    assert sum(wire.socket.fileno() >= 0 for wire in taken) == 64
    wires.close()
    assert all(wire.socket.fileno() < 0 for wire in taken)


def test_the_host_line(provider: ScriptedUpstream, wires: ConnectionPool) -> None:
    """With its port, where that is not the usual one."""
    provider.script(lambda _: iter([WHOLE]))
    asked(wires)
    assert provider.calls[0].headers["host"] == provider.base_url.split("/")[2]


@pytest.mark.parametrize("host", ["nobody.invalid", "a" * 70 + ".example", "::1"])
def test_nobody_there(host: str) -> None:
    """A name that does not exist, one that can't exist, and an address where nobody listens."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    with pytest.raises(UnreachableError):
        ConnectionPool(host, port, tls=None, connect_timeout_s=5.0).take_connection()
