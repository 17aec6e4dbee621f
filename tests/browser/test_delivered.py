"""Delivered files in the conversation: pictures side by side, players that play, and each opened beside it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DESKTOP, Visit
from tests.browser.test_dashboard import chat, fits, say
from tests.support.app_fixture import Scene
from tests.support.delivered_files import make_tone, put_out
from tests.support.fake_browser import png

pytestmark = pytest.mark.browser

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
