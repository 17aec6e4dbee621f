"""A browser asks for a script, a style and the logo once, and then for pages alone."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser

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
    """The first one asks for three files, compressed."""
    page = visit.page
    page.goto(f"{visit.house.url}/login")
    first = fetched(page)
    assert {entry["name"] for entry in first} == {"main.css", "main.js", "logo.svg"}
    assert sum(entry["sent"] for entry in first) < 60_000
    for entry in first:
        if entry["sent"]:  # the logo is also the page's icon
            assert entry["packed"] < entry["whole"] * 0.6
    visit.log_in()
    for path in ("/agents/crab/memory", "/agents/crab", "/calendar", "/settings"):
        page.goto(f"{visit.house.url}{path}")
        again = fetched(page)
        assert {entry["name"] for entry in again} == {"main.css", "main.js", "logo.svg"}
        assert [entry for entry in again if entry["sent"]] == []
