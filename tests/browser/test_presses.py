"""A person's press is never lost: not before the page's scripts are there, nor while a part is rendered again."""

from __future__ import annotations

import pytest
from playwright.sync_api import Route, expect

from orchestrator.core.models import CubicleKey
from tests.browser.conftest import Visit

pytestmark = pytest.mark.browser

ENTRY = {"title": "Tides", "prompt": "x", "start": "2031-05-05T09:00:00", "time_zone": "UTC"}


def planned(visit: Visit) -> None:
    """The calendar's page with one entry."""
    visit.log_in()
    users = visit.install.services.users
    visit.install.services.calendar.create_entry(CubicleKey("crab", 1), ENTRY, by=users.get_operator())
    visit.page.goto(f"{visit.install.url}/agents/crab/calendar")


def test_a_part_is_not_taken_away_from_under_a_finger(visit: Visit) -> None:
    """It is rendered again between press and release, which still counts; and after it, it is."""
    planned(visit)
    page = visit.page
    button = page.locator(".entry").get_by_title("Pause")
    expect(button).to_be_visible()
    button.hover()
    page.mouse.down()
    with page.expect_response("**/parts/calendar/crab"):
        page.evaluate("document.dispatchEvent(new CustomEvent('news:calendar', { detail: {} }))")
    page.mouse.up()
    expect(page.locator(".entry")).to_contain_text("paused")


def test_a_press_before_the_scripts_waits_for_them(visit: Visit) -> None:
    """A button that could do nothing yet takes no press."""
    planned(visit)
    page, held = visit.page, list[Route]()
    page.route("**/main.js", lambda route: held.append(route))  # noqa: PLW0108 - a bound C method is not taken
    page.goto(page.url, wait_until="commit")
    button = page.locator(".entry").get_by_title("Pause")
    expect(button).to_be_visible()
    assert button.evaluate("button => getComputedStyle(button).pointerEvents") == "none"
    for route in held:
        route.continue_()
    button.click()
    expect(page.locator(".entry")).to_contain_text("paused")
