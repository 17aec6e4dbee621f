"""Live browsers at a place of somebody else's, without any container: contexts are written down and disposed of, a
browser that makes none is one cubicle's at a time, and a connection that stays lost ends with a reason."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from orchestrator.browser.fields import Fields
from orchestrator.browser.remote_address import RemoteAddress
from orchestrator.browser.session import BrowserSession
from orchestrator.browser.web_socket import open_web_socket
from orchestrator.browser.wire import Wire
from orchestrator.capabilities.browser.remote_backend import RemoteBackend
from orchestrator.capabilities.browser.site_access import Allowed, SiteAccess
from orchestrator.core.errors import OrchestratorError, Unavailable
from orchestrator.core.models import CubicleKey
from orchestrator.engine.helpers import LIVE_BROWSER
from orchestrator.live_browsers.browsers import LiveBrowsers
from orchestrator.live_browsers.models import BrowserEnded, BrowserLimits, BrowserParts
from orchestrator.web.limits import Internet
from tests.support.cdp_endpoint import cdp_endpoint, refusing
from tests.support.driven_site import DrivenSite, driven_site
from tests.support.fake_live_browsers import FakeBrowserHelpers
from tests.support.page_refs import ref_in
from tests.support.remote_chromium import CuttableRelay, remote_chromium

pytestmark = pytest.mark.browser

ONE, OTHER = CubicleKey("one", 1), CubicleKey("other", 1)


@pytest.fixture(scope="module")
def site() -> Iterator[DrivenSite]:
    """The internet, as that browser sees it."""
    with driven_site() as made:
        yield made


@pytest.fixture(scope="module")
def relay(site: DrivenSite) -> Iterator[CuttableRelay]:
    """The way to a browser."""
    with remote_chromium(site.port) as made:
        yield made


def socket_path(relay: CuttableRelay) -> str:
    """Of the browser's WebSocket."""
    with urllib.request.urlopen(f"http://127.0.0.1:{relay.port}/json/version") as answer:
        return str(urlsplit(json.load(answer)["webSocketDebuggerUrl"]).path)


def ask(relay: CuttableRelay, method: str) -> Fields:
    """The browser, by a connection of the test's own."""

    async def work() -> Fields:
        url = f"ws://127.0.0.1:{relay.port}{socket_path(relay)}"
        wire = Wire(lambda _method, _fields, _session: None)
        reading = asyncio.create_task(wire.attend(await open_web_socket(url, "there", Internet().tls)))
        await asyncio.sleep(0)
        try:
            return await wire.call(method)
        finally:
            wire.drop()
            await asyncio.gather(reading, return_exceptions=True)

    return asyncio.run(work())


def contexts(relay: CuttableRelay) -> list[str]:
    """Those that were made."""
    return list(ask(relay, "Target.getBrowserContexts")["browserContextIds"])


@contextmanager
def browsers_at(url: str, folder: Path, limits: BrowserLimits | None = None) -> Iterator[LiveBrowsers[BrowserSession]]:
    """Live browsers there, each allowed to open ``lab.test``."""
    accesses = {key: SiteAccess() for key in (ONE, OTHER)}
    for access in accesses.values():
        access.set_granted(Allowed(frozenset({"lab.test"})))
    backend = RemoteBackend(
        RemoteAddress(url),
        Internet(),
        folder / "remote.json",
        get_access=accesses.__getitem__,
        private_hosts=frozenset(),
    )

    def none(*_: Any) -> Any:
        raise AssertionError("No container is needed.")

    parts = BrowserParts(
        FakeBrowserHelpers(),
        folder / "live",
        none,
        lambda _: LIVE_BROWSER,
        none,
        backend.make_driver,
        remote=backend.parts,
    )
    made: LiveBrowsers[BrowserSession] = LiveBrowsers(parts, limits or BrowserLimits())
    made.start()
    try:
        yield made
    finally:
        made.close()


def test_contexts_are_written_down_and_disposed_of(relay: CuttableRelay, tmp_path: Path) -> None:
    """At the end of a browser, at the end of all, and at the start after a run that died."""
    url, record = f"http://127.0.0.1:{relay.port}", tmp_path / "remote.json"
    with browsers_at(url, tmp_path) as browsers:
        for key in (ONE, OTHER):
            browsers.call(key, lambda session: session.open("http://lab.test/"))
        assert sorted(json.loads(record.read_text()).values()) == sorted(contexts(relay))
        browsers.end(ONE)
        left = json.loads(record.read_text())
        assert list(left.values()) == contexts(relay)
        assert list(left) == ["other-1"]
        kept = record.read_text()
    assert contexts(relay) == []
    record.write_text(kept)
    made = ask(relay, "Target.createBrowserContext")["browserContextId"]
    record.write_text(json.dumps({"dead-1": made, "gone-1": "0" * 32}))
    with browsers_at(url, tmp_path) as browsers:
        browsers.call(ONE, lambda session: session.open("http://lab.test/"))
        assert made not in contexts(relay)


def test_a_browser_without_contexts_is_one_cubicles(relay: CuttableRelay, tmp_path: Path) -> None:
    """The other one is told so; then it has it, and nothing of the one before is left."""
    talk = refusing(relay.port, socket_path(relay), "Target.createBrowserContext")
    with cdp_endpoint(talk) as port, browsers_at(f"ws://127.0.0.1:{port}/", tmp_path) as browsers:
        browsers.call(ONE, lambda session: session.open("http://lab.test/cookie"))
        assert "login=yes" in browsers.call(ONE, lambda session: session.reload()).body
        with pytest.raises(Unavailable, match="one may use it at a time"):
            browsers.call(OTHER, lambda session: session.open("http://lab.test/cookie"))
        browsers.end(ONE)
        assert "none" in browsers.call(OTHER, lambda session: session.open("http://lab.test/cookie")).body


def test_a_page_that_cannot_be_guarded_is_not_used(relay: CuttableRelay, site: DrivenSite, tmp_path: Path) -> None:
    """Where the browser tells of no requests, nothing is opened."""
    talk = refusing(relay.port, socket_path(relay), "Fetch.enable")
    with (
        cdp_endpoint(talk) as port,
        browsers_at(f"ws://127.0.0.1:{port}/", tmp_path) as browsers,
        pytest.raises(OrchestratorError),
    ):
        browsers.call(ONE, lambda session: session.open("http://lab.test/unguarded"))
    assert "/unguarded" not in {path for _, _, path in site.asked}


def test_a_connection_that_stays_lost_ends_it(relay: CuttableRelay, tmp_path: Path) -> None:
    """With a reason; and the next call starts another."""
    limits = BrowserLimits(reconnects_s=0.5, starts_s=10.0)
    with browsers_at(f"http://127.0.0.1:{relay.port}", tmp_path, limits) as browsers:
        page = browsers.call(ONE, lambda session: session.open("http://lab.test/")).body
        relay.lets_in = False
        relay.cut()
        try:
            with pytest.raises(BrowserEnded, match="pages are gone"):
                browsers.call(ONE, lambda session: session.click(ref_in(page, "Low button")), starts=False)
        finally:
            relay.lets_in = True
        assert "# Lab" in browsers.call(ONE, lambda session: session.open("http://lab.test/")).body
