"""The whole way: an agent's browser in its container, its driver, and the gate in front of a network of the test's own.
A page is shown as text, what was not approved is kept away, dialogs wait while the browser is paused and while its
connection is lost, and each end says why."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import docker
import pytest

from orchestrator.browser.downloads import PageDownload
from orchestrator.browser.session import BrowserSession
from orchestrator.core.errors import NotFound
from orchestrator.core.models import CubicleKey
from orchestrator.engine.docker.helpers import DockerHelpers
from orchestrator.engine.helpers import LIVE_BROWSER, HelperSpec
from orchestrator.gate.gate import Gates, OpenGate
from orchestrator.gate.policy import ExactHosts
from orchestrator.gate.traffic import TrafficRow
from orchestrator.gate.traffic_log import GateUser
from orchestrator.gate.upstream_proxy import UpstreamProxies
from orchestrator.live_browsers.browsers import LiveBrowsers
from orchestrator.live_browsers.models import BrowserEnded, BrowserParts
from tests.support.fake_internet import PUBLIC, FakeInternet, Visit, opened
from tests.support.real_app import eventually

pytestmark = pytest.mark.docker

CRAB = CubicleKey("crab", 1)
HOSTS = frozenset({("shop.example", 80), ("other.example", 80)})
PAGES = {
    "/": "<title>Shop</title><h1>Our shop</h1><a href='/ask'>Ask me</a><img src='http://tracker.example/x.png'>",
    "/ask": "<title>Ask</title><button onclick=\"document.title = confirm('Really buy?')\">Buy</button>",
}


def serve(visit: Visit) -> None:
    """The shop."""
    page = PAGES.get(visit.target, "")
    body = f"<!doctype html>{page}".encode()
    status = "200 OK" if page else "404 Not Found"
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    visit.send(head.encode() + body)


class OpenPolicy:
    """Lets pages of the two hosts be shown, and nothing be downloaded."""

    def may_open(self, host: str) -> str | None:
        """By name."""
        return None if (host, 80) in HOSTS else "Nobody approved this site."

    def note_pages(self, _hosts: Collection[str]) -> None:
        """They are as open before as after."""

    def may_download(self, _download: PageDownload) -> str | None:
        """Never."""
        return "No downloads here."

    async def may_upload(self, _origin: str, _paths: Sequence[str]) -> str | None:
        """Never."""
        return "No uploads here."

    async def secret_for(self, _name: str, _origin: str) -> str:
        """There is none."""
        raise NotFound("There is no secret.")


@dataclass
class Browsing:
    """All the parts together."""

    client: docker.DockerClient
    image: str
    folder: Path
    town: FakeInternet
    rows: list[TrafficRow] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.install = f"whole{secrets.token_hex(4)}"
        self.gates = Gates(self.town, proxies=UpstreamProxies(), write=lambda _user, rows: self.rows.extend(rows))
        parts = BrowserParts(
            DockerHelpers(self.client, self.install, str(self.folder)),
            self.folder / "browsers",
            lambda: self.image,
            lambda _image: LIVE_BROWSER,
            self.open_gate,
            lambda _key: BrowserSession(OpenPolicy()),
        )
        self.browsers: LiveBrowsers[BrowserSession] = LiveBrowsers(parts)
        self.browsers.start()

    def open_gate(self, key: CubicleKey, spec: HelperSpec) -> OpenGate:
        """To the two hosts."""
        assert spec.sockets is not None
        user = GateUser("browser", key)
        return self.gates.open_gate(spec.sockets, ExactHosts(HOSTS), user, uid=spec.uid, gid=spec.gid)

    def there(self) -> list[str]:
        """How each container is."""
        filters = {"label": f"{LIVE_BROWSER.label}={self.install}"}
        return [str(one["State"]) for one in self.client.api.containers(all=True, filters=filters)]

    def diagnostics(self) -> str:
        """For a test that failed."""
        return f"{self.there()}, looked up {self.town.looked_up}, {self.rows}"


@pytest.fixture
def browsing(client: docker.DockerClient, image_tag: Callable[[str], str], tmp_path: Path) -> Iterator[Browsing]:
    """Gone after the test."""
    with ExitStack() as stack:
        site = stack.enter_context(opened(serve))
        town = FakeInternet({"shop.example": [[PUBLIC]], "tracker.example": [[PUBLIC]]}, {PUBLIC: site})
        made = Browsing(client, image_tag("browser"), tmp_path, town)
        stack.callback(made.gates.close)
        stack.callback(made.browsers.close)
        yield made
    assert made.there() == []


def test_a_page_as_text(browsing: Browsing) -> None:
    """It is shown; what nobody approved is not even looked up, neither as part of a page nor as a page."""
    report = browsing.browsers.call(CRAB, lambda session: session.open("http://shop.example/"))
    assert "Our shop" in report.text
    assert "tracker.example" in report.text
    assert set(browsing.town.looked_up) == {"shop.example"}
    with pytest.raises(Exception, match="Nobody approved this site"):
        browsing.browsers.call(CRAB, lambda session: session.open("http://tracker.example/"))
    assert set(browsing.town.looked_up) == {"shop.example"}
    browsing.browsers.end(CRAB)
    refused = {(row.usage.host, str(row.usage.reason)) for row in browsing.rows if row.usage.reason}
    assert ("tracker.example", "host-not-approved") in refused


def test_a_dialog_waits(browsing: Browsing) -> None:
    """While the browser is paused, and while its connection is lost; then it is answered."""

    async def ask(session: BrowserSession) -> str:
        await session.open("http://shop.example/ask")
        snapshot = await session.snapshot()
        ref = snapshot.text.partition("[button ")[2].partition(":")[0]
        return (await session.click(ref)).text

    assert "Really buy?" in browsing.browsers.call(CRAB, ask)
    eventually(lambda: browsing.there() == ["paused"], patience_s=30.0)

    async def lose(session: BrowserSession) -> str:
        before = session.supervisor.connections
        session.supervisor.wire.drop()
        while session.supervisor.connections == before:  # noqa: ASYNC110 - of which the driver tells nobody
            await asyncio.sleep(0.01)
        return (await session.snapshot()).text

    assert "Really buy?" in browsing.browsers.call(CRAB, lose, starts=False)
    browsing.browsers.call(CRAB, lambda session: session.dialog("accept"), starts=False)
    report = browsing.browsers.call(CRAB, lambda session: session.snapshot(), starts=False)
    assert "true" in report.text


def test_its_end(browsing: Browsing) -> None:
    """Chromium crashes in the middle of a deed: the deed says so, and the next one has another browser."""
    browsing.browsers.call(CRAB, lambda session: session.open("http://shop.example/"))
    with pytest.raises(BrowserEnded, match="another browser"):
        browsing.browsers.call(CRAB, lambda session: session.supervisor.wire.call("Browser.crash"))
    with pytest.raises(BrowserEnded):
        browsing.browsers.call(CRAB, lambda session: session.snapshot(), starts=False)
    report = browsing.browsers.call(CRAB, lambda session: session.open("http://shop.example/"))
    assert "Our shop" in report.text
