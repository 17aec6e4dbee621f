"""The operator's pages in a real browser, on a phone and on a fixture. Nothing may be complained about in the end."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from orchestrator.core.models import CubicleKey
from tests.browser.conftest import DESKTOP, Visit
from tests.browser.test_dashboard import fits
from tests.browser.test_set_in_motion import NAMELESS
from tests.unit.dashboard.test_spending import spend

pytestmark = [pytest.mark.browser, pytest.mark.both_sizes]

KEY = CubicleKey("crab", 1)


def is_phone(page: Page) -> bool:
    """The window is small."""
    return page.viewport_size != DESKTOP


def go(visit: Visit, label: str) -> Page:
    """Logged in, and to one of the operator's pages as a person goes there."""
    visit.log_in()
    page = visit.page
    if is_phone(page):
        page.get_by_label("Menu").click()
        page.locator(".top .sheet").get_by_role("link", name=label).click()
    else:
        page.locator(".side").get_by_role("link", name=label).click()
    expect(page.get_by_role("heading", level=1, name=label)).to_be_visible()
    return page


def test_the_audit_log_is_searched_opened_and_saved(visit: Visit, tmp_path: Path) -> None:
    """By words and by kind; details by keyboard; older rows; the same rows as a file."""
    for n in range(60):
        visit.install.services.audit.record_event(
            "test.noted", f"A walrus swam by, number {n}, {'far ' * 30}", KEY, path="x" * 300
        )
    page = go(visit, "Audit log")
    page.get_by_label("Words").fill("walrus")
    page.get_by_label("Kind").select_option("Test noted")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator(".record")).to_have_count(50)
    page.locator(".record summary").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".record").first.get_by_text("x" * 300)).to_be_visible()
    assert fits(page)
    page.get_by_text("Export").click()
    with page.expect_download() as saved:
        page.get_by_role("link", name="JSON lines").click()
    saved.value.save_as(tmp_path / "rows.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["kind"] for row in rows] == ["test.noted"] * 60
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Older events").click()
    expect(page.locator(".record")).to_have_count(10)
    expect(page.get_by_label("Words")).to_have_value("walrus")


def test_spending_is_seen_by_day_agent_and_model(visit: Visit) -> None:
    """A chart with its words, the same as a table, and one agent alone."""
    webapp = visit.install
    spend(webapp, "crab", 2_000_000)
    spend(webapp, "crab", 3_500_000, ago=5, model="a-model-with-a-very-long-name-" * 4, guess=True)
    page = go(visit, "Spending")
    expect(page.get_by_role("img", name="The highest was $3.50")).to_be_visible()
    expect(page.get_by_text("estimated").first).to_be_visible()
    assert fits(page)
    page.get_by_text("Show as a table").click()
    expect(page.get_by_role("cell", name="$3.50")).to_be_visible()
    assert fits(page)
    page.get_by_role("main").get_by_role("link", name="crab").click()
    expect(page.get_by_role("heading", level=1, name="Spending of crab")).to_be_visible()
    expect(page.get_by_text("The dashed line is the daily budget")).to_be_visible()
    page.get_by_role("link", name="Change the budget of crab").click()
    expect(page.get_by_label("US dollars per day")).to_be_visible()


def test_somebody_is_let_in_changed_logged_out_and_removed(visit: Visit) -> None:
    """Added by the form, changed in the list, a link shown once, and gone only when the name is typed."""
    users = visit.install.services.users
    page = go(visit, "People")
    form = page.locator("form.panel")
    form.get_by_label("Name").fill("Ben")
    form.get_by_label("Telegram id").fill("123456789")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("heading", name="Login link for Ben")).to_be_visible()
    expect(page.get_by_text("It works once, for 24 hours.")).to_be_visible()
    expect(page.get_by_text("This link only opens on the machine HermitShell runs on.")).to_be_visible()
    expect(page.get_by_role("textbox", name="Login link")).to_have_value(re.compile(r"^http://.*/login/\S{40,}$"))
    assert fits(page)
    page.context.grant_permissions(["clipboard-write"])  # which a browser with a window gives to a click
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    expect(page.locator(".copied")).to_have_text("")
    page.get_by_role("button", name="Done").click()
    ben = page.locator(".person").nth(1)
    expect(ben.locator("summary").first).to_contain_text("Ben")
    expect(form.get_by_label("Name")).to_have_value("")
    ben.locator("summary").first.click()
    ben.get_by_label("Name").fill("Benjamin")
    ben.get_by_label("Telegram id").fill("")
    with page.expect_response("**/parts/people"):
        page.evaluate("document.dispatchEvent(new CustomEvent('news:again', {detail: {}}))")
    ben.get_by_role("button", name="Save").click()
    expect(ben.locator("summary").first).to_contain_text("Benjamin")
    [changed] = [user for user in users.list_users() if user.name == "Benjamin"]
    assert changed.id_in("telegram") is None
    ben.get_by_role("button", name="Make a login link").click()
    link = page.get_by_role("textbox", name="Login link")
    expect(link).to_have_value(re.compile(r"^http://.*/login/\S{40,}$"))
    assert fits(page)
    page.get_by_role("button", name="Done").click()
    ben.get_by_role("button", name="Log out everywhere").click()
    page.locator("dialog.ask").get_by_role("button", name="Log out").click()
    expect(ben.get_by_text("Logged out.")).to_be_visible()
    ben.get_by_text("Remove Benjamin").click()
    ben.get_by_label("Type Benjamin to confirm").fill("Ben")
    ben.get_by_role("button", name="Remove for good").click()
    assert len(users.list_users()) == 2
    ben.get_by_label("Type Benjamin to confirm").fill("Benjamin")
    ben.get_by_role("button", name="Remove for good").click()
    expect(page.locator(".person")).to_have_count(1)
    assert fits(page)


def test_a_price_is_set_and_taken_away(visit: Visit) -> None:
    """Its place in the list comes and goes without loading the page; a refusal is told beside the button."""
    prices = visit.install.services.prices
    page = go(visit, "Settings")
    form = page.locator("form.panel", has=page.get_by_label("Input"))
    form.get_by_label("Model").fill("own/model-*")
    form.get_by_label("Input").fill("0.25")
    form.get_by_label("Output").fill("1.5")
    form.get_by_role("button", name="Set price").click()
    listed = page.locator(".facts-list li", has_text="own/model-*")
    expect(listed).to_contain_text("$0.25 in, $1.5 out")
    assert [row.pattern for row in prices.list_own()] == ["own/model-*"]
    page.get_by_text("built-in prices").click()
    expect(page.get_by_role("columnheader", name="Provider")).to_be_visible()
    assert fits(page)
    listed.get_by_role("button").click()
    page.locator("dialog.ask").get_by_role("button", name="Remove").click()
    expect(listed).to_have_count(0)
    assert prices.list_own() == ()


def test_everything_on_these_pages_has_a_name_and_can_be_hit(visit: Visit) -> None:
    """By a finger, by a keyboard, by whoever can't see it."""
    visit.log_in()
    page = visit.page
    spend(visit.install, "crab", 2_000_000)
    for path in ("/audit", "/spending", "/people", "/settings"):
        page.goto(f"{visit.install.url}{path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        page.evaluate("document.querySelectorAll('#main details:not(.menu)').forEach((part) => (part.open = true))")
        assert page.evaluate(NAMELESS) == [], path
        assert fits(page), path
