"""Every page of the dashboard in an install that is lived in, on a phone and on a fixture, in light and in dark: no
serious accessibility violation (axe-core), nothing complained about, nothing asked of anybody else, nothing that
scrolls sideways, nothing too small to press.

Which pages there are the application says (``tests.support.all_pages``), so that a new one is looked at without a word
here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize

from dashboard.app import create_app
from tests.browser.conftest import DESKTOP, PHONE, watched
from tests.browser.test_dashboard import fits
from tests.support.all_pages import Sight, samples, sights
from tests.support.app_fixture import AppFixture, run_app
from tests.support.sample_data import ALL_ON, fill_with_samples
from tests.unit.conftest import logged_in

pytestmark = pytest.mark.browser

AXE = Path(__file__).parents[1] / "vendor" / "axe-core" / "axe.min.js"
LOOKS = ((PHONE, "light"), (PHONE, "dark"), (DESKTOP, "dark"), (DESKTOP, "light"))
UNKNOWN_WORD = "directive 'webrtc'"
"""The policy of apps forbids WebRTC in a word that this browser does not know yet."""
EXPECTED = {"not-found": "status of 404", "login-refused": "status of 404", "agent-terminal": "status of 503"}
"""What the browser complains about where it must: there are no terminals in cubicles of paper."""

ASK_AXE = """async (rules) => {
  const options = { resultTypes: ["violations"], iframes: false, preload: false, ...rules };
  const found = await axe.run(document, options);
  const told = (one, node) => `${one.id}: ${node.target} (${node.any[0]?.message ?? one.help})`;
  return found.violations.filter((one) => ["serious", "critical"].includes(one.impact))
    .flatMap((one) => one.nodes.map((node) => told(one, node)));
}"""
EVERYTHING: dict[str, Any] = {"rules": {"target-size": {"enabled": False}}}
"""Of the rules that are on by themselves; sizes are looked at below, more strictly."""
COLOURS: dict[str, Any] = {"runOnly": ["color-contrast"]}

TOO_SMALL = """() => {
  const least = 24, found = [];
  const inText = (one) => getComputedStyle(one).display === "inline" && one.matches("a")
    && [...one.parentElement.childNodes].some((near) => near !== one && near.textContent.trim());
  const all = "a[href], button, input:not([type=hidden]), select, textarea, summary, [role=button], [tabindex='0']";
  for (const one of document.querySelectorAll(all)) {
    const label = one.matches("input[type=checkbox], input[type=radio], input[type=file]") && one.closest("label");
    const box = (label || one).getBoundingClientRect();
    const isSeen = one.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && box.width && box.height;
    if (!isSeen || inText(one) || one.closest(".skip") || (box.width >= least && box.height >= least)) continue;
    found.push(`${one.outerHTML.slice(0, 90)} is ${Math.round(box.width)} x ${Math.round(box.height)}`);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[AppFixture, list[Sight]]]:
    """The install and what there is to see in it."""
    with run_app(tmp_path_factory.mktemp("lived"), environment=ALL_ON) as install:
        made = fill_with_samples(install)
        app = create_app(install.services)
        reader = logged_in(install, app, install.services.users.get_operator())
        yield install, sights(app, reader.client, samples(install, made))


def window(browser: Browser, install: AppFixture, *, is_inside: bool) -> BrowserContext:
    """A window that moves nothing by itself; inside, the operator is logged in."""
    context = browser.new_context(viewport=PHONE, color_scheme="light", reduced_motion="reduce")
    if is_inside:
        users = install.services.users
        token = users.use_link(users.make_link(1))
        context.add_cookies([{"name": "hermit_session", "value": token, "url": install.url}])
    return context


def problems(page: Page) -> Iterator[str]:
    """What is wrong with the page as it stands, in every look; the accessibility of all is asked once a width."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    for size, scheme in LOOKS:
        page.set_viewport_size(size)
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce")
        look = f"{size['width']} px, {scheme}"
        found: list[str] = page.evaluate(ASK_AXE, EVERYTHING if scheme == "light" else COLOURS)
        yield from (f"{look}: {one}" for one in found)
        if scheme == "light":
            yield from (f"{look}: too small to press: {one}" for one in page.evaluate(TOO_SMALL))
            if not fits(page):
                yield f"{look}: it scrolls sideways"


@pytest.mark.parametrize("who", ["stranger", "operator"])
def test_every_page_holds(browser: Browser, lived: tuple[AppFixture, list[Sight]], who: str) -> None:
    """All that is wrong with any of them is told at once."""
    install, every = lived
    is_inside = who == "operator"
    context = window(browser, install, is_inside=is_inside)
    page = context.new_page()
    complaints = watched(page, install.url, also=f"http://localhost:{install.services.settings.preview_port}/a/")
    wrong: dict[str, list[str]] = {}
    for sight in (one for one in every if one.is_inside is is_inside):
        complaints.clear()
        page.goto(f"{install.url}{sight.url}")
        page.locator("html[data-ready]").wait_for(state="attached")
        expected = (UNKNOWN_WORD, EXPECTED.get(sight.name, UNKNOWN_WORD))
        found = list(problems(page))
        found += [text for text in complaints if not any(word in text for word in expected)]
        if found:
            wrong[f"{sight.name} {sight.url}"] = found
    context.close()
    assert wrong == {}, json.dumps(wrong, indent=1, ensure_ascii=False)


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_from_right_to_left_nothing_is_cut_off(
    browser: Browser, lived: tuple[AppFixture, list[Sight]], size: ViewportSize
) -> None:
    """The pages that one lives in, as somebody has them who reads so."""
    install, _ = lived
    context = window(browser, install, is_inside=True)
    page = context.new_page()
    page.set_viewport_size(size)
    wide = []
    for path in ("/", "/agents/crab", "/agents/crab/files", "/agents/crab/settings", "/settings", "/calendar", "/you"):
        page.goto(f"{install.url}{path}")
        page.locator("html[data-ready]").wait_for(state="attached")
        page.evaluate("document.documentElement.dir = 'rtl'")
        if not fits(page):
            wide.append(path)
    context.close()
    assert wide == []
