"""A real browser and a site on loopback for the tests of a module, and a session between them for each."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.browser.fields import objects_of, text_of
from orchestrator.browser.policy import DriverSettings
from orchestrator.browser.session import BrowserSession
from orchestrator.core.errors import OrchestratorError
from tests.support.driven_browser import PROGRAM, DrivenBrowser, LenientPolicy, eventually, settings_of
from tests.support.driven_site import DrivenSite, driven_site

TEST_S = 120.0
TIDY_S = 3.0


@dataclass
class Lab:
    """What a test has in hand."""

    session: BrowserSession
    browser: DrivenBrowser
    site: DrivenSite
    policy: LenientPolicy


LabTest = Callable[[Lab], Awaitable[None]]


class LabBrowser:
    """One Chromium for the tests of a module, as new for each: other pages are closed, cookies and files are gone, and
    its session is a new one. Where that can't be had in a moment, a test gets another Chromium."""

    def __init__(self, site: DrivenSite) -> None:
        self.site = site
        self._runner = asyncio.Runner()
        self._kept: tuple[Path, DrivenBrowser] | None = None

    def run(self, test: LabTest, policy: LenientPolicy, settings: Callable[[DrivenBrowser], DriverSettings]) -> None:
        """Run it."""
        self._runner.run(self._run(test, policy, settings))

    def restart(self) -> None:
        """The next test, or what follows in this one, gets another Chromium."""
        self._runner.run(self._let_go())

    def close(self) -> None:
        """Nothing is left of it."""
        self.restart()
        self._runner.close()

    async def _run(
        self, test: LabTest, policy: LenientPolicy, settings: Callable[[DrivenBrowser], DriverSettings]
    ) -> None:
        if self._kept is None:
            folder = Path(tempfile.mkdtemp(prefix="driven-"))
            self._kept = (folder, DrivenBrowser(folder, self.site.port))
            await self._kept[1].start()
        browser = self._kept[1]
        session = BrowserSession(policy, settings(browser))
        try:
            async with asyncio.timeout(TEST_S):
                await test(Lab(await browser.drive(session), browser, self.site, policy))
        finally:
            await session.close()
            if not await self._tidy(browser):
                await self._let_go()

    async def _tidy(self, browser: DrivenBrowser) -> bool:
        """Whether it is as new."""
        session = BrowserSession(LenientPolicy())
        try:
            async with asyncio.timeout(TIDY_S):
                await browser.drive(session)
                call = session.supervisor.wire.call
                there = await _pages(session)
                made = await call("Target.createTarget", "", {"url": "about:blank"})
                for target in there:
                    await call("Target.closeTarget", "", {"targetId": target})
                await eventually(lambda: _is_alone(session, str(made["targetId"])), within_s=TIDY_S)
                every = {"origin": "*", "storageTypes": "all"}
                await call("Storage.clearDataForOrigin", session.supervisor.tabs.current, every)
                await call("Storage.clearCookies")
        except (TimeoutError, OrchestratorError):
            return False
        finally:
            await session.close()
        for file in (*browser.down.iterdir(), *browser.up.iterdir()):
            file.unlink()
        return True

    async def _let_go(self) -> None:
        if self._kept is not None:
            folder, browser = self._kept
            self._kept = None
            await browser.stop()
            shutil.rmtree(folder, ignore_errors=True)


async def _pages(session: BrowserSession) -> list[str]:
    found = objects_of(await session.supervisor.wire.call("Target.getTargets"), "targetInfos")
    return [text_of(one, "targetId", most=100) for one in found if text_of(one, "type") == "page"]


async def _is_alone(session: BrowserSession, target: str) -> bool:
    return await _pages(session) == [target] and len(session.supervisor.tabs.all) == 1


@dataclass
class LabRunner:
    """Runs a test in the browser of its module, with a policy of its own."""

    browser: LabBrowser
    policy: LenientPolicy

    @property
    def site(self) -> DrivenSite:
        """Where the pages are."""
        return self.browser.site

    def __call__(self, test: LabTest, settings: Callable[[DrivenBrowser], DriverSettings] = settings_of) -> None:
        """Run it."""
        self.browser.run(test, self.policy, settings)


@pytest.fixture(scope="module")
def lab_browser() -> Iterator[LabBrowser]:
    """It starts with the first test."""
    if not Path(PROGRAM).exists():
        pytest.fail(f"{PROGRAM} is missing: apt-get install -y --no-install-recommends chromium-headless-shell")
    with driven_site() as site:
        made = LabBrowser(site)
        yield made
        made.close()


@pytest.fixture
def in_lab(lab_browser: LabBrowser) -> LabRunner:
    """Nothing was asked of the site yet."""
    lab_browser.site.asked.clear()
    return LabRunner(lab_browser, LenientPolicy())
