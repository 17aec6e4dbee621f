"""The driver with a real live browser: in its container, through its own relay, with pages through a way out of the
test's own. What the driver does with pages, ``tests/browser/driver`` tries; here is that the two fit."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest

from orchestrator.browser.faults import BrowserError
from orchestrator.browser.reports import BrowserReport
from orchestrator.browser.session import BrowserSession
from orchestrator.core.models import CubicleKey
from orchestrator.engine.docker.helpers import DockerHelpers
from orchestrator.engine.helpers import LIVE_BROWSER
from orchestrator.live_browsers.browsers import LiveBrowsers
from orchestrator.live_browsers.models import BrowserParts
from tests.support.driven_browser import LenientPolicy, eventually
from tests.support.page_refs import ref_in
from tests.support.raw_driver import gate_maker

pytestmark = pytest.mark.docker

CRAB = CubicleKey("crab", 1)
PAGES = {
    "http://site.test/": b"<!doctype html><title>Here</title><h1>Hello</h1><label>File <input type=file></label>"
    b"<button onclick=\"document.title='asked '+confirm('Sure?')\">Ask</button><a href=/file.bin download>Take</a>"
    b"<a href=http://other.test/>Leave</a><iframe src=http://frame.test/ title=Inner></iframe>",
    "http://frame.test/": b"<!doctype html><button onclick=\"this.textContent='pressed'\">Press</button>",
    "http://other.test/": b"<!doctype html><title>Other</title>",
    "http://site.test/file.bin": b"x" * 100_000,
}


@pytest.fixture
def browsers(
    client: docker.DockerClient, image_tag: Callable[[str], str], tmp_path: Path
) -> Iterator[LiveBrowsers[BrowserSession]]:
    """Live browsers whose driver is the product's."""
    policy = LenientPolicy(closed_hosts={"other.test": "nobody approved it"})
    parts = BrowserParts(
        DockerHelpers(client, f"drive{tmp_path.name[-6:]}", str(tmp_path)),
        tmp_path / "browsers",
        lambda: image_tag("browser"),
        lambda _image: LIVE_BROWSER,
        gate_maker(PAGES, []),
        lambda _key: BrowserSession(policy),
    )
    made: LiveBrowsers[BrowserSession] = LiveBrowsers(parts)
    made.start()
    yield made
    made.close()


def test_an_agent_uses_a_live_browser(browsers: LiveBrowsers[BrowserSession]) -> None:
    """Pages, frames, dialogs, files both ways, a host that may not be opened, and a connection that is lost between."""

    def open_page() -> BrowserReport:
        return browsers.call(CRAB, lambda driver: driver.open("http://site.test/"))

    def click(name: str) -> BrowserReport:
        return browsers.call(CRAB, lambda driver: driver.click(ref_in(page, name)))

    page = open_page().body
    assert "# Hello" in page
    assert "pressed" in click("Press").body
    assert [one.message for one in click("Ask").pending_dialogs] == ["Sure?"]

    async def answer_after_a_loss(driver: BrowserSession) -> str:
        before = driver.supervisor.connections
        driver.supervisor.wire.drop()
        await eventually(lambda: driver.supervisor.connections > before and driver.supervisor.is_ready.is_set())
        await driver.dialog("accept")
        return (await driver.snapshot()).title

    assert browsers.call(CRAB, answer_after_a_loss) == "asked true"
    assert any("other.test: nobody approved it" in note for note in click("Leave").notes)
    page = open_page().body

    async def take(driver: BrowserSession) -> str:
        await driver.click(ref_in(page, "Take"))
        await eventually(lambda: any(one.state == "completed" for one in driver.downloads()))
        return driver.downloads()[-1].guid

    taken = io.BytesIO()
    browsers.take_download(CRAB, browsers.call(CRAB, take), taken)
    assert taken.getvalue() == b"x" * 100_000
    path = str(browsers.put_upload(CRAB, "a.txt", io.BytesIO(b"hello")))
    browsers.call(CRAB, lambda driver: driver.upload(ref_in(page, "File"), [path]))
    with pytest.raises(BrowserError, match="not in a folder of uploads"):
        browsers.call(CRAB, lambda driver: driver.upload(ref_in(page, "File"), ["/etc/passwd"]))
    assert browsers.call(CRAB, lambda driver: driver.screenshot()).startswith(b"\xff\xd8\xff")
