"""Long pages of settings: found by words, saved by section, and nothing lost by leaving."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Dialog, expect

from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser


def test_a_setting_is_found_by_any_word_of_it(visit: Visit) -> None:
    """Its section alone stays; what a field holds counts, too."""
    visit.let_in()
    page = visit.page
    page.goto(f"{visit.install.url}/agents/crab/settings")
    field = page.get_by_role("searchbox", name="Find a setting")
    field.fill("steps per message")
    expect(page.locator("section.sheet-part:visible h2")).to_have_text(["When it asks you"])
    field.fill("zebra")
    expect(page.locator("[data-none-found]")).to_have_text("No setting has these words.")
    field.fill("")
    page.get_by_role("navigation", name="Sections").get_by_role("link", name="Delete").click()
    expect(page.locator(".sections a[aria-current]")).to_have_text("Delete")


@pytest.mark.parametrize("path", ["/settings", "/you", "/agents/crab/settings"])
def test_the_section_that_one_goes_to_is_marked(visit: Visit, path: str) -> None:
    """Also where the page ends before it comes to the top; its heading is in view."""
    visit.let_in()
    page = visit.page
    page.goto(visit.install.url + path)
    links = page.locator("[data-sections] a:visible").all()
    assert len(links) > 5
    for link in links:
        link.click()
        expect(page.locator("[data-sections] a[aria-current]")).to_have_text(link.inner_text())
        expect(page.locator(f"{link.get_attribute('href')} h2").first).to_be_in_viewport()


def test_what_is_not_saved_is_marked_and_kept(visit: Visit) -> None:
    """Until it is saved, leaving asks first; afterwards it is as the form stands."""
    visit.let_in()
    page, asked = visit.page, list[str]()
    page.goto(f"{visit.install.url}/agents/crab/settings")
    form = page.locator("#who form")
    role = form.get_by_label("Role")
    role.fill("Gardener")
    expect(form).to_have_attribute("data-unsaved", "")

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    with page.expect_event("dialog"):
        page.get_by_role("navigation", name="Pages of crab").get_by_role("link", name="Files").click()
    expect(role).to_have_value("Gardener")
    form.get_by_role("button", name="Save").click()
    expect(form.locator("[data-done]")).to_be_visible()
    expect(form).not_to_have_attribute("data-unsaved", "")
    page.get_by_role("navigation", name="Pages of crab").get_by_role("link", name="Files").click()
    page.wait_for_url(re.compile("/files$"))
    assert asked == ["beforeunload"]
