"""The gate against a hostile container: raw bytes on its socket, hosts that lead inside, tunnels that lie."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.gate.connection import GateLimits
from orchestrator.gate.policy import ExactHosts, HostPort
from orchestrator.gate.refusals import Reason, Refusal
from orchestrator.gate.traffic import GateVerdict
from orchestrator.web.fetcher import tls_context
from tests.support.fake_internet import OTHER, PUBLIC, FakeInternet, FakeSite, Visit, answer, make_certificate, opened
from tests.support.gate_fixture import GateFixture, client_hello, gate_fixture, read_all

ROOT = Path(__file__).resolve().parents[2]


def hello_site(visit: Visit) -> None:
    """Answers with one word."""
    visit.send(answer(b"ahoy", Connection="close"))


@pytest.fixture
def site() -> Iterator[FakeSite]:
    """A plain web server."""
    with opened(hello_site) as made:
        yield made


@pytest.fixture
def at(tmp_path: Path, site: FakeSite) -> Iterator[GateFixture]:
    """A gate that lets four names through, some of which lead where they must not."""
    names = {
        "files.example": [[PUBLIC]],
        "other.example": [[PUBLIC]],
        "rebind.example": [[PUBLIC, "10.0.0.1"]],
        "inner.example": [["169.254.169.254"]],
    }
    with gate_fixture(tmp_path, FakeInternet(names, {PUBLIC: site})) as made:
        yield made


def refusal(reply: bytes) -> str:
    """The reason that an answer of the gate's names."""
    head = reply.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    found = [line.partition(": ")[2] for line in head if line.startswith("X-Hermit-Gate: ")]
    return found[0] if found else reply[:60].decode("latin-1")


CONNECT = b"CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (CONNECT % b"evil.example:443", "host-not-approved"),
        (CONNECT % b"files.example.evil.example:443", "host-not-approved"),
        (CONNECT % b"sub.files.example:443", "host-not-approved"),
        (CONNECT % b"xn--fils-2ra.example:443", "host-not-approved"),
        (CONNECT % b"xn--zzzz-.example:443", "not-a-public-name"),
        ("CONNECT filеs.example:443 HTTP/1.1\r\n\r\n".encode(), "unreadable-head"),
        (CONNECT % b"93.184.215.14:443", "not-a-public-name"),
        (CONNECT % b"127.0.0.1:443", "not-a-public-name"),
        (CONNECT % b"127.1:443", "not-a-public-name"),
        (CONNECT % b"0x7f000001:443", "not-a-public-name"),
        (CONNECT % b"0x7f.1:443", "not-a-public-name"),
        (CONNECT % b"2130706433:443", "not-a-public-name"),
        (CONNECT % b"0177.0.0.1:443", "not-a-public-name"),
        (CONNECT % b"[::1]:443", "not-a-public-name"),
        (CONNECT % b"[::ffff:127.0.0.1]:443", "not-a-public-name"),
        (CONNECT % b"[2606:4700::1111]:443", "not-a-public-name"),
        (CONNECT % b"::1:443", "not-a-proxy-request"),
        (CONNECT % b"localhost:443", "not-a-public-name"),
        (CONNECT % b"router.local:443", "not-a-public-name"),
        (CONNECT % b"metadata.google.internal:80", "not-a-public-name"),
        (CONNECT % b"files.example:22", "port-not-allowed"),
        (CONNECT % b"files.example:8443", "port-not-allowed"),
        (CONNECT % b"files.example:0", "port-not-allowed"),
        (CONNECT % b"files.example:99999", "port-not-allowed"),
        (CONNECT % b"files.example:443x", "not-a-proxy-request"),
        (CONNECT % b"files.example:-443", "not-a-proxy-request"),
        (CONNECT % b"files.example", "not-a-proxy-request"),
        (CONNECT % b"user@files.example:443", "not-a-proxy-request"),
        (CONNECT % b"evil.example#@files.example:443", "not-a-proxy-request"),
        (CONNECT % b"files..example:443", "not-a-public-name"),
        (CONNECT % b"-files.example:443", "not-a-public-name"),
        (CONNECT % b"rebind.example:443", "private-address"),
        (CONNECT % b"inner.example:443", "private-address"),
        (CONNECT % b"files.example\0.evil.example:443", "unreadable-head"),
        (b"CONNECT files.example:443 HTTP/1.1\nHost: x\n\r\n\r\n", "unreadable-head"),
        (b"CONNECT  files.example:443 HTTP/1.1\r\n\r\n", "unreadable-head"),
        (b"CONNECT files.example:443 HTTP/2.0\r\n\r\n", "unreadable-head"),
        (b"connect files.example:443 HTTP/1.1\r\n\r\n", "not-a-proxy-request"),
        (b"GET / HTTP/1.1\r\nHost: files.example\r\n\r\n", "not-a-proxy-request"),
        (b"GET https://files.example/ HTTP/1.1\r\n\r\n", "not-a-proxy-request"),
        (b"GET ftp://files.example/ HTTP/1.1\r\n\r\n", "not-a-proxy-request"),
        (b"GET http://files.example@evil.example/ HTTP/1.1\r\n\r\n", "not-a-proxy-request"),
        (b"GET http://evil.example%2f@files.example/ HTTP/1.1\r\n\r\n", "not-a-proxy-request"),
        (b"GET http://files.example\\@evil.example/ HTTP/1.1\r\n\r\n", "not-a-proxy-request"),
        (b"GET http://files.example/#x HTTP/1.1\r\n\r\n", "not-a-proxy-request"),
        (b"GET http://files.example/ a HTTP/1.1\r\n\r\n", "unreadable-head"),
        (b"TRACE http://files.example/ HTTP/1.1\r\n\r\n", "method-not-allowed"),
        (b"GET http://evil.example/ HTTP/1.1\r\nHost: files.example\r\n\r\n", "host-not-approved"),
        (b"GET http://files.example/ HTTP/1.1\r\nA: b\r\n folded\r\n\r\n", "unreadable-head"),
        (b"GET http://files.example/ HTTP/1.1\r\nA : b\r\n\r\n", "unreadable-head"),
        (b"GET http://files.example/ HTTP/1.1\r\nA: b\rc\r\n\r\n", "unreadable-head"),
        (b"GET http://files.example/ HTTP/1.1\r\nA: b\0c\r\n\r\n", "unreadable-head"),
        (b"GET http://files.example/ HTTP/1.1\r\nA\r\n\r\n", "unreadable-head"),
        (
            b"POST http://files.example/ HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
            "unreadable-body-length",
        ),
        (
            b"POST http://files.example/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "unreadable-body-length",
        ),
        (b"POST http://files.example/ HTTP/1.1\r\nTransfer-Encoding: x\r\n\r\n", "unreadable-body-length"),
        (
            b"POST http://files.example/ HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
            "unreadable-body-length",
        ),
        (b"POST http://files.example/ HTTP/1.1\r\nContent-Length: +3\r\n\r\nabc", "unreadable-body-length"),
        (b"POST http://files.example/ HTTP/1.1\r\nContent-Length: 3, 3\r\n\r\nabc", "unreadable-body-length"),
        (b"GET http://files.example/ HTTP/1.1\r\nA: " + b"x" * 70_000 + b"\r\n\r\n", "unreadable-head"),
        (b"\x05\x01\x00" + b"\r\n\r\n", "unreadable-head"),
    ],
)  # fmt: skip
def test_what_is_refused(at: GateFixture, site: FakeSite, sent: bytes, reason: str) -> None:
    """With a word that says why, and nothing reaches any server."""
    assert refusal(at.say(sent)) == reason
    assert (at.town.connected, site.connections) == ([], 0)
    assert reason in at.reasons()


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost", "2130706433", "sub.files.example"])
def test_no_name_is_looked_up_before_the_policy_agreed(at: GateFixture, host: str) -> None:
    """The look-up alone would tell its server something."""
    assert b"X-Hermit-Gate" in at.say(f"CONNECT {host}:443 HTTP/1.1\r\n\r\n".encode())
    assert at.town.looked_up == []


def test_plain_http_is_written_anew(at: GateFixture, site: FakeSite) -> None:
    """The host that was judged is the one that is named, and what is about the connection stays behind."""
    reply = at.say(
        b"GET http://FILES.example./a?b=c HTTP/1.1\r\nHost: evil.example\r\nHost: b\r\n"
        b"Connection: keep-alive, X-Gone\r\nX-Gone: 1\r\n"
        b"Proxy-Authorization: Basic eA==\r\nUpgrade: h2c\r\nX-Kept: 2\r\n\r\n"
    )
    assert reply.endswith(b"ahoy")
    assert site.heads == ["GET /a?b=c HTTP/1.1\r\nHost: files.example\r\nX-Kept: 2\r\nConnection: close\r\n\r\n"]


@pytest.mark.parametrize("body", [b"", b"abc"])
def test_a_second_request_does_not_leave(at: GateFixture, body: bytes) -> None:
    """What follows the one that was judged is not read, wherever it wants to go."""
    heard: list[bytes] = []

    def listen(visit: Visit) -> None:
        visit.sock.settimeout(0.3)
        data = visit.head.encode()
        try:
            while piece := visit.sock.recv(65536):
                data += piece
        except TimeoutError:
            heard.append(data)
        visit.send(answer(b"one"))

    with opened(listen) as site:
        at.town.sites[PUBLIC] = site
        first = b"POST http://files.example/ HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        reply = at.say(first + b"GET http://evil.example/x HTTP/1.1\r\nHost: evil.example\r\n\r\n")
    assert reply.endswith(b"one")
    assert len(heard) == 1
    assert heard[0].endswith(b"\r\n\r\n" + body)
    assert b"evil" not in heard[0]


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (client_hello("evil.example"), "other-server-name"),
        (client_hello("files.example.evil.example"), "other-server-name"),
        (client_hello(None), "other-server-name"),
        (b"SSH-2.0-x\r\n", "tunnel-without-tls"),
        (b"GET / HTTP/1.1\r\nHost: files.example\r\n\r\n", "tunnel-without-tls"),
        (b"\x16\x03\x01\xff\xff", "tunnel-without-tls"),
        (b"\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00", "tunnel-without-tls"),
        (b"", "tunnel-without-tls"),
    ],
)
@pytest.mark.parametrize("port", [80, 443])
def test_a_tunnel_is_tls_to_the_host_that_was_asked_for(
    at: GateFixture, site: FakeSite, sent: bytes, reason: str, port: int
) -> None:
    """Else it is cut before a byte of it leaves, at every port."""
    with at.tunnel(port=port) as sock:
        sock.sendall(sent)
        sock.shutdown(socket.SHUT_WR)
        assert read_all(sock) == b""
    assert at.reasons() == {reason}
    assert site.heads in ([], [""])
    assert [usage.up for usage in at.gate.usage() if usage.verdict is GateVerdict.ALLOWED] == [0]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificate with openssl")
def test_a_tunnel_carries_tls(at: GateFixture, tmp_path: Path) -> None:
    """From one end to the other, and what went through is counted."""
    certificate, context = make_certificate(tmp_path, "DNS:files.example")
    with opened(hello_site, context) as site:
        at.town.sites[PUBLIC] = site
        ours = tls_context(str(certificate))
        with at.tunnel() as sock, ours.wrap_socket(sock, server_hostname="files.example") as talking:
            talking.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert talking.recv(1000).endswith(b"ahoy")
        (usage,) = [found for found in at.gate.usage() if found.verdict is GateVerdict.ALLOWED]
    assert (usage.host, usage.port, usage.connections) == ("files.example", 443, 1)
    assert usage.up > 300
    assert usage.down > 300


def test_an_address_is_looked_up_once(at: GateFixture) -> None:
    """What was checked is what is connected to, though the name answers otherwise the second time."""
    at.town.names["files.example"] = [[PUBLIC], ["10.0.0.1"]]
    for _ in range(3):
        assert at.say(b"GET http://files.example/ HTTP/1.1\r\n\r\n").endswith(b"ahoy")
    assert {address for address, _ in at.town.connected} == {PUBLIC}
    assert at.town.looked_up == ["files.example"]


@pytest.mark.parametrize("answers", [["10.0.0.1"], ["::ffff:10.0.0.1"], ["0.0.0.0"], [PUBLIC, "fe80::1"],
    ["64:ff9b::7f00:1"], ["100.64.0.1"], ["not an address"], [PUBLIC, "127.0.0.1"]])  # fmt: skip
def test_names_that_lead_inside(at: GateFixture, answers: list[str]) -> None:
    """One such answer among others is enough."""
    at.town.names["other.example"] = [answers]
    assert refusal(at.say(CONNECT % b"other.example:443")) == "private-address"
    assert at.town.connected == []


class OneHost:
    """A policy whose permission ends."""

    def __init__(self, most_up: int | None = None) -> None:
        self.allowed: frozenset[HostPort] = frozenset({("files.example", 443), ("files.example", 80)})
        self.most = most_up

    def judge(self, host: str, port: int) -> Refusal | None:
        """What is allowed now."""
        return None if (host, port) in self.allowed else Refusal(Reason.HOST_NOT_APPROVED)

    def most_up(self, _host: str) -> int | None:
        """As the test says."""
        return self.most


def test_open_tunnels_end_with_their_permission(tmp_path: Path) -> None:
    """Others stay, and what was cut can't be opened again."""
    seen = threading.Event()

    def hold(visit: Visit) -> None:
        seen.set()
        visit.over.wait(10)

    policy = OneHost()
    names = {"files.example": [[PUBLIC]], "other.example": [[OTHER]]}
    with opened(hold) as site, gate_fixture(tmp_path, FakeInternet(names, {PUBLIC: site, OTHER: site}), policy) as at:
        policy.allowed |= {("other.example", 80)}
        first, second = at.connect(), at.connect()
        with first, second:
            for sock, host in ((first, b"files.example"), (second, b"other.example")):
                seen.clear()
                sock.sendall(b"GET http://%s/ HTTP/1.1\r\n\r\n" % host)
                assert seen.wait(10)
            assert at.gate.recheck() == 0
            policy.allowed = frozenset({("other.example", 80)})
            assert at.gate.recheck() == 1
            assert read_all(first) == b""
            assert "permission-ended" in at.reasons()
            second.settimeout(0.2)
            with pytest.raises(TimeoutError):
                second.recv(1)
        assert refusal(at.say(b"GET http://files.example/ HTTP/1.1\r\n\r\n")) == "host-not-approved"


def test_uploads_end_at_their_limit(tmp_path: Path, site: FakeSite) -> None:
    """In the middle of one, and for the host as long as the gate is open, over all its connections."""
    town = FakeInternet({"files.example": [[PUBLIC]]}, {PUBLIC: site})
    with gate_fixture(tmp_path, town, OneHost(most_up=5_000)) as at:
        head = b"POST http://files.example/ HTTP/1.1\r\nContent-Length: 100000\r\n\r\n"
        with at.connect() as sock:
            with contextlib.suppress(OSError):  # it is cut while we send
                sock.sendall(head + b"x" * 100_000)
            read_all(sock)
        assert "sent-too-much" in at.reasons()
        assert refusal(at.say(b"GET http://files.example/ HTTP/1.1\r\n\r\n")) == "sent-too-much"


def test_silent_connections_hold_up_nobody_else(tmp_path: Path, site: FakeSite) -> None:
    """Four hundred that say nothing end at the gate's own number, and another container's gate answers meanwhile."""
    town = FakeInternet({"files.example": [[PUBLIC]]}, {PUBLIC: site})
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    limits = GateLimits(head_s=60.0)
    with gate_fixture(tmp_path / "a", town, limits=limits) as at, contextlib.ExitStack() as stack:
        policy = ExactHosts(frozenset({("files.example", 80)}))
        at.gates.open_gate(tmp_path / "b", policy, at.gate.user, uid=os.getuid(), gid=os.getgid())
        silent = [stack.enter_context(at.connect()) for _ in range(400)]
        other = GateFixture(at.gates, at.gate, tmp_path / "b", town)
        assert other.say(b"GET http://files.example/ HTTP/1.1\r\n\r\n").endswith(b"ahoy")
        answered: set[socket.socket] = set()
        deadline = time.monotonic() + 30
        while len(answered) < 400 - limits.connections and time.monotonic() < deadline:
            answered |= set(select.select([sock for sock in silent if sock not in answered], [], [], 1.0)[0])
        assert len(answered) == 400 - limits.connections
        assert {refusal(read_all(sock)) for sock in answered} == {"too-many-connections"}
        stack.close()
        reply = b""
        while not reply.endswith(b"ahoy") and time.monotonic() < deadline:  # until it has noticed that they left
            reply = at.say(b"GET http://files.example/ HTTP/1.1\r\n\r\n")
        assert reply.endswith(b"ahoy")


def test_a_head_that_does_not_come(tmp_path: Path) -> None:
    """Whether nothing comes or a part of it."""
    with gate_fixture(tmp_path, limits=GateLimits(head_s=0.2)) as at:
        assert refusal(at.say(b"")) == "head-too-slow"
        assert refusal(at.say(b"GET http://files.example/ HTTP/1.1\r\n")) == "head-too-slow"


def test_half_open_and_idle_connections_end(tmp_path: Path) -> None:
    """A client that has said its last waits for a silent server no longer than that, and nobody for ever."""

    def hold(visit: Visit) -> None:
        visit.over.wait(10)

    limits = GateLimits(idle_s=1.5, half_open_s=0.2)
    town = FakeInternet({"files.example": [[PUBLIC]]})
    with opened(hold) as site, gate_fixture(tmp_path, town, limits=limits) as at:
        town.sites[PUBLIC] = site
        with at.connect() as half, at.connect() as idle:
            for sock in (half, idle):
                sock.sendall(b"GET http://files.example/ HTTP/1.1\r\n\r\n")
            half.shutdown(socket.SHUT_WR)
            assert read_all(half) == b""
            assert read_all(idle) == b""


def test_a_closed_gate_is_gone(at: GateFixture, tmp_path: Path) -> None:
    """Its socket too, and what was open is cut; closing again is fine."""
    with at.connect() as sock:
        at.gate.close()
        assert read_all(sock) == b""
    at.gate.close()
    assert list(tmp_path.glob("*.sock")) == []
    with pytest.raises(OSError, match="No such file"):
        at.connect()


def test_after_a_sudden_death_no_socket_works(tmp_path: Path) -> None:
    """Killed, the program leaves a file that leads nowhere, and open connections have ended."""
    program = """
        import os, sys, threading
        from pathlib import Path
        sys.path.insert(0, sys.argv[2])
        from orchestrator.gate.gate import Gates
        from orchestrator.gate.policy import ExactHosts
        from orchestrator.gate.traffic_log import GateUser
        from orchestrator.gate.upstream_proxy import UpstreamProxies
        from orchestrator.web.network import SystemNetwork
        gates = Gates(SystemNetwork(), proxies=UpstreamProxies(), write=lambda user, rows: None)
        gates.open_gate(Path(sys.argv[1]), ExactHosts(frozenset()), GateUser("x"), uid=os.getuid(), gid=os.getgid())
        print("open", flush=True)
        threading.Event().wait()
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path), str(ROOT)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        path = str(tmp_path / "gate.sock")
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(path)
            sock.settimeout(10)
            process.send_signal(signal.SIGKILL)
            assert read_all(sock) == b""
        process.wait(10)
    with socket.socket(socket.AF_UNIX) as sock, pytest.raises(ConnectionRefusedError):
        sock.connect(path)
