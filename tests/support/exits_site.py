"""The site of an attacker whose page a person has let an agent open, with everything that it tries to reach from there,
and a little internet that notes whatever arrives."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from orchestrator.web.ip_rules import Address
from tests.support.fake_internet import OTHER, PUBLIC, FakeInternet, Visit, answer

_DATA = Path(__file__).parents[1] / "data"
_TRIES = (_DATA / "exfiltration.js").read_text(encoding="utf-8").partition('addEventListener("load"')[0]
_MORE = (_DATA / "browser_exits.js").read_text(encoding="utf-8")
WAYS = tuple(re.findall(r"^  ([a-z_]+): ", _TRIES + _MORE, re.MULTILINE))
TOP_WAYS = (
    *(name for name in WAYS if name.startswith("click_")),
    "top_location",
    "parent_location",
    "form_top",
    "form_blank",
    "webrtc_stun_in_frame",
)
"""These may take the page around them with them, or need a click."""
FRAMED_WAYS = tuple(name for name in WAYS if name not in TOP_WAYS)

TLS_NAMES = ("secure.test", "bank.test", "static.test", "fonts.test")
"""These have a certificate."""
SHUT: dict[str, tuple[str, str, int, str]] = {
    # what is asked for, and as which host and port the gate refuses it, why
    "loopback": ("http://127.0.0.1/", "127.0.0.1", 80, "not-a-public-name"),
    "loopback decimal": ("http://2130706434/", "127.0.0.2", 80, "not-a-public-name"),
    "loopback hex": ("http://0x7f000003/", "127.0.0.3", 80, "not-a-public-name"),
    "loopback octal": ("http://017700000004/", "127.0.0.4", 80, "not-a-public-name"),
    "loopback short": ("http://127.5/", "127.0.0.5", 80, "not-a-public-name"),
    "loopback wide": ("http://\uff11\uff12\uff17.0.0.6/", "127.0.0.6", 80, "not-a-public-name"),
    "loopback over tls": ("https://127.0.0.7/", "127.0.0.7", 443, "not-a-public-name"),
    "loopback ipv6": ("http://[::1]/", "::1", 80, "not-a-public-name"),
    "loopback mapped": ("http://[::ffff:127.0.0.8]/", "::ffff:7f00:8", 80, "not-a-public-name"),
    "any address": ("http://0.0.0.0/", "0.0.0.0", 80, "not-a-public-name"),
    "metadata of a cloud": ("http://169.254.169.254/", "169.254.169.254", 80, "not-a-public-name"),
    "private": ("http://10.0.0.7/", "10.0.0.7", 80, "not-a-public-name"),
    "a public address": (f"http://{PUBLIC}/", PUBLIC, 80, "not-a-public-name"),
    "a public ipv6 address": (f"http://[{OTHER}]/", OTHER, 80, "not-a-public-name"),
    "localhost": ("http://localhost/", "localhost", 80, "not-a-public-name"),
    "below localhost": ("http://shop.test.localhost/", "shop.test.localhost", 80, "not-a-public-name"),
    "one label": ("http://router/", "router", 80, "not-a-public-name"),
    "the end of the name": ("http://test/", "test", 80, "not-a-public-name"),
    "the browser's own proxy": ("http://127.0.0.1:3128/", "127.0.0.1", 3128, "port-not-allowed"),
    "an odd port": ("http://shop.test:8080/", "shop.test", 8080, "port-not-allowed"),
    "an odd port over tls": ("https://shop.test:8443/", "shop.test", 8443, "port-not-allowed"),
    "the engine's port": ("http://shop.test:2375/", "shop.test", 2375, "port-not-allowed"),
    "an odd port and a last dot": ("http://shop.test.:8081/", "shop.test", 8081, "port-not-allowed"),
    "a WebSocket at an odd port": ("ws://shop.test:9222/", "shop.test", 9222, "port-not-allowed"),
    "a WebSocket without TLS": ("ws://shop.test/", "shop.test", 80, "tunnel-without-tls"),
    "rebound": ("http://rebound.shop.test/", "rebound.shop.test", 80, "private-address"),
    "mixed answers": ("http://mixed.shop.test/", "mixed.shop.test", 80, "private-address"),
    "rebound over tls": ("https://loop.shop.test/", "loop.shop.test", 443, "private-address"),
    "rebound to a mapped address": ("http://mapped.shop.test/", "mapped.shop.test", 80, "private-address"),
    "rebound to a translated address": ("http://nat.shop.test/", "nat.shop.test", 80, "private-address"),
    "rebound to metadata": ("http://meta.shop.test/", "meta.shop.test", 80, "private-address"),
    "rebound to a local ipv6": ("http://local.shop.test/", "local.shop.test", 80, "private-address"),
    "a twin": ("http://sh\u043ep.test/", "xn--shp-ted.test", 80, "host-not-approved"),
    "a longer name": ("http://notshop.test/", "notshop.test", 80, "host-not-approved"),
    "the host below www": ("http://www.notshop.test/", "www.notshop.test", 80, "host-not-approved"),
    "who measures": ("https://www.google-analytics.com/", "www.google-analytics.com", 443, "measuring-host"),
    "who advertises": ("https://ads.doubleclick.net/", "ads.doubleclick.net", 443, "measuring-host"),
}
"""Ways that no yes of a person opens."""
_REBOUND = {
    "rebound.shop.test": ["10.0.0.7"],
    "mixed.shop.test": [PUBLIC, "10.0.0.7"],
    "loop.shop.test": ["127.0.0.1"],
    "mapped.shop.test": ["::ffff:10.0.0.7"],
    "nat.shop.test": ["64:ff9b::a00:7"],
    "meta.shop.test": ["169.254.169.254"],
    "local.shop.test": ["fd00::1"],
}
_TRY = f"<!doctype html><title>t</title><body><script>{_TRIES}{_MORE}</script>"
_SHUT = "".join(f"<p>{name}</p>" for name in SHUT) + (
    "<script>for (const url of [%s]) url.startsWith('ws') ? new WebSocket(url)"
    " : fetch(url, {mode: 'no-cors'}).catch(() => 0)</script>"
)


class ExitsTown(FakeInternet):
    """Over TLS only those answer who have a certificate; that somebody tried others is noted."""

    def connect(self, address: Address, port: int, timeout_s: float) -> socket.socket:
        """To the site, at its port alone."""
        if port == (443 if str(address) == OTHER else 80):
            return super().connect(address, port, timeout_s)
        self.connected.append((str(address), port))
        raise ConnectionRefusedError(str(address))


@dataclass
class ExitsSite:
    """What answers at every name, and every request that arrived."""

    town: FakeInternet
    heads: list[tuple[str, str, str]] = field(default_factory=list)
    """Host, method and target."""

    def __call__(self, visit: Visit) -> None:
        """One connection, for as long as it asks for more; one that says nothing arrived too, which the look-up of its
        name tells."""
        head = visit.head
        while head:
            found = re.search(r"^host: *(\S+)", head, re.MULTILINE | re.IGNORECASE)
            host, (method, target) = found[1] if found else "", head.split(" ")[:2]
            self.heads.append((host, method, target))
            path, _, query = target.partition("?")
            if not visit.send(self._answer(path, unquote(query)) if host.endswith(_OURS) else _ANYTHING):
                return
            head = "" if "\r\nconnection: close" in head.lower() else _next_head(visit)

    def _answer(self, path: str, query: str) -> bytes:
        if path in ("/to", "/to307"):
            return answer(b"", "307 Over there" if path.endswith("7") else "302 Found", Location=query)
        if path == "/refresh":
            return _page("", Refresh=f"0;url={query}")
        if path == "/linked":
            return _page("", Link=f"<{query}>; rel=preload; as=image, <{query}>; rel=preconnect")
        if path == "/service.js":
            return answer(f"fetch('{query}', {{mode: 'no-cors'}})".encode(), Content_Type="text/javascript")
        if path == "/try":
            return _page(_TRY)
        if path == "/greedy":
            return _page(
                "<h1>Greedy</h1><script>fetch('https://static.test/greedy', {mode: 'no-cors'}).then(() => {"
                "document.title = 'got it'}, () => {document.title = 'nothing'})</script>"
            )
        if path == "/shut":
            return _page(_SHUT % ",".join(f'"{url}"' for url, _, _, _ in SHUT.values()))
        frames = (f'<iframe src="/try?try={name}&side={query}" width=150 height=60></iframe>' for name in FRAMED_WAYS)
        return _page("".join(frames) if path == "/all" else "<h1>Shop</h1>")

    def reached(self, side: str) -> set[str]:
        """The ways whose host was looked up, connected to or asked for something."""
        hosts = {*self.town.looked_up, *(host.partition(":")[0] for host, _, _ in self.heads)}
        return {found[1].replace("-", "_") for host in hosts if (found := _WHOSE.search(host)) and found[2] == side}


def _next_head(visit: Visit) -> str:
    """Of a connection that is kept; empty at its end."""
    head = b""
    while not head.endswith(b"\r\n\r\n") and (piece := visit.sock.recv(65536)):
        head += piece
    return head.decode("latin-1")


_OURS = ("shop.test", "secure.test", "bank.test")
_WHOSE = re.compile(r"(?:^|\.)([a-z-]+)\.(\w+)\.test\.?$")
_ANYTHING = answer(b"", Content_Type="text/html", Access_Control_Allow_Origin="*")


def _page(body: str, **headers: str) -> bytes:
    return answer(body.encode(), Content_Type="text/html; charset=utf-8", **headers)


def hosts_of(side: str) -> list[str]:
    """Every host that the ways of a side lead to."""
    names = [f"{name.replace('_', '-')}.{side}.test" for name in WAYS]
    prefixes = ("shop.test.", "xn--shp-ted.test.", "secret-in-the-name.")
    return names + [f"{prefix}{name}" for name in names if "twin" in name or "name-in" in name for prefix in prefixes]


def exits_town(*sides: str) -> ExitsTown:
    """In which all of them are there."""
    names = ["shop.test", "notshop.test", "www.notshop.test", "xn--shp-ted.test", "ads.doubleclick.net"]
    own = {name: [[OTHER]] for name in TLS_NAMES}
    names += ["www.google-analytics.com", *(host for side in sides for host in hosts_of(side))]
    return ExitsTown(
        {**own, **{name: [[PUBLIC]] for name in names}, **{name: [found] for name, found in _REBOUND.items()}}
    )
