"""Secrets for pages in a real browser: kept, listed without their values, removed."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.test_dashboard import fits

pytestmark = [pytest.mark.browser, pytest.mark.both_sizes]


def test_one_is_kept_and_removed(visit: Visit) -> None:
    """The fields are empty afterwards; the value is nowhere on the page."""
    visit.let_in()
    page = visit.page
    page.goto(f"{visit.install.url}/you#page-secrets")
    section = page.locator("#page-secrets")
    section.get_by_label("Name", exact=True).fill("shop-password")
    section.get_by_label("Host").fill("shop.example")
    section.get_by_label("Value").fill("correct horse")
    section.locator("select[name=agent]").select_option("crab")
    section.get_by_role("button", name="Keep it").click()
    expect(section.get_by_text("for pages of shop.example")).to_be_visible()
    expect(section.get_by_label("Value")).to_have_value("")
    (kept,) = visit.install.services.page_secrets.list_secrets(1)
    assert (kept.name, kept.host, kept.agent) == ("shop-password", "shop.example", "crab")
    assert "correct horse" not in page.content()
    assert fits(page)
    section.get_by_role("button", name=re.compile("Remove.*shop-password")).click()
    page.locator("dialog.ask").get_by_role("button", name="Remove").click()
    expect(section.get_by_text("for pages of shop.example")).to_have_count(0)
    assert visit.install.services.page_secrets.list_secrets(1) == []
