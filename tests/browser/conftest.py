"""A real browser on a real dashboard, which notes every complaint and every request that leaves the install."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from zlib import crc32

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, ViewportSize, expect, sync_playwright

from tests.support.app_fixture import AppFixture, run_app

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
"""The whole browser, for tests of what it may do to a person."""
QUICK_CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell") or CHROMIUM
"""What shows the pages: the same engine without a window, where it is installed."""
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
PHONE = ViewportSize(width=390, height=844)
DESKTOP = ViewportSize(width=1440, height=900)
SIZES = {"phone": PHONE, "desktop": DESKTOP}


@dataclass
class Visit:
    """Somebody's browser window."""

    install: AppFixture
    page: Page
    complaints: list[str] = field(default_factory=list)
    """Console errors and warnings, broken scripts, requests to anybody else."""

    def let_in(self) -> None:
        """With the operator's login; no page is open yet. How people log in, ``test_ways_in`` and others try."""
        session = self.install.services.users.new_session(self.install.services.users.get_operator().id, "link")
        self.page.context.add_cookies([{"name": "hermit_session", "value": session, "url": self.install.url}])

    def log_in(self) -> None:
        """The operator, on the first page."""
        self.let_in()
        self.page.goto(self.install.url)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests."""
    if not Path(QUICK_CHROMIUM).exists():
        pytest.fail(f"{QUICK_CHROMIUM} is missing: apt-get install -y --no-install-recommends chromium", pytrace=False)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=QUICK_CHROMIUM, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture
def install(tmp_path: Path) -> Iterator[AppFixture]:
    """An install that answers."""
    with run_app(tmp_path) as made:
        yield made


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test runs in a small window or in a large one, by its name: what a script does is the same in both, and how all
    pages lie in both ``test_every_page`` looks at. With ``both_sizes`` (or ``--all-sizes``) it runs in both."""
    if "window_size" not in metafunc.fixturenames:
        return
    is_both = metafunc.definition.get_closest_marker("both_sizes") or metafunc.config.getoption("--all-sizes")
    sizes = ("phone", "desktop") if is_both else (("phone", "desktop")[crc32(metafunc.function.__name__.encode()) % 2],)
    metafunc.parametrize("window_size", [SIZES[name] for name in sizes], ids=sizes)


@pytest.fixture
def visit(window_size: ViewportSize, browser: Browser, install: AppFixture) -> Iterator[Visit]:
    """A fresh window; at the end nothing may have been complained about."""
    context = browser.new_context(viewport=window_size)
    made = open_window(context, install)
    yield made
    context.close()
    assert made.complaints == []


def open_window(context: BrowserContext, install: AppFixture, *, also: str = "") -> Visit:
    """A window whose complaints are kept; ``also`` is where else it may look."""
    page = context.new_page()
    return Visit(install, page, watched(page, install.url, also=also))


def watched(page: Page, url: str, *, also: str = "") -> list[str]:
    """The complaints about a page of the install at ``url``, as they come."""
    complaints: list[str] = []
    page.set_default_timeout(30_000)
    expect.set_options(timeout=30_000)  # a bound for a page that is broken, not a time to be kept
    page.on("console", lambda said: _note(complaints, said.type, said.text))
    page.on("pageerror", lambda error: complaints.append(f"script: {error}"))
    page.on("request", lambda sent: _check(complaints, sent, (url, "data:", also or url)))
    return complaints


def _note(complaints: list[str], kind: str, text: str) -> None:
    if kind in ("error", "warning"):
        complaints.append(f"{kind}: {text}")


def _check(complaints: list[str], sent: Request, known: tuple[str, ...]) -> None:
    if not sent.url.startswith(known):
        complaints.append(f"request to {sent.url}")
