"""``orchestrator.door.reverse_tunnel`` and ``crab.tunnel``: streams to servers inside, over connections that the
inside opened.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from crab.door import Door
from crab.tunnel import Tunnel
from orchestrator.core.errors import NotFound, TooMany, Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.door import reverse_tunnel as tunnels
from orchestrator.door.api_streams import add_stream_routes
from orchestrator.door.http.server import HttpServer, ServerLimits
from orchestrator.door.reverse_tunnel import MAX_SPARES, ReverseTunnel
from orchestrator.door.router import DoorRoutes
from orchestrator.door.sockets import environ_of
from tests.support.core_fixture import KEY, OTHER, at_once

LIMITS = ServerLimits(connections=16, read_s=5.0, idle_s=30.0)


@dataclass
class Coast:
    """A reverse tunnel behind a real door, and servers inside."""

    reverse_tunnel: ReverseTunnel
    door: str

    def sail(self) -> Tunnel:
        """A tunnel, in a thread here instead of a process in a cubicle."""
        tunnel = Tunnel(self.door)
        threading.Thread(target=tunnel.run, name="tunnel", daemon=True).start()
        return tunnel


@pytest.fixture
def coast(tmp_path: Path) -> Iterator[Coast]:
    """A door whose socket is crab/1's."""
    app, reverse_tunnel, server = DoorRoutes(lambda _: None), ReverseTunnel(), HttpServer()
    add_stream_routes(app, reverse_tunnel)
    path = str(tmp_path / "door.sock")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(64)
    listening.setblocking(False)
    server.add_listener(listening, app, limits=LIMITS, environ=environ_of(KEY))
    try:
        yield Coast(reverse_tunnel, path)
    finally:
        reverse_tunnel.close()
        server.close()
        server.await_quiet()


@pytest.fixture
def inside() -> Iterator[Callable[[Callable[[socket.socket], None]], int]]:
    """Starts servers, each with what it does with a connection; gives their ports."""
    listening: list[socket.socket] = []

    def serve(work: Callable[[socket.socket], None]) -> int:
        server = socket.create_server(("127.0.0.1", 0))
        listening.append(server)

        def accept() -> None:
            with suppress(OSError):  # closed at the end of the test
                while True:
                    connection, _ = server.accept()
                    threading.Thread(target=_worked, args=(work, connection), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return int(server.getsockname()[1])

    yield serve
    for server in listening:
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        server.close()


def _worked(work: Callable[[socket.socket], None], connection: socket.socket) -> None:
    with connection, suppress(OSError):
        connection.settimeout(20)
        work(connection)


def echo(connection: socket.socket) -> None:
    """Everything back, as it comes."""
    while piece := connection.recv(65536):
        connection.sendall(piece)


def read_all(stream: socket.socket) -> bytes:
    """What comes until the other end closes."""
    stream.settimeout(20)
    parts = []
    while piece := stream.recv(65536):
        parts.append(piece)
    return b"".join(parts)


Serve = Callable[[Callable[[socket.socket], None]], int]


def reach(reverse_tunnel: ReverseTunnel, key: CubicleKey, port: int) -> socket.socket:
    """A stream for this thread, which waits for what it reads."""
    stream = asyncio.run(reverse_tunnel.open_stream(key, port))
    stream.setblocking(True)
    return stream


def test_a_stream_leads_to_a_port_inside(coast: Coast, inside: Serve) -> None:
    """Bytes go both ways until one side ends."""
    port = inside(echo)
    coast.sail()
    stream = reach(coast.reverse_tunnel, KEY, port)
    stream.settimeout(20)
    for said in (b"hello", b"x" * 100_000, b"PORT 1\n"):
        stream.sendall(said)
        heard = b""
        while len(heard) < len(said):
            heard += stream.recv(65536)
        assert heard == said
    assert coast.reverse_tunnel.count_streams(KEY) == 1
    coast.reverse_tunnel.end_stream(KEY, stream)
    assert coast.reverse_tunnel.count_streams(KEY) == 0


def test_nothing_listens_at_that_port(coast: Coast) -> None:
    """It is said so, and other ports still work."""
    coast.sail()
    free = socket.create_server(("127.0.0.1", 0))
    port = free.getsockname()[1]
    free.close()
    with pytest.raises(NotFound, match=f"port {port}"):
        reach(coast.reverse_tunnel, KEY, port)
    assert coast.reverse_tunnel.count_streams(KEY) == 0


def test_without_a_tunnel_one_is_called(coast: Coast, inside: Serve) -> None:
    """The cubicle hears that it is wanted, and the waiting request goes through as soon as it is there."""
    port = inside(echo)
    door = Door(coast.door)
    assert door.get("streams?wait=0") == {"wanted": False}
    found: list[socket.socket] = []
    asking = threading.Thread(target=lambda: found.append(reach(coast.reverse_tunnel, KEY, port)))
    asking.start()
    assert door.get("streams?wait=20") == {"wanted": True}
    coast.sail()
    asking.join(20)
    coast.reverse_tunnel.end_stream(KEY, found[0])
    assert door.get("streams?wait=0") == {"wanted": False}
    door.close()


def test_a_cubicle_that_hangs_up_waits_no_more(coast: Coast) -> None:
    """However long it wanted to wait: a poll holds one of the few connections that a door has."""
    for _ in range(2 * LIMITS.connections):
        with socket.socket(socket.AF_UNIX) as gone:
            gone.connect(coast.door)
            gone.sendall(b"GET /api/internal/streams?wait=600 HTTP/1.1\r\nHost: door\r\n\r\n")
    door = Door(coast.door)
    assert door.get("streams?wait=0") == {"wanted": False}
    door.close()


def test_a_cubicle_that_never_answers(coast: Coast, monkeypatch: pytest.MonkeyPatch) -> None:
    """The request ends with a sentence, and nobody is called for ever."""
    monkeypatch.setattr(tunnels, "WAIT_S", 0.1)
    with pytest.raises(Unavailable, match="does not answer"):
        reach(coast.reverse_tunnel, KEY, 8080)
    assert not coast.reverse_tunnel.await_call(KEY, 0)


def test_a_hundred_streams_at_once(coast: Coast, inside: Serve) -> None:
    """Each with its own bytes, none mixed; a slow one holds no other up."""
    port = inside(echo)
    coast.sail()
    slow = reach(coast.reverse_tunnel, KEY, port)
    slow.setblocking(False)
    with suppress(BlockingIOError):
        while True:
            slow.send(b"." * 65536)  # nobody reads what comes back

    def talk(number: int) -> bool:
        stream = reach(coast.reverse_tunnel, KEY, port)
        stream.settimeout(20)
        said = f"{number}:".encode() * 3_000
        stream.sendall(said)
        heard = b""
        while len(heard) < len(said):
            heard += stream.recv(65536)
        coast.reverse_tunnel.end_stream(KEY, stream)
        return heard == said

    assert at_once(*[partial(talk, number) for number in range(100)], timeout_s=60) == [True] * 100
    coast.reverse_tunnel.end_stream(KEY, slow)


def test_all_that_a_server_sent_arrives_before_its_end(coast: Coast, inside: Serve) -> None:
    """Also when it closes at once and the reader is slow."""
    port = inside(lambda connection: connection.sendall(b"y" * 3_000_000))
    coast.sail()
    stream = reach(coast.reverse_tunnel, KEY, port)
    assert len(read_all(stream)) == 3_000_000
    coast.reverse_tunnel.end_stream(KEY, stream)


def test_a_reader_that_leaves_ends_the_server(coast: Coast, inside: Serve) -> None:
    """It does not write into nothing for ever."""
    ended = threading.Event()

    def wait(connection: socket.socket) -> None:
        while connection.recv(1):
            pass
        ended.set()

    port = inside(wait)
    coast.sail()
    stream = reach(coast.reverse_tunnel, KEY, port)
    coast.reverse_tunnel.end_stream(KEY, stream)
    assert ended.wait(20)


def test_streams_are_the_cubicles_own(coast: Coast) -> None:
    """The door says whose a connection is: another cubicle's request never gets it."""
    coast.sail()
    with pytest.raises(Unavailable):
        _quick(coast.reverse_tunnel, OTHER)


def _quick(reverse_tunnel: ReverseTunnel, key: CubicleKey) -> None:
    old_wait_s = tunnels.WAIT_S
    tunnels.WAIT_S = 0.2
    try:
        reach(reverse_tunnel, key, 1)
    finally:
        tunnels.WAIT_S = old_wait_s


def test_a_flood_of_offers_is_closed(coast: Coast) -> None:
    """Spares are few; those beyond are closed, and hold nothing of ours."""
    ends = [socket.socketpair() for _ in range(MAX_SPARES + 5)]
    for ours, _ in ends:
        coast.reverse_tunnel.offer(KEY, ours)
    closed = 0
    for _, theirs in ends:
        theirs.settimeout(0.05)
        try:
            closed += theirs.recv(1) == b""
        except TimeoutError:
            continue
    assert closed == 5
    for _, theirs in ends:
        theirs.close()


def test_streams_have_a_cap(coast: Coast, monkeypatch: pytest.MonkeyPatch, inside: Serve) -> None:
    """One app can't take every descriptor."""
    monkeypatch.setattr(tunnels, "MAX_STREAMS", 2)
    port = inside(echo)
    coast.sail()
    held = [reach(coast.reverse_tunnel, KEY, port) for _ in range(2)]
    with pytest.raises(TooMany):
        reach(coast.reverse_tunnel, KEY, port)
    coast.reverse_tunnel.end_stream(KEY, held[0])
    for stream in (reach(coast.reverse_tunnel, KEY, port), held[1]):
        coast.reverse_tunnel.end_stream(KEY, stream)


def test_a_cubicle_that_goes_takes_its_streams_along(coast: Coast, inside: Serve) -> None:
    """Readers see the end at once."""
    port = inside(echo)
    coast.sail()
    stream = reach(coast.reverse_tunnel, KEY, port)
    coast.reverse_tunnel.close_cubicle(KEY)
    assert read_all(stream) == b""
    coast.reverse_tunnel.end_stream(KEY, stream)


@pytest.mark.parametrize("answer", [b"", b"no\n", b"x" * 500, b"ok"])
def test_a_tunnel_that_lies_is_ended(coast: Coast, answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no answer is none; nothing waits for long."""
    monkeypatch.setattr(tunnels, "ANSWER_S", 0.3)
    monkeypatch.setattr(tunnels, "WAIT_S", 0.3)
    ours, theirs = socket.socketpair()
    coast.reverse_tunnel.offer(KEY, ours)

    def lie() -> None:
        theirs.recv(100)
        with suppress(OSError):
            theirs.sendall(answer)
        theirs.close()

    liar = threading.Thread(target=lie)
    liar.start()
    with pytest.raises((NotFound, Unavailable)):
        reach(coast.reverse_tunnel, KEY, 80)
    liar.join(5)
    assert coast.reverse_tunnel.count_streams(KEY) == 0


def test_a_spare_that_speaks_first_is_none(coast: Coast, inside: Serve) -> None:
    """It is thrown away unread, and the next one is taken."""
    port = inside(echo)
    ours, theirs = socket.socketpair()
    theirs.sendall(b"ok\n")
    coast.reverse_tunnel.offer(KEY, ours)
    coast.sail()
    coast.reverse_tunnel.end_stream(KEY, reach(coast.reverse_tunnel, KEY, port))
    theirs.close()


def test_a_tunnel_that_comes_and_goes_is_given_up(coast: Coast, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many connections it offers and closes as soon as they are used, the request ends."""
    monkeypatch.setattr(tunnels, "WAIT_S", 0.3)
    is_over = threading.Event()

    def tease() -> None:
        while not is_over.is_set():
            ours, theirs = socket.socketpair()
            coast.reverse_tunnel.offer(KEY, ours)
            theirs.settimeout(0.05)
            with suppress(OSError):
                theirs.recv(100)
            theirs.close()

    teasing = threading.Thread(target=tease)
    teasing.start()
    with pytest.raises(Unavailable):
        reach(coast.reverse_tunnel, KEY, 80)
    is_over.set()
    teasing.join(5)
    assert coast.reverse_tunnel.count_streams(KEY) == 0


def test_many_who_wait_hold_no_thread(coast: Coast, inside: Serve) -> None:
    """A hundred requests wait in one loop for a tunnel that isn't there yet; each gets its stream when it comes."""
    port = inside(echo)

    async def wait_together() -> int:
        before = threading.active_count()
        waiting = [asyncio.create_task(coast.reverse_tunnel.open_stream(KEY, port)) for _ in range(100)]
        await asyncio.sleep(0.05)
        assert threading.active_count() == before
        coast.sail()
        streams = await asyncio.gather(*waiting)
        for stream in streams:
            coast.reverse_tunnel.end_stream(KEY, stream)
        return len(streams)

    assert asyncio.run(wait_together()) == 100
