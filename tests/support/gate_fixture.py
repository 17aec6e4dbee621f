"""Gates over real unix sockets, with a network of the test's own behind them, and clients that send what they like."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.core.models import CubicleKey
from orchestrator.gate.connection import GateLimits
from orchestrator.gate.gate import SOCKET_NAME, Gates, OpenGate
from orchestrator.gate.policy import ExactHosts, GatePolicy, HostPort
from orchestrator.gate.traffic import TrafficRow
from orchestrator.gate.traffic_log import GateUser
from orchestrator.gate.upstream_proxy import UpstreamProxies
from tests.support.fake_internet import PUBLIC, FakeInternet

USER = GateUser("packages", CubicleKey("crab", 1), job=7)
ANYWHERE = frozenset((f"{name}.example", port) for name in ("files", "other", "rebind", "inner") for port in (80, 443))


@dataclass
class GateFixture:
    """One open gate, and whoever sends something to it."""

    gates: Gates
    gate: OpenGate
    folder: Path
    town: FakeInternet
    rows: list[TrafficRow] = field(default_factory=list)

    def connect(self) -> socket.socket:
        """A connection to the gate."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(10)
        try:
            sock.connect(str(self.folder / SOCKET_NAME))
        except OSError:
            sock.close()
            raise
        return sock

    def say(self, data: bytes) -> bytes:
        """Everything that the gate answers until the end."""
        with self.connect() as sock:
            sock.sendall(data)
            return read_all(sock)

    def tunnel(self, host: str = "files.example", port: int = 443) -> socket.socket:
        """A tunnel that was let through; nothing was sent in it yet."""
        sock = self.connect()
        sock.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        head = read_head(sock)
        assert head.startswith(b"HTTP/1.1 200 "), head
        return sock

    def reasons(self) -> set[str]:
        """Why something was refused or cut."""
        return {usage.reason for usage in self.gate.usage() if usage.reason}


def read_all(sock: socket.socket) -> bytes:
    """Until the end; a reset is one too."""
    data = b""
    try:
        while piece := sock.recv(65536):
            data += piece
    except ConnectionResetError:
        return data
    return data


def read_head(sock: socket.socket) -> bytes:
    """Up to the empty line."""
    data = b""
    while b"\r\n\r\n" not in data and (piece := sock.recv(1)):
        data += piece
    return data


def client_hello(name: str | None) -> bytes:
    """What a TLS client says first to a server of this name."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    talking = context.wrap_bio(incoming, outgoing, server_hostname=name)
    try:
        talking.do_handshake()
    except ssl.SSLWantReadError:
        return outgoing.read()
    raise AssertionError("a handshake without a server")


@contextmanager
def gate_fixture(
    folder: Path,
    town: FakeInternet | None = None,
    policy: GatePolicy | None = None,
    *,
    limits: GateLimits | None = None,
    proxies: UpstreamProxies | None = None,
    named: frozenset[HostPort] = frozenset(),
) -> Iterator[GateFixture]:
    """Open while the test runs."""
    town = town or FakeInternet({"files.example": [[PUBLIC]]})
    rows: list[TrafficRow] = []

    def write(user: GateUser, written: Sequence[TrafficRow]) -> None:
        assert user == USER
        rows.extend(written)

    gates = Gates(town, proxies=proxies or UpstreamProxies(), named=named, write=write, limits=limits)
    try:
        policy = policy or ExactHosts(ANYWHERE)
        gate = gates.open_gate(folder, policy, USER, uid=os.getuid(), gid=os.getgid())
        yield GateFixture(gates, gate, folder, town, rows)
    finally:
        gates.close()
