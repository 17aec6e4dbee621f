"""Pictures of every page in an install that is lived in: ``python -m tests.pictures docs/screenshots``.

Each page on a phone and on a fixture, in light and in dark, as ``PAGE-desktop-light.webp``; ``--only PAGE`` takes those
of one page alone. Which pages there are the application says (``tests.support.all_pages``).
"""

from __future__ import annotations

import argparse
import base64
import itertools
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from dashboard.app import create_app
from tests.browser.conftest import ARGUMENTS, CHROMIUM, DESKTOP, PHONE
from tests.support.all_pages import Sight, samples, sights
from tests.support.app_fixture import AppFixture, run_app
from tests.support.sample_data import ALL_ON, APPS, fill_with_samples, give_thumbnail
from tests.support.sample_requests import CRAB
from tests.unit.conftest import logged_in

Scheme = Literal["light", "dark"]
Shots = Iterator[tuple[str, bytes]]
"""Names of files and what is in them."""
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
QUALITY = 72
LEFT_OUT = ("agent-terminal",)
"""A cubicle of paper has no terminal to show."""
_APP_SIZE = ViewportSize(width=1280, height=800)
_SETTLES_MS = 400
_WAKES_MS = 1_200
"""The buttons under a question come alive after a moment."""


@dataclass(frozen=True)
class Camera:
    """A window's size as the files' names have it."""

    name: str
    size: ViewportSize
    density: float


CAMERAS = (Camera("desktop", DESKTOP, 1.0), Camera("phone", PHONE, 1.5))


def take(folder: Path, only: str = "") -> int:
    """All of them into the folder; how many there are."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as home,
        run_app(Path(home), environment=ALL_ON) as install,
        sync_playwright() as playwright,
    ):
        lived = fill_with_samples(install)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        _photograph_apps(browser, install)
        app = create_app(install.services)
        reader = logged_in(install, app, install.services.users.get_operator())
        found = sights(app, reader.client, samples(install, lived))
        every = [one for one in found if only == one.name or (not only and one.name not in LEFT_OUT)]
        for camera, scheme in itertools.product(CAMERAS, SCHEMES):
            for name, content in _round(browser, install, every, session=reader.session, camera=camera, scheme=scheme):
                (folder / name).write_bytes(content)
        browser.close()
    return len(every) * len(CAMERAS) * len(SCHEMES)


def _photograph_apps(browser: Browser, install: AppFixture) -> None:
    page = browser.new_page(viewport=_APP_SIZE)
    for path in sorted(APPS.glob("*.html")):
        page.set_content(path.read_text(encoding="utf-8"))
        give_thumbnail(install, CRAB, path.stem, page.screenshot())
    page.close()


def _round(
    browser: Browser, install: AppFixture, every: list[Sight], *, session: str, camera: Camera, scheme: Scheme
) -> Shots:
    inside, outside = (_window(browser, camera, scheme) for _ in range(2))
    inside.context.add_cookies([{"name": "hermit_session", "value": session, "url": install.url}])
    for sight in every:
        page = inside if sight.is_inside else outside
        page.goto(f"{install.url}{sight.url}")
        page.locator("html[data-ready]").wait_for(state="attached")
        page.wait_for_timeout(_WAKES_MS if page.locator("[data-decide]").count() else _SETTLES_MS)
        yield f"{sight.name}-{camera.name}-{scheme}.webp", _webp(page)
    inside.context.close()
    outside.context.close()


def _window(browser: Browser, camera: Camera, scheme: Scheme) -> Page:
    context = browser.new_context(
        viewport=camera.size, color_scheme=scheme, device_scale_factor=camera.density, reduced_motion="reduce"
    )
    return context.new_page()


def _webp(page: Page) -> bytes:
    """Playwright itself writes PNG and JPEG alone, which are several times as large."""
    session = page.context.new_cdp_session(page)
    taken = session.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
    session.detach()
    return base64.b64decode(taken["data"])


def main() -> None:
    """Take them and say how many."""
    parser = argparse.ArgumentParser(description="Take pictures of every page of the dashboard.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", metavar="PAGE", help="the pictures of this page alone")
    given = parser.parse_args()
    print(f"{take(given.folder, given.only)} pictures in {given.folder}")  # noqa: T201 - a command prints


if __name__ == "__main__":
    main()
