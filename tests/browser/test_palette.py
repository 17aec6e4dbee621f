"""The palette and the keys: everything is reached without a mouse, and nobody who types loses a letter."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser


def test_the_palette_leads_to_pages_and_words(visit: Visit) -> None:
    """Ctrl+K, some letters, Enter; what was said is found, and Escape only closes it."""
    visit.let_in()
    page = visit.page
    page.goto(f"{visit.install.url}/agents/crab")
    field = page.get_by_role("textbox", name="Message")
    field.fill("a word on marmalade / why?")
    page.keyboard.press("Enter")
    expect(page.locator(".turn:not([aria-busy])")).to_have_count(1)
    page.keyboard.press("Control+k")
    page.keyboard.type("cal")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/calendar$"))
    page.keyboard.press("Control+k")
    page.keyboard.type("marmalade")
    found = page.get_by_role("listbox").get_by_role("option")
    expect(found.filter(has=page.locator("mark"))).to_have_count(1)
    page.keyboard.press("ArrowUp")
    expect(found.last).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/agents/crab/turns/\d+#turn-"))
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_light_or_dark_is_chosen_for_this_browser(visit: Visit) -> None:
    """At once, and for each page from then on, before anything is drawn."""
    visit.log_in()
    page = visit.page
    ground = "getComputedStyle(document.body).backgroundColor"
    page.emulate_media(color_scheme="light")
    light = page.evaluate(ground)
    page.get_by_label("Menu").click()
    page.get_by_role("button", name="Dark").click()
    expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    dark = page.evaluate(ground)
    assert dark != light
    answer = page.goto(f"{visit.install.url}/calendar")
    assert answer is not None
    assert '<html lang="en" data-theme="dark">' in answer.text()
    assert page.evaluate(ground) == dark
    page.get_by_label("Menu").click()
    page.get_by_role("button", name="System").click()
    assert page.evaluate(ground) == light
    page.reload()
    assert page.evaluate(ground) == light


def test_enter_goes_by_what_was_typed_last(visit: Visit) -> None:
    """Not by what was found for fewer letters, which came just now."""
    page, held = visit.page, list[Route]()

    def hold(route: Route) -> None:
        held.append(route)

    visit.let_in()
    page.clock.install()
    page.goto(visit.install.url)
    expect(page.locator("html")).to_have_attribute("data-ready", "")
    page.route(re.compile(r"/parts/palette\?q=$"), hold)
    with page.expect_request("**/parts/palette?q="):
        page.keyboard.press("Control+k")
    page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))  # so nothing else is looked for before Enter
    page.keyboard.type("cal")
    held[0].continue_()
    expect(page.locator("[data-found] [role=option]").first).to_be_visible()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/calendar$"))


def test_keys_work_where_nobody_types(visit: Visit) -> None:
    """``?`` lists them, ``/`` goes to the message, and both are letters in it; Escape stops the answer."""
    visit.let_in()
    page = visit.page
    page.goto(f"{visit.install.url}/agents/crab/memory")
    expect(page.locator("html")).to_have_attribute("data-ready", "")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    page.goto(f"{visit.install.url}/agents/crab")
    expect(page.locator("html")).to_have_attribute("data-ready", "")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    page.keyboard.type("what/is?")
    field = page.get_by_role("textbox", name="Message")
    expect(field).to_have_value("what/is?")
    field.fill("wait")
    visit.install.plays["wait"] = lambda scene: scene.wait_for_stop()
    page.keyboard.press("Enter")
    expect(page.locator(".working")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator('.turn[data-status="stopped"]')).to_have_count(1)
