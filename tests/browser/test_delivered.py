"""Delivered files in the conversation: pictures side by side, players that play, and each opened beside it."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.browser.conftest import DESKTOP, PHONE, Visit, open_window
from tests.browser.test_dashboard import chat, fits, say
from tests.browser.test_every_page import ASK_AXE, AXE, EVERYTHING
from tests.support.app_fixture import Scene, run_app
from tests.support.delivered_files import make_tone, put_out
from tests.support.fake_browser import FakeBrowser, png
from tests.support.fake_pdf_renderer import FakePdfRenderer
from tests.support.fake_sheet_reader import FakeSheetReader
from tests.support.spreadsheets import TIDES

pytestmark = [pytest.mark.browser, pytest.mark.both_sizes]

FILES = {
    "one.png": png(30, 20),
    "two.png": png(20, 30),
    "hum.wav": make_tone(2),
    "tides.csv": b"day,high\nMonday,06:12\n",
}


def test_files_are_seen_in_the_conversation_and_beside_it(visit: Visit) -> None:
    """On a phone each opens on a page of its own."""

    def make(scene: Scene) -> None:
        put_out(scene, FILES)
        scene.say("Here.")

    visit.install.plays["make"] = make
    page = chat(visit)
    say(page, "make")
    expect(page.locator(".gallery img")).to_have_count(2)
    expect(page.locator(".file-card")).to_have_count(2)
    page.locator(".gallery img").last.scroll_into_view_if_needed()
    page.wait_for_function("() => [...document.querySelectorAll('.gallery img')].every((one) => one.naturalWidth > 0)")
    page.wait_for_function("() => Math.round(document.querySelector('audio').duration) === 2")
    assert fits(page)
    page.get_by_role("link", name="tides.csv", exact=True).click()
    if page.viewport_size == DESKTOP:
        expect(page.locator("aside.beside td").first).to_have_text("Monday")
        page.locator(".gallery a:not(.button)").first.click()
        expect(page.locator("aside.beside .glimpse img")).to_be_visible()
        page.locator("[data-app-close]").click()
        expect(page.locator("aside.beside")).to_have_count(0)
        expect(page.locator(".gallery img")).to_have_count(2)
    else:
        expect(page.get_by_role("heading", name="tides.csv")).to_be_visible()
        expect(page.get_by_role("link", name="Where it came from")).to_be_visible()
        assert fits(page)


MANY = {
    "one.png": png(30, 20),
    "two.png": png(20, 30),
    "hum.wav": make_tone(1),
    "clip.webm": b"\x1aE\xdf\xa3" + b"\0" * 60,
    "tides.csv": b"day,high\nMonday,06:12\n",
    "notes.txt": b"The tide turns.\n",
}
SEEN = {
    "hum.wav": "audio",
    "clip.webm": "video",
    "tides.csv": "td",
    "notes.txt": "pre.output",
}
"""What is seen of each where it is opened."""


def test_every_kind_opens(visit: Visit) -> None:
    """Beside the chat on a wide screen, one after the other; on a phone on a page of its own, and back."""

    def make(scene: Scene) -> None:
        put_out(scene, MANY)
        scene.say("Here.")

    visit.install.plays["make"] = make
    page = chat(visit)
    say(page, "make")
    expect(page.locator(".file-card")).to_have_count(len(SEEN))
    is_wide = page.viewport_size == DESKTOP
    place = page.locator("aside.beside" if is_wide else "main")
    for name, seen in SEEN.items():
        page.get_by_role("link", name=name, exact=True).click()
        expect(place.get_by_role("heading", name=name)).to_be_visible()
        expect(place.locator(seen).first).to_be_visible()
        assert fits(page)
        if not is_wide:
            page.go_back()
    for number in range(2):
        picture = page.locator(".gallery a:not(.button)").nth(number)
        name = str(picture.locator("img").get_attribute("alt"))
        picture.click()
        expect(place.locator(".glimpse img")).to_have_attribute("alt", name)
        if not is_wide:
            page.go_back()
    expect(page.locator(".gallery img")).to_have_count(2)


PAGE = (
    b"<!doctype html><p id=p>nothing ran</p><script>p.textContent = parent === window ? 'alone' : 'in a frame'</script>"
)
MADE = {"tides.xlsx": TIDES, "report.pdf": b"%PDF-1.7\n%%EOF\n", "page.html": PAGE}


def broken(page: Page) -> list[str]:
    """What stands in the way of whoever can't see the page."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    return list(page.evaluate(ASK_AXE, EVERYTHING))


def shade(width: int, height: int) -> bytes:
    """A grey picture that browsers decode."""
    return png(width, height, extra=zlib.compress((b"\0" + b"\xcc" * 3 * width) * height))


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_what_is_made_in_containers_comes_by_itself(browser: Browser, tmp_path: Path, size: ViewportSize) -> None:
    """The rows of a spreadsheet, the first page of a PDF, a picture of a web page; each opens beside the chat."""
    drawing, photos = FakePdfRenderer(), FakeBrowser()
    drawing.brings = {"count": b"7", "1.png": shade(495, 700)}
    photos.brings = shade(1280, 800)
    with run_app(tmp_path, pages=drawing, sheets=FakeSheetReader(), photos=photos) as install:

        def make(scene: Scene) -> None:
            put_out(scene, MADE)
            scene.say("Here.")

        install.plays["make"] = make
        context = browser.new_context(viewport=size)
        visit = open_window(context, install, also=f"http://localhost:{install.services.settings.preview_port}/a/")
        page = chat(visit)
        say(page, "make")
        expect(page.locator(".file-card")).to_have_count(3)
        for number in range(3):
            page.locator(".file-card").nth(number).scroll_into_view_if_needed()
        expect(page.get_by_text("And 1,398 more rows · 2 sheets: Tides, Harbours")).to_be_visible()
        expect(page.get_by_text("7 pages")).to_be_visible()
        page.wait_for_function(
            "() => [...document.querySelectorAll('.glance img')].filter((one) => one.naturalWidth > 0).length === 2"
        )
        assert fits(page)
        place = page.locator("aside.beside" if size == DESKTOP else "main")
        page.get_by_role("link", name="tides.xlsx", exact=True).click()
        expect(place.get_by_text("and 1,204 more rows")).to_be_visible()
        assert broken(page) == []
        place.get_by_text("Harbours", exact=True).click()
        expect(place.get_by_role("cell", name="Ostend")).to_be_visible()
        expect(place.get_by_text("and 1,204 more rows")).to_be_hidden()
        assert fits(page)
        page.goto(f"{install.url}/agents/crab")
        page.get_by_role("link", name="page.html", exact=True).click()
        expect(page.frame_locator("iframe.file-frame").get_by_text("in a frame")).to_be_visible()
        assert fits(page)
        assert broken(page) == []
        page.goto(f"{install.url}/agents/crab")
        page.locator(".file-card", has_text="report.pdf").locator("a.glance").click()
        expect(place.get_by_role("img", name="Page 1 of 7")).to_be_visible()
        context.close()
        assert [said for said in visit.complaints if "'webrtc'" not in said] == []
