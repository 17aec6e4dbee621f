"""``orchestrator.gate.web_sockets``: plain WebSockets to hosts that the operator named, and nothing else in such a
tunnel."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.gate.heads import ProxyRequest
from orchestrator.gate.refusals import NotLetThrough
from orchestrator.gate.way_out import abort_transport
from orchestrator.gate.web_sockets import has_switched, may_be_upgrade, rewrite_upgrade
from tests.support.fake_internet import PUBLIC, FakeInternet, Visit, answer, opened
from tests.support.gate_fixture import GateFixture, gate_fixture, read_all, read_head

TUNNEL = ProxyRequest("CONNECT", "files.example", 80)
KEY = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
UPGRADE = b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
HEAD = b"GET /live?x=1 HTTP/1.1\r\nHost: files.example\r\n" + UPGRADE + KEY + b"\r\n"
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
NAMED = frozenset({("files.example", 80)})


@pytest.fixture
def at(tmp_path: Path) -> Iterator[GateFixture]:
    """A gate whose operator named a host."""
    with gate_fixture(tmp_path, named=NAMED) as made:
        yield made


def _echo(visit: Visit) -> None:
    visit.send(SWITCH)
    while piece := visit.sock.recv(1000):
        visit.send(piece.upper())


def test_a_head_is_written_again() -> None:
    """With the host that was judged and what a WebSocket needs."""
    head = rewrite_upgrade(HEAD.replace(KEY, KEY + b"Proxy-Connection: keep-alive\r\n"), TUNNEL)
    assert head.startswith(b"GET /live?x=1 HTTP/1.1\r\nHost: files.example\r\n")
    assert KEY in head
    assert head.endswith(b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    assert b"Proxy-Connection" not in head


@pytest.mark.parametrize(
    "head",
    [
        HEAD.replace(b"files.example", b"evil.example"),
        HEAD.replace(b"files.example", b"files.example:8080"),
        HEAD.replace(b"Host: files.example\r\n", b""),
        HEAD.replace(KEY, b"Host: files.example\r\n" + KEY),
        HEAD.replace(KEY, b"HOST: evil.example\r\n" + KEY),
        HEAD.replace(UPGRADE, b""),
        HEAD.replace(b"Upgrade: websocket", b"Upgrade: h2c"),
        HEAD.replace(KEY, b"Content-Length: 5\r\n" + KEY),
        HEAD.replace(KEY, b"Transfer-Encoding: chunked\r\n" + KEY),
        HEAD.replace(b"GET ", b"POST "),
        HEAD.replace(b"/live", b"http://evil.example/live"),
        HEAD.replace(b"HTTP/1.1", b"HTTP/1.0"),
        HEAD.replace(KEY, b" folded\r\n" + KEY),
        HEAD + b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        HEAD.replace(KEY, b"X: a\nHost: evil.example\r\n" + KEY),
    ],
)
def test_anything_else_is_refused(head: bytes) -> None:
    """Another host, another protocol, a body, a second request, what two programs read in two ways."""
    with pytest.raises(NotLetThrough):
        rewrite_upgrade(head, TUNNEL)


def test_what_may_begin_so_and_what_has_switched() -> None:
    """By the first bytes of either side."""
    assert may_be_upgrade(b"G")
    assert may_be_upgrade(HEAD)
    assert not may_be_upgrade(b"\x16\x03")
    assert not may_be_upgrade(b"GO")
    assert has_switched(SWITCH)
    assert not has_switched(answer(b"no", "200 OK"))
    assert not has_switched(b"HTTP/1.1 1011\r\n\r\n")


def test_a_web_socket_goes_through(at: GateFixture) -> None:
    """In pieces too; both ways, and counted."""
    with opened(_echo) as site:
        at.town.sites[PUBLIC] = site
        with at.tunnel(port=80) as sock:
            for byte in HEAD:
                sock.sendall(bytes([byte]))
            assert read_head(sock) == SWITCH
            sock.sendall(b"hello")
            assert sock.recv(5) == b"HELLO"
        assert site.heads[0].startswith("GET /live?x=1 HTTP/1.1\r\nHost: files.example\r\n")
    (usage,) = at.gate.usage()
    assert usage.up > 100
    assert usage.down >= len(SWITCH) + 5


def test_a_server_that_does_not_switch_gets_nothing_more(at: GateFixture) -> None:
    """A second request, for another host at the same address, is not passed on."""
    heard: list[bytes] = []

    def listen(visit: Visit) -> None:
        visit.send(answer(b"no"))
        visit.sock.settimeout(0.3)
        try:
            heard.append(visit.sock.recv(1000))
        except TimeoutError:
            heard.append(b"")

    with opened(listen) as site:
        at.town.sites[PUBLIC] = site
        with at.tunnel(port=80) as sock:
            sock.sendall(HEAD)
            assert read_head(sock).startswith(b"HTTP/1.1 200 OK")
            sock.sendall(b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
            read_all(sock)
    assert heard == [b""]


def test_other_hosts_have_none(tmp_path: Path) -> None:
    """Only what the operator named may do without encryption."""
    town = FakeInternet({"files.example": [[PUBLIC]]})
    with gate_fixture(tmp_path, town) as at, opened(_echo) as site:
        town.sites[PUBLIC] = site
        with at.tunnel(port=80) as sock:
            sock.sendall(HEAD)
            sock.shutdown(socket.SHUT_WR)
            assert read_all(sock) == b""
        assert at.reasons() == {"tunnel-without-tls"}
        assert site.heads in ([], [""])


def test_what_has_ended_while_it_was_closing_can_be_aborted() -> None:
    """Behind its last byte, which the other side took late."""

    async def talk() -> None:
        ours, theirs = socket.socketpair()
        _, writer = await asyncio.open_unix_connection(sock=ours)
        theirs.setblocking(False)
        writer.write(b"x" * 5_000_000)
        writer.close()
        loop, left = asyncio.get_running_loop(), 5_000_000
        while left:
            left -= len(await loop.sock_recv(theirs, 1 << 20))
        await writer.wait_closed()
        abort_transport(writer.transport)
        theirs.close()

    asyncio.run(asyncio.wait_for(talk(), 20))
