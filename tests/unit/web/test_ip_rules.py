"""Which addresses are of the public internet, in every spelling that leads elsewhere."""

from __future__ import annotations

import pytest

from orchestrator.core.errors import BadInput, OrchestratorError
from orchestrator.web.fetcher import Fetcher, tls_context
from orchestrator.web.ip_rules import is_global, parse_address
from orchestrator.web.urls import UrlRules, parse_url
from tests.support.fake_internet import FakeInternet

INSIDE = [
    "127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "2130706433", "0x7f000001", "0x7f.0.0.1", "0x7f.1",
    "0177.0.0.1", "0177.1", "017700000001", "127.0.0.1.", "0x7F000001", "00000177.0.0.1", "127.000.000.001",
    "1.1.1.257", "1.1.1", "1.1.1.1.1", "0x1.0x1.0x1.0x1", "4294967297", "0", "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.1",
    "167772161", "0xa000001", "012.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "3232235521",
    "169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518", "100.64.0.1",
    "100.100.100.200", "168.63.129.16", "192.0.0.192", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.51.100.1",
    "203.0.113.7", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "１２７.０.０.１", "①②⑦.⓪.⓪.①",
    "127。0。0。1", "⑯⑨。②⑤④。⑯⑨。②⑤④", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[0000::0001]", "[::127.0.0.1]",
    "[::7f00:1]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:1]", "[::FFFF:7F00:0001]", "[::ffff:10.0.0.1]",
    "[::ffff:169.254.169.254]", "[::ffff:0:127.0.0.1]", "[::ffff:0.0.0.0]", "[64:ff9b::127.0.0.1]",
    "[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::7f00:1]", "[64:ff9b:1::808:808]", "[2002:7f00:1::]",
    "[2002:a9fe:a9fe::1]", "[2002:0a00:0001::]", "[2002:808:808::]", "[2001:0:7f00:1::]",
    "[2001:0:53aa:64c::80ff:fffe]", "[2001:db8::1]", "[2001:10::1]", "[2001:20::1]", "[3fff::1]", "[5f00::1]",
    "[100::1]", "[4000::1]", "[fe80::1]", "[fe80::1%eth0]", "[fe80::1%25eth0]", "[::1%lo]", "[fec0::1]", "[fc00::1]",
    "[fd00::1]", "[fd00:ec2::254]", "[ff02::1]", "[ff0e::1]", "[2606:4700::5efe:7f00:1]",
    "[2606:4700::200:5efe:10.0.0.1]", "[::1.2.3.4]", "[::ffff:0x7f.1]", "[127.0.0.1]", "[v1.x]",
]  # fmt: skip
TLS = tls_context()


def test_the_table_is_long_enough() -> None:
    """Far more than sixty spellings, each once."""
    assert len(set(INSIDE)) == len(INSIDE) > 100


@pytest.mark.parametrize("host", INSIDE)
def test_no_spelling_leads_inside(host: str) -> None:
    """As the host of a URL each is refused, and nothing is looked up."""
    with pytest.raises(BadInput):
        parse_url(f"https://{host}/")


@pytest.mark.parametrize("host", INSIDE)
def test_no_spelling_leads_inside_when_a_name_server_gives_it(host: str) -> None:
    """As the answer for a name each is refused, and nothing is connected to."""
    town = FakeInternet({"files.example": [[host.strip("[]")]]})
    with pytest.raises(OrchestratorError, match="inside a private network"):
        Fetcher(network=town, tls=TLS).fetch(parse_url("https://files.example/"), _Nowhere())
    assert town.connected == []


@pytest.mark.parametrize("host", INSIDE)
def test_no_spelling_gets_by_with_laxer_reading(host: str) -> None:
    """Whoever reads the URL with a rule that allows everything is stopped at the fetch."""
    try:
        link = parse_url(f"https://{host}/", UrlRules(is_allowed=bool))  # every address is true
    except BadInput:
        return
    town = FakeInternet()
    with pytest.raises(BadInput):
        Fetcher(network=town, tls=TLS).fetch(link, _Nowhere())
    assert (town.looked_up, town.connected) == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        "1.1.1.1", "8.8.8.8", "93.184.215.14", "100.63.255.255", "100.128.0.1", "172.15.0.1",
        "172.32.0.1", "192.167.1.1", "192.169.1.1", "198.17.0.1", "198.20.0.1", "223.255.255.255",
        "11.0.0.1", "126.255.255.255", "128.0.0.1", "168.63.129.17", "2606:4700::1111", "2a00:1450:4001::1",
        "2001:4860:4860::8888", "2001:200::1", "2003::1", "::ffff:8.8.8.8", "64:ff9b::808:808",
        "2606:4700::5efe:808:808",
    ],
)  # fmt: skip
def test_the_internet_is_open(text: str) -> None:
    """Neighbours of what is closed included; mapped and translated addresses are judged by what they carry."""
    address = parse_address(text)
    assert address is not None
    assert is_global(address)


class _Nowhere:
    def write(self, data: bytes, /) -> object:
        """Nothing may come."""
        raise AssertionError(data)
