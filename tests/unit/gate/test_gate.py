"""Gates: what operators named, what is counted and written down, and many gates in one thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from orchestrator.core.audit import Audit
from orchestrator.core.errors import Unavailable
from orchestrator.gate.gate import SOCKET_NAME, Gates
from orchestrator.gate.policy import ExactHosts
from orchestrator.gate.traffic import MOST_HOSTS, MOST_REFUSED, OTHERS, GateVerdict, Traffic, TrafficRow
from orchestrator.gate.traffic_log import GateUser, TrafficLog
from orchestrator.gate.upstream_proxy import UpstreamProxies
from tests.support.core_fixture import core_fixture
from tests.support.fake_internet import PUBLIC, FakeInternet, FakeSite, Visit, answer, opened
from tests.support.gate_fixture import ANYWHERE, USER, GateFixture, client_hello, gate_fixture, read_all


def greet(visit: Visit) -> None:
    """One word."""
    visit.send(answer(b"ahoy"))


@pytest.fixture
def site() -> Iterator[FakeSite]:
    """A plain web server."""
    with opened(greet) as made:
        yield made


INNER = frozenset({("nas", 8080), ("10.0.0.5", 80), ("wiki.lan", 80), ("::1", 80)})


@pytest.mark.parametrize(
    ("authority", "address"),
    [("nas:8080", "192.168.1.2"), ("10.0.0.5", "10.0.0.5"), ("wiki.lan", "127.0.0.1"), ("[::1]", "::1")],
)
def test_hosts_that_the_operator_named(tmp_path: Path, site: FakeSite, authority: str, address: str) -> None:
    """Stand wherever they stand, at the port that was named, and are judged like any other."""
    town = FakeInternet({"nas": [[address]], "wiki.lan": [[address]]}, {address: site})
    with gate_fixture(tmp_path, town, ExactHosts(INNER), named=INNER) as at:
        assert at.say(f"GET http://{authority}/ HTTP/1.1\r\n\r\n".encode()).endswith(b"ahoy")
        assert b"port-not-allowed" in at.say(b"GET http://nas:8081/ HTTP/1.1\r\n\r\n")
        assert b"not-a-public-name" in at.say(b"GET http://10.0.0.6/ HTTP/1.1\r\n\r\n")
    (tmp_path / SOCKET_NAME).unlink(missing_ok=True)
    with gate_fixture(tmp_path, town, ExactHosts(ANYWHERE), named=INNER) as at:
        assert b"host-not-approved" in at.say(f"GET http://{authority}/ HTTP/1.1\r\n\r\n".encode())


def test_a_named_address_is_asked_for_without_a_name(tmp_path: Path, site: FakeSite) -> None:
    """TLS to an address names no server; one that names some other is cut."""
    named = frozenset({("10.0.0.5", 443)})
    with gate_fixture(tmp_path, FakeInternet({}, {"10.0.0.5": site}), ExactHosts(named), named=named) as at:
        with at.tunnel("10.0.0.5") as sock:
            sock.sendall(client_hello("evil.example"))
            assert read_all(sock) == b""
        assert at.reasons() == {"other-server-name"}


def test_rows_for_each_host(tmp_path: Path, site: FakeSite) -> None:
    """Written when they are asked for, once, and the rest at the end."""
    with gate_fixture(tmp_path, FakeInternet({"files.example": [[PUBLIC]]}, {PUBLIC: site})) as at:
        for _ in range(3):
            at.say(b"GET http://files.example/ HTTP/1.1\r\n\r\n")
        at.say(b"GET http://evil.example/ HTTP/1.1\r\n\r\n")
        at.gates.write_traffic()
        at.gates.write_traffic()
        assert {(row.usage.host, row.usage.verdict, row.usage.connections) for row in at.rows} == {
            ("files.example", GateVerdict.ALLOWED, 3),
            ("evil.example", GateVerdict.REFUSED, 1),
        }
        before = len(at.rows)
        at.say(b"GET http://files.example/ HTTP/1.1\r\n\r\n")
        at.gate.close()
        (last,) = at.rows[before:]
    assert (last.usage.connections, last.usage.up > 50, last.usage.down > 30) == (1, True, True)


def test_rows_wait_for_a_database_that_can_not_be_written(tmp_path: Path, site: FakeSite) -> None:
    """They are written with the next ones."""
    written: list[TrafficRow] = []
    is_full = [True]

    def write(_: GateUser, rows: Sequence[TrafficRow]) -> None:
        if is_full[0]:
            raise Unavailable("The disk is full.")
        written.extend(rows)

    gates = Gates(FakeInternet(), proxies=UpstreamProxies(), write=write)
    gate = gates.open_gate(tmp_path, ExactHosts(ANYWHERE), USER, uid=os.getuid(), gid=os.getgid())
    at = GateFixture(gates, gate, tmp_path, FakeInternet())
    at.say(b"GET http://evil.example/ HTTP/1.1\r\n\r\n")
    with pytest.raises(Unavailable):
        gates.write_traffic()
    is_full[0] = False
    gates.close()
    assert [row.usage.host for row in written] == ["evil.example"]


def test_the_audit_log_says_who_reached_what(tmp_path: Path, site: FakeSite) -> None:
    """A row each, which is found by the host's name."""
    (tmp_path / "run").mkdir()
    with core_fixture(tmp_path / "home") as install:
        town = FakeInternet({"files.example": [[PUBLIC]]}, {PUBLIC: site})
        gates = Gates(town, proxies=UpstreamProxies(), write=TrafficLog(install.store).write_rows)
        gate = gates.open_gate(tmp_path / "run", ExactHosts(ANYWHERE), USER, uid=os.getuid(), gid=os.getgid())
        at = GateFixture(gates, gate, tmp_path / "run", town)
        at.say(b"GET http://files.example/ HTTP/1.1\r\n\r\n")
        at.say(b"CONNECT 169.254.169.254:80 HTTP/1.1\r\n\r\n")
        at.say(b"\0\r\n\r\n")
        gates.close()
        rows = Audit(install.store).search_records(words="files.example")
        assert [(row.kind, row.agent, row.user, row.detail["job"]) for row in rows] == [("gate.allowed", "crab", 1, 7)]
        assert rows[0].text.startswith("packages: files.example:80, 1 connection, ")
        refused = Audit(install.store).search_records(kind="gate.refused")
        assert {(row.detail["host"], row.detail["reason"]) for row in refused} == {
            ("169.254.169.254", "not-a-public-name"),
            ("", "unreadable-head"),
        }


def test_counts_have_an_end() -> None:
    """Whoever asks for ever new hosts fills no memory, and hides nothing that was let through."""
    traffic = Traffic()
    for number in range(MOST_REFUSED + 100):
        traffic.count_connection(f"h{number}.example", 443, GateVerdict.REFUSED, "host-not-approved")
    traffic.count_connection("files.example", 443, GateVerdict.ALLOWED)
    assert traffic.count_up("files.example", 443, 10) == 10
    usage = {use.host: use for use in traffic.usage()}
    assert len(usage) == MOST_REFUSED + 2
    assert (usage[OTHERS].connections, usage["files.example"].up) == (100, 10)
    for number in range(MOST_HOSTS - 1):
        assert traffic.has_room(f"a{number}.example")
        traffic.count_connection(f"a{number}.example", 443, GateVerdict.ALLOWED)
    assert (traffic.has_room("one.more.example"), traffic.has_room("files.example")) == (False, True)


def test_a_long_way_to_the_socket(tmp_path: Path) -> None:
    """A path of a socket ends at 107 bytes; a home may be longer."""
    folder = tmp_path / ("x" * 120)
    folder.mkdir()
    with gate_fixture(folder) as at:
        assert (folder / SOCKET_NAME).stat().st_mode & 0o777 == 0o600
        assert at.gate.usage() == ()


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    """Is told as such, and the next gate opens."""
    gates = Gates(FakeInternet(), proxies=UpstreamProxies(), write=lambda _user, _rows: None)
    with pytest.raises(Unavailable, match="gate"):
        gates.open_gate(tmp_path / "no", ExactHosts(ANYWHERE), USER, uid=os.getuid(), gid=os.getgid())
    gate = gates.open_gate(tmp_path, ExactHosts(ANYWHERE), USER, uid=os.getuid(), gid=os.getgid())
    gates.close()
    with pytest.raises(Unavailable):
        gate.usage()
    gate.close()


def test_gates_open_and_close_at_once(tmp_path: Path, site: FakeSite) -> None:
    """From many threads, with connections under way: each answers for itself, and none is left."""
    town = FakeInternet({"files.example": [[PUBLIC]]}, {PUBLIC: site})
    gates = Gates(town, proxies=UpstreamProxies(), write=lambda _user, _rows: None)
    replies: list[bytes] = []

    def work(number: int) -> None:
        folder = tmp_path / str(number)
        folder.mkdir()
        gate = gates.open_gate(folder, ExactHosts(ANYWHERE), USER, uid=os.getuid(), gid=os.getgid())
        replies.append(GateFixture(gates, gate, folder, town).say(b"GET http://files.example/ HTTP/1.1\r\n\r\n"))
        gate.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    gates.close()
    assert [reply.endswith(b"ahoy") for reply in replies] == [True] * 12
    assert list(tmp_path.glob("*/*.sock")) == []
