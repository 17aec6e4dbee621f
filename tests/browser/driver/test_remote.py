"""A browser that is somebody else's, over a WebSocket: pages, contexts that know nothing of one another, requests that
nobody allowed, and a connection that is cut with a dialog open."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from orchestrator.browser.dialogs import DialogCloser
from orchestrator.browser.faults import BrowserError, BrowserLost
from orchestrator.browser.policy import DriverSettings, RemoteRules
from orchestrator.browser.remote_address import RemoteAddress
from orchestrator.browser.session import BrowserSession
from orchestrator.browser.web_socket import open_web_socket
from orchestrator.web.limits import Internet
from tests.support.driven_browser import LenientPolicy, eventually
from tests.support.driven_site import DrivenSite, driven_site
from tests.support.page_refs import ref_in, title_of
from tests.support.remote_chromium import CuttableRelay, remote_chromium

pytestmark = pytest.mark.browser

CLOSED = frozenset({"evil.test"})
SECRET = "token=very-secret"


@dataclass
class RemoteLab:
    """A browser far away."""

    relay: CuttableRelay
    site: DrivenSite
    internet: Internet = field(default_factory=Internet)

    @property
    def address(self) -> RemoteAddress:
        """As an operator gives it."""
        return RemoteAddress(f"http://127.0.0.1:{self.relay.port}?{SECRET}")

    async def cut(self, session: BrowserSession) -> None:
        """The connection breaks, and is there again."""
        supervisor = session.supervisor
        before, pending = supervisor.connections, supervisor.dialogs.pending
        # A request that breaks off at once is held for forbidden by the page's policy.
        await eventually(lambda: all(time.monotonic() - one.opened > 0.1 for one in pending))
        self.relay.cut()
        await eventually(lambda: supervisor.connections > before and supervisor.is_ready.is_set())

    def rules(self, context: str = "") -> RemoteRules:
        """One host is closed."""
        return RemoteRules(
            may_load=lambda host: "host-not-approved" if host in CLOSED else None,
            may_reach=lambda _host, port: None if port == 80 else "no such port",
            take_whole=lambda: False,
            note_context=lambda _: None,
            context=context,
        )

    @asynccontextmanager
    async def driven(self, context: str = "") -> AsyncIterator[BrowserSession]:
        """A driver that comes back until it is let go."""
        settings = DriverSettings(remote=self.rules(context), uses_dialog_bridge=True)
        session = BrowserSession(LenientPolicy(), settings)

        async def keep() -> None:
            while not session.supervisor.context.why_gone:
                try:
                    socket = await asyncio.to_thread(self.address.find_socket, self.internet)
                    transport = await open_web_socket(socket, self.address.host, self.internet.tls)
                except BrowserLost:
                    await asyncio.sleep(0.01)
                    continue
                await session.attend_over(transport)

        keeping = asyncio.create_task(keep())
        try:
            await session.wait_ready(20.0)
            yield session
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
            await session.close()


@pytest.fixture(scope="module")
def far_away() -> Iterator[RemoteLab]:
    """One for all tests: each has a context of its own in it."""
    with driven_site() as site, remote_chromium(site.port) as relay:
        yield RemoteLab(relay, site)


def run(work: Callable[[], Awaitable[None]]) -> None:
    """In a loop of its own."""

    async def within() -> None:
        async with asyncio.timeout(90.0):
            await work()

    asyncio.run(within())


def test_pages_are_driven(far_away: RemoteLab) -> None:
    """Opened, read, clicked, photographed, in tabs; files go neither way, and a reason is given."""

    async def check() -> None:
        async with far_away.driven() as session:
            page = await session.open("http://lab.test/")
            assert "# Lab" in page.body
            assert "clicked low" in (await session.click(ref_in(page.body, "Low button"))).body
            assert (await session.screenshot()).startswith(b"\xff\xd8\xff")
            with pytest.raises(BrowserError, match="no files of this machine"):
                await session.upload(ref_in(page.body, "File"), ["/helper/in/a/b.txt"])
            await session.click(ref_in(page.body, "download"))
            await eventually(lambda: any(one.refusal for one in session.downloads()))
            await session.open("http://lab.test/popup")
            popup = await session.click(ref_in((await session.snapshot()).body, "Open"))
            assert popup.title == "Second"
            assert len(session.tabs()) == 2
            await session.supervisor.context.dispose()

    run(check)


def test_contexts_know_nothing_of_one_another(far_away: RemoteLab) -> None:
    """Neither cookies nor pages of one are another's; what one disposes of the other keeps."""

    async def check() -> None:
        async with far_away.driven() as one, far_away.driven() as other:
            await one.open("http://lab.test/")
            await one.raw("Runtime.evaluate", {"expression": "document.cookie='who=one'; localStorage.x='one'"})
            await other.open("http://lab.test/")
            told = await other.raw("Runtime.evaluate", {"expression": "document.cookie + localStorage.x"})
            assert told["result"]["value"] == "undefined"
            assert not (await other.state.read()).cookies
            assert [cookie.value for cookie in (await one.state.read()).cookies] == ["one"]
            assert [len(session.tabs()) for session in (one, other)] == [1, 1]
            await one.supervisor.context.dispose()
            assert "# Lab" in (await other.reload()).body
            await other.supervisor.context.dispose()

    run(check)


def test_what_nobody_allowed_is_not_asked_for(far_away: RemoteLab) -> None:
    """Not by a page, its frames, workers of every kind, redirects, beacons or pop-ups; the host is listed."""
    far_away.site.asked.clear()

    async def check() -> None:
        async with far_away.driven() as session:
            page = await session.open("http://lab.test/reaching")
            await session.wait("tried everything")
            assert "evil.test" in session.missing_hosts()
            await session.click(ref_in(page.body, "Pop up"))
            await session.open("http://lab.test/second")
            with pytest.raises(BrowserError, match="may not be opened"):
                await session.open("http://evil.test/")
            with pytest.raises(BrowserError, match="no such port"):
                await session.open("http://lab.test:81/")
            await session.supervisor.context.dispose()

    run(check)
    assert "lab.test" in far_away.site.hosts_asked()
    assert "evil.test" not in far_away.site.hosts_asked()


def test_a_dialog_outlives_the_connection(far_away: RemoteLab) -> None:
    """It is cut: the same dialog is answered by the same driver, over the next connection."""

    async def check() -> None:
        async with far_away.driven() as session:
            body = (await session.open("http://lab.test/")).body
            tab = session.tabs()[0].number
            asked = (await session.click(ref_in(body, "Delete"))).pending_dialogs[0]
            await far_away.cut(session)
            assert [one.id for one in (await session.snapshot()).pending_dialogs] == [asked.id]
            assert (await session.dialog("accept")).closed_by is DialogCloser.AGENT
            await eventually(lambda: _is_called(session, "asked true"))
            assert session.tabs()[0].number == tab
            await session.supervisor.context.dispose()

    run(check)


async def _is_called(session: BrowserSession, title: str) -> bool:
    return await title_of(session) == title


def test_a_dialog_of_a_frame_is_closed_by_the_cut(far_away: RemoteLab) -> None:
    """One of another site can leave no note: it is told as closed by the remote, and the page goes on."""

    async def check() -> None:
        async with far_away.driven() as session:
            body = (await session.open("http://frames.test/")).body
            assert (await session.click(ref_in(body, "Inner confirm"))).pending_dialogs
            await far_away.cut(session)
            assert session.supervisor.dialogs.recent[-1].closed_by is DialogCloser.REMOTE
            page = await session.snapshot()
            assert not page.pending_dialogs
            await session.click(ref_in(page.body, "Outer button"))
            await session.supervisor.context.dispose()

    run(check)


def test_a_native_dialog_is_closed_by_the_cut(far_away: RemoteLab) -> None:
    """One that the browser itself shows is gone with the connection, and told of so."""

    async def check() -> None:
        async with far_away.driven() as session:
            supervisor = session.supervisor
            supervisor.settings = replace(supervisor.settings, uses_dialog_bridge=False)
            supervisor._setup._settings = supervisor.settings
            page = (await session.open("http://lab.test/")).body
            await session.click(ref_in(page, "Delete"))
            await far_away.cut(session)
            assert supervisor.dialogs.recent[-1].closed_by is DialogCloser.REMOTE
            assert not (await session.snapshot()).pending_dialogs
            await supervisor.context.dispose()

    run(check)


def test_a_browser_that_was_started_again(far_away: RemoteLab) -> None:
    """A context that is gone is told of, not made once more behind the agent's back."""

    async def check() -> None:
        session = BrowserSession(LenientPolicy(), DriverSettings(remote=far_away.rules("0" * 32)))
        socket = await asyncio.to_thread(far_away.address.find_socket, far_away.internet)
        await session.attend_over(await open_web_socket(socket, "there", far_away.internet.tls))
        assert session.supervisor.context.why_gone == "The remote browser was started again."
        await session.close()

    run(check)
