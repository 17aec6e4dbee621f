"""A real browser, a site on loopback and a session between them, for one test."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.browser.policy import DriverSettings
from orchestrator.browser.session import BrowserSession
from tests.support.driven_browser import PROGRAM, DrivenBrowser, LenientPolicy, driven_browser, settings_of
from tests.support.driven_site import DrivenSite, driven_site

TEST_S = 120.0


@dataclass
class Lab:
    """What a test has in hand."""

    session: BrowserSession
    browser: DrivenBrowser
    site: DrivenSite
    policy: LenientPolicy


LabTest = Callable[[Lab], Awaitable[None]]


@dataclass
class LabRunner:
    """Runs a test in an event loop of its own, with a browser of its own."""

    site: DrivenSite
    policy: LenientPolicy

    def __call__(self, test: LabTest, settings: Callable[[DrivenBrowser], DriverSettings] = settings_of) -> None:
        """Run it."""

        async def run() -> None:
            async with (
                asyncio.timeout(TEST_S),
                driven_browser(self.site.port, self.policy, settings) as (session, browser),
            ):
                await test(Lab(session, browser, self.site, self.policy))

        asyncio.run(run())


@pytest.fixture
def in_lab() -> Iterator[LabRunner]:
    """The site is there; the browser starts with the test."""
    if not Path(PROGRAM).exists():
        pytest.fail(f"{PROGRAM} is missing: apt-get install -y --no-install-recommends chromium-headless-shell")
    with driven_site() as site:
        yield LabRunner(site, LenientPolicy())
