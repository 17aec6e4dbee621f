"""Going from page to page: the browser keeps its document, what was typed and where one was; what can't be shown so is
loaded as ever."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser

MARK = "window.marked = true"
IS_MARKED = "window.marked === true"
SENT = """() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
  .filter((entry) => entry.entryType === "navigation" || entry.name.includes("/static/"))
  .map((entry) => entry.encodedBodySize + 300)"""
"""Of a page and what it is made of, compressed, with room for headers; what changed meanwhile is asked for besides."""


def came(page: Page, path: str) -> None:
    """The page is there and at work."""
    page.wait_for_url(re.compile(re.escape(path) + "$"))
    expect(page.locator("html")).to_have_attribute("data-ready", "")


def tab(page: Page, name: str) -> None:
    """A page of the agent, by its tab."""
    page.get_by_role("navigation", name="Pages of crab").get_by_role("link", name=name, exact=True).first.click()


def test_tabs_keep_the_document_and_the_draft(visit: Visit) -> None:
    """One page is asked for, and there is the place in the history, the title; and the way back."""
    visit.log_in()
    page, asked = visit.page, list[str]()
    page.mouse.move(0, 0)  # a link under the pointer would be fetched ahead
    page.goto(f"{visit.install.url}/agents/crab")
    came(page, "/agents/crab")
    page.evaluate(MARK)
    field = page.get_by_role("textbox", name="Message")
    field.fill("half a message")
    page.on("request", lambda sent: asked.append(urlsplit(sent.url).path))
    tab(page, "Files")
    came(page, "/agents/crab/files")
    assert [path for path in asked if path.startswith("/agents/") and not path.endswith("/turns")] == [
        "/agents/crab/files"
    ]
    assert page.title() == "Files · crab · HermitShell"
    expect(page.locator('[data-tabs] [aria-current="page"]').first).to_have_text("Files")
    tab(page, "Memory")
    came(page, "/agents/crab/memory")
    page.go_back()
    came(page, "/agents/crab/files")
    expect(page.get_by_role("region", name="Workspace")).to_be_attached()
    tab(page, "Chat")
    came(page, "/agents/crab")
    expect(field).to_have_value("half a message")
    assert page.evaluate(IS_MARKED)


def test_news_still_reaches_every_page(visit: Visit) -> None:
    """The stream goes on: a message sent after some pages is answered where one looks."""
    visit.let_in()
    page = visit.page
    page.goto(f"{visit.install.url}/agents/crab/files")
    came(page, "/agents/crab/files")
    page.evaluate(MARK)
    for name in ("Memory", "Chat", "Files", "Chat"):
        tab(page, name)
        came(page, f"/agents/crab{'' if name == 'Chat' else f'/{name.lower()}'}")
    page.get_by_role("textbox", name="Message").fill("hello")
    page.keyboard.press("Enter")
    expect(page.locator(".turn:not([aria-busy]) .reply")).to_have_count(1)
    assert page.evaluate(IS_MARKED)


def test_the_place_on_a_page_is_kept(visit: Visit) -> None:
    """Forward begins at the top; back is where one was."""
    visit.let_in()
    page = visit.page
    page.goto(f"{visit.install.url}/settings")
    came(page, "/settings")
    page.evaluate("scrollTo({ top: 300, behavior: 'instant' })")
    page.evaluate("document.querySelector('.brand').click()")
    came(page, "/")
    assert page.evaluate("scrollY") == 0
    page.go_back()
    came(page, "/settings")
    assert page.evaluate("scrollY") == 300


def test_whoever_is_logged_out_meanwhile_comes_to_the_door(visit: Visit) -> None:
    """And not to half a page."""
    visit.log_in()
    page = visit.page
    came(page, "/")
    page.context.clear_cookies()
    page.evaluate("document.querySelector('.side a[href=\"/approvals\"]').click()")
    page.wait_for_url(re.compile("/login"))
    expect(page.get_by_text("./hermit login-link")).to_be_visible()
    visit.complaints[:] = [one for one in visit.complaints if "401" not in one]


def test_a_first_page_is_small(visit: Visit) -> None:
    """At most eight requests and 60 kB, for a browser that has kept nothing."""
    visit.log_in()
    page = visit.page
    for path in ("/", "/agents/crab"):
        page.goto(f"{visit.install.url}{path}")
        came(page, path)
        sent = page.evaluate(SENT)
        assert 3 < len(sent) <= 7  # and the stream of news
        assert 30_000 < sum(sent) <= 60_000
