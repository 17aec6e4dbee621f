"""The proxy by which this machine reaches the internet: read as other programs read it, and used for all but
``no_proxy``."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.gate.upstream_proxy import UpstreamProxies, UpstreamProxy, read_upstream_proxies
from tests.support.fake_internet import OTHER, PUBLIC, FakeInternet, FakeSite, Script, Visit, answer, opened
from tests.support.gate_fixture import client_hello, gate_fixture, read_all


@pytest.mark.parametrize(
    ("text", "proxy"),
    [
        ("http://proxy.lan:3128", UpstreamProxy("proxy.lan", 3128)),
        ("proxy.lan:3128", UpstreamProxy("proxy.lan", 3128)),
        ("http://me:a%40b@Proxy.LAN:3128/", UpstreamProxy("proxy.lan", 3128, "Basic bWU6YUBi")),
        ("socks5h://proxy.lan:1080", UpstreamProxy("", 0, is_usable=False)),
        ("http://proxy.lan:port", UpstreamProxy("", 0, is_usable=False)),
    ],
)
def test_addresses_of_proxies(text: str, proxy: UpstreamProxy) -> None:
    """With a password or without; what is not understood is not passed by."""
    found = read_upstream_proxies({"HTTPS_PROXY": text, "http_proxy": text})
    assert (found.tunnel, found.plain) == (proxy, proxy)
    assert "a@b" not in repr(found)
    assert "bWU6" not in repr(found)


@pytest.mark.parametrize(
    ("entry", "is_direct"),
    [
        ("files.example", True),
        ("example", True),
        (".example", True),
        ("*.example", True),
        ("*", True),
        ("files.example:443", True),
        ("files.example:80", False),
        ("ples.example", False),
        ("les.example", False),
        ("other.example", False),
        ("", False),
    ],
)
def test_hosts_without_a_proxy(entry: str, *, is_direct: bool) -> None:
    """A name means itself and those below it."""
    found = read_upstream_proxies({"https_proxy": "http://p:1", "no_proxy": f"a.b, {entry}"})
    assert (found.find("files.example", 443, is_tunnel=True) is None) is is_direct


def test_nothing_is_set() -> None:
    """Then there is none."""
    assert read_upstream_proxies({}).find("files.example", 443, is_tunnel=True) is None


def say(word: bytes) -> Script:
    """A site that answers with a word."""

    def answer_visit(visit: Visit) -> None:
        visit.send(answer(word))

    return answer_visit


def town_with_proxy(site: FakeSite) -> FakeInternet:
    """The machine's proxy is the only thing that answers."""
    return FakeInternet({"proxy.lan": [["10.0.0.9"]]}, {"10.0.0.9": site})


PROXY = UpstreamProxy("proxy.lan", 3128, "Basic eA==")
PROXIES = UpstreamProxies(PROXY, PROXY, direct=("direct.example",))


def test_plain_requests_go_by_the_proxy(tmp_path: Path) -> None:
    """The policy is asked here, the name is looked up there."""
    with opened(say(b"by proxy")) as site:
        town = town_with_proxy(site)
        with gate_fixture(tmp_path, town, proxies=PROXIES) as at:
            assert at.say(b"GET http://files.example/a HTTP/1.1\r\n\r\n").endswith(b"by proxy")
            assert b"host-not-approved" in at.say(b"GET http://evil.example/a HTTP/1.1\r\n\r\n")
    assert town.looked_up == ["proxy.lan"]
    (head,) = site.heads
    assert head.startswith("GET http://files.example/a HTTP/1.1\r\nHost: files.example\r\n")
    assert "Proxy-Authorization: Basic eA==\r\n" in head


def test_tunnels_go_by_the_proxy(tmp_path: Path) -> None:
    """It is asked for a tunnel, and the greeting in it is looked at all the same."""
    heard: list[bytes] = []

    def relay(visit: Visit) -> None:
        visit.send(b"HTTP/1.1 200 OK\r\n\r\n")
        heard.append(visit.sock.recv(65536))
        visit.send(b"from beyond")

    with opened(relay) as site, gate_fixture(tmp_path, town_with_proxy(site), proxies=PROXIES) as at:
        with at.tunnel() as sock:
            sock.sendall(client_hello("files.example"))
            assert read_all(sock) == b"from beyond"
        with at.tunnel() as sock:
            sock.sendall(client_hello("evil.example"))
            assert read_all(sock) == b""
        assert at.reasons() == {"other-server-name"}
    assert site.heads[0].startswith("CONNECT files.example:443 HTTP/1.1\r\nHost: files.example:443\r\n")
    assert heard[0][:1] == b"\x16"
    assert b"evil" not in b"".join(heard)


@pytest.mark.parametrize("said", [b"HTTP/1.1 407 Who are you\r\n\r\n", b"nonsense\r\n\r\n", b""])
def test_a_proxy_that_does_not_want(tmp_path: Path, said: bytes) -> None:
    """The client hears that the host can't be reached; nothing goes past the proxy."""

    def refuse(visit: Visit) -> None:
        visit.send(said)

    with opened(refuse) as site, opened(refuse) as direct:
        town = town_with_proxy(site)
        town.names["files.example"], town.sites[PUBLIC] = [[PUBLIC]], direct
        with gate_fixture(tmp_path, town, proxies=PROXIES) as at:
            reply = at.say(b"CONNECT files.example:443 HTTP/1.1\r\n\r\n")
        assert reply.startswith(b"HTTP/1.1 502 ")
        assert direct.connections == 0


def test_a_proxy_that_is_not_understood_is_not_passed_by(tmp_path: Path) -> None:
    """Whoever set one does not want connections without it."""
    town = FakeInternet({"files.example": [[PUBLIC]]})
    proxies = read_upstream_proxies({"https_proxy": "socks5://127.0.0.1:1080"})
    with gate_fixture(tmp_path, town, proxies=proxies) as at:
        assert b"upstream-proxy-unusable" in at.say(b"CONNECT files.example:443 HTTP/1.1\r\n\r\n")
    assert town.connected == []


def test_the_next_address_is_tried(tmp_path: Path) -> None:
    """One that does not answer is passed over, as on a machine without IPv6."""
    with opened(say(b"second")) as site:
        town = FakeInternet({"files.example": [[OTHER, PUBLIC]]}, {PUBLIC: site})
        with gate_fixture(tmp_path, town) as at:
            assert at.say(b"GET http://files.example/ HTTP/1.1\r\n\r\n").endswith(b"second")
            assert b"name-not-found" in at.say(b"GET http://other.example/ HTTP/1.1\r\n\r\n")
