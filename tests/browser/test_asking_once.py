"""A browser asks for a script, a style and the logo once, and then for pages alone."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from orchestrator.core.models import CubicleKey, Event
from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser

PAUSE_MS = 700
"""Longer than a part waits before it asks for itself again."""
FETCHED = """() => performance.getEntriesByType("resource")
  .filter((entry) => new URL(entry.name).pathname.startsWith("/static/"))
  .map((entry) => ({ name: new URL(entry.name).pathname.split("/").at(-1), sent: entry.transferSize,
    packed: entry.encodedBodySize, whole: entry.decodedBodySize }))"""


def fetched(page: Page) -> list[dict[str, Any]]:
    """What the page loaded of ours; ``sent`` is nothing for what the browser had."""
    expect(page.locator("html")).to_have_attribute("data-ready", "")
    found: list[dict[str, Any]] = page.evaluate(FETCHED)
    return found


def test_the_second_page_asks_for_nothing_but_itself(visit: Visit) -> None:
    """The first one asks for a few files, compressed."""
    page = visit.page
    page.goto(f"{visit.install.url}/login")
    first = fetched(page)
    assert {entry["name"] for entry in first} == {"main.css", "main.js", "rare.js", "logo.svg"}
    assert sum(entry["sent"] for entry in first) < 60_000
    for entry in first:
        if entry["sent"]:  # the logo is also the page's icon
            assert entry["packed"] < entry["whole"] * 0.6
    visit.log_in()
    for path in ("/agents/crab/memory", "/agents/crab", "/calendar", "/settings"):
        page.goto(f"{visit.install.url}{path}")
        again = fetched(page)
        assert {entry["name"] for entry in again} - {"rare.js"} == {"main.css", "main.js", "logo.svg"}
        assert [entry for entry in again if entry["sent"]] == []


def test_a_page_brings_all_that_it_shows(visit: Visit) -> None:
    """Beside it there is the stream of news alone; its parts are asked for again when it missed some."""
    visit.let_in()
    page, asked = visit.page, list[str]()
    page.goto(f"{visit.install.url}/you")
    expect(page.locator("html")).to_have_attribute("data-ready", "")
    page.wait_for_timeout(PAUSE_MS)
    page.on("request", lambda sent: asked.append(urlsplit(sent.url).path))
    for path in ("/agents/crab/memory", "/people", "/"):
        asked.clear()
        with page.expect_request("**/api/events*"):
            page.goto(f"{visit.install.url}{path}")
        page.wait_for_timeout(PAUSE_MS)
        assert [one for one in asked if not one.startswith("/static/")] == [path, "/api/events"]
    page.route("**/api/events*", lambda route: _after_news(visit, route))
    with page.expect_request("**/parts/side**"):
        page.goto(f"{visit.install.url}/agents/crab/memory")


def _after_news(visit: Visit, route: Route) -> None:
    visit.install.services.broker.publish(Event("memory", CubicleKey("crab", 1), {}))
    route.continue_()
