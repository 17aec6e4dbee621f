"""The calendar of all agents in a real browser: a new entry from a day, a drag and its way back, days by arrows."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import expect

from orchestrator.core.models import CubicleKey
from tests.browser.conftest import DESKTOP, Visit
from tests.browser.test_dashboard import fits
from tests.browser.test_set_in_motion import NAMELESS

pytestmark = [pytest.mark.browser, pytest.mark.both_sizes]

KEY = CubicleKey("crab", 1)
ZONE = "Asia/Kolkata"
"""Half an hour off: its full hours are nobody else's."""


def a_wednesday() -> datetime:
    """In the middle of a month that is to come."""
    day = (datetime.now(UTC) + timedelta(days=62)).replace(day=15)
    return day + timedelta(days=2 - day.weekday())


def next_hour() -> str:
    """As the form's field has it."""
    return f"{datetime.now(ZoneInfo(ZONE)) + timedelta(hours=1):%Y-%m-%dT%H}:00"


def test_a_new_entry_begins_on_the_chosen_day(visit: Visit) -> None:
    """The plus of a day fills in the form; a length and a last day go together; the day shows it; it can be changed."""
    visit.let_in()
    page, calendar, day = visit.page, visit.install.services.calendar, a_wednesday()
    page.goto(f"{visit.install.url}/calendar?at={day:%Y-%m-%d}")
    page.locator("#day").get_by_role("button", name="New entry on").click()
    expect(page.get_by_label("When", exact=False).first).to_have_value(f"{day:%Y-%m-%d}T09:00")
    page.get_by_label("Title").fill("Tide <b>table</b>")
    page.get_by_label("Message to the agent").fill("What is the tide?")
    page.get_by_label("Repeat").select_option("Every day")
    page.get_by_label("Duration").select_option("Half an hour")
    page.get_by_label("Last day").fill(f"{day + timedelta(days=1):%Y-%m-%d}")
    page.get_by_label("Colour").select_option("Violet")
    page.get_by_role("button", name="Add entry").click()
    line = page.locator("#day .entry")
    expect(line).to_contain_text("09:00–09:30 Tide <b>table</b>")
    expect(line.locator("rect")).to_have_attribute("fill", "mediumpurple")
    found = calendar.list_entries("crab", 1)[0]
    until = f"{day + timedelta(days=1):%Y%m%d}"
    assert (found.repeat, found.end) == (f"FREQ=DAILY;UNTIL={until}", f"{day:%Y-%m-%d}T09:30:00")
    assert fits(page)
    line.get_by_title("Edit").click()
    page.wait_for_url("**#change")
    page.get_by_label("Title").fill("Tides")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Tides")).to_be_in_viewport()
    expect(page.get_by_text("Saved.")).to_be_visible()
    assert calendar.get_entry(found.id).repeat == found.repeat
    for view, count in (("month", 2), ("list", 0), ("week", 2)):
        page.goto(f"{visit.install.url}/calendar?view={view}&at={day:%Y-%m-%d}")
        expect(page.locator(".chip")).to_have_count(count)
        assert page.evaluate(NAMELESS) == []
        assert fits(page)


def test_a_day_of_a_series_is_left_out_and_put_back(visit: Visit) -> None:
    """In the list of days, and on the entry's own page."""
    services, day = visit.install.services, a_wednesday()
    words = {"title": "Tides", "prompt": "x", "start": f"{day:%Y-%m-%d}T09:00", "repeat": "FREQ=DAILY"}
    entry = services.calendar.create_entry(KEY, words, by=services.users.get_operator())
    visit.let_in()
    page = visit.page
    page.goto(f"{visit.install.url}/calendar?at={day:%Y-%m-%d}")
    page.locator("#day").get_by_title("Skip on this day").click()
    expect(page.locator("#day")).to_contain_text("Nothing is scheduled on this day.")
    assert services.calendar.get_entry(entry.id).without == f"{day:%Y-%m-%d}"
    expect(page.locator("[data-moved]")).to_contain_text("“Tides” is skipped on that day.")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#day .entry")).to_contain_text("Tides")
    assert services.calendar.get_entry(entry.id).without == ""
    page.locator("#day").get_by_title("Skip on this day").click()
    expect(page.locator("#day")).to_contain_text("Nothing is scheduled on this day.")
    page.goto(f"{visit.install.url}/agents/crab/calendar/{entry.id}")
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_text("Skipped:")).to_have_count(0)
    page.get_by_role("button", name="Skip next run").click()
    expect(page.get_by_text(f"Skipped: {day:%a} {day.day} {day:%b} {day.year}")).to_be_visible()
    assert fits(page)


@pytest.mark.parametrize("path", ["/calendar", "/agents/crab/calendar"])
def test_a_new_entry_begins_at_the_next_full_hour(visit: Visit, path: str) -> None:
    """By the viewer's clock, and again after it was planned; another time that was chosen stays."""
    visit.install.services.users.update_user(1, {"time_zone": ZONE})
    visit.let_in()
    page = visit.page
    page.goto(f"{visit.install.url}{path}")
    if path == "/calendar":  # of the hours of today none that has passed
        hours = [next_hour()]
        page.locator("#day").get_by_role("button", name="New entry on").click()
        nine = f"{datetime.now(ZoneInfo(ZONE)):%Y-%m-%d}T09:00"
        soonest = re.compile("|".join(max(nine, hour) for hour in [*hours, next_hour()]))
        expect(page.get_by_label("When", exact=False).first).to_have_value(soonest)
        page.goto(f"{visit.install.url}{path}")
    before = next_hour()
    page.get_by_text("New entry", exact=True).click()
    when = page.get_by_label("When", exact=False).first
    expect(when).to_have_value(re.compile(f"{before}|{next_hour()}"))
    page.get_by_label("Title").fill("Tides")
    page.get_by_label("Message to").fill("What is the tide?")
    page.get_by_role("button", name="Add entry").click()
    expect(page.locator("details:has([data-soon])")).not_to_have_attribute("open", "")
    (entry,) = visit.install.services.calendar.list_entries("crab", 1)
    assert entry.start[:16] in (before, next_hour())
    page.get_by_text("New entry", exact=True).click()
    expect(when).to_have_value(re.compile(f"{before}|{next_hour()}"))
    when.fill("2031-05-05T09:00")
    page.get_by_text("New entry", exact=True).click()
    page.get_by_text("New entry", exact=True).click()
    expect(when).to_have_value("2031-05-05T09:00")


def test_days_are_reached_by_arrows_and_entries_are_dragged(visit: Visit) -> None:
    """What happens once goes to another day and back; what repeats says why it does not."""
    services, day = visit.install.services, a_wednesday()
    ada, words = services.users.get_operator(), {"prompt": "x", "start": f"{day:%Y-%m-%d}T23:30"}
    once = services.calendar.create_entry(
        KEY, {**words, "title": "Once", "end": f"{day + timedelta(days=1):%Y-%m-%d}T00:15"}, by=ada
    )
    services.calendar.create_entry(KEY, {**words, "title": "Often", "repeat": "FREQ=WEEKLY"}, by=ada)
    visit.let_in()
    page = visit.page
    page.goto(f"{visit.install.url}/calendar?at={day:%Y-%m-%d}")
    page.locator(f'[data-day="{day:%Y-%m-%d}"]').focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    chosen = day + timedelta(days=8)
    expect(page.locator("#day-title")).to_contain_text(f"{chosen:%A} {chosen.day}")
    if page.viewport_size != DESKTOP:
        return  # a phone has no chips in a month
    to = page.locator(f'[data-drop="{day + timedelta(days=2):%Y-%m-%d}"]')
    page.wait_for_load_state()
    # In steps, as a hand does it: a browser takes the second move for the beginning of a drag.
    page.locator(".chip", has_text="Often").first.drag_to(to, steps=10)
    expect(page.locator("[data-moved]")).to_contain_text("“Often” repeats")
    page.locator(".chip", has_text="Once").drag_to(to, steps=10)
    expect(to.locator(".chip")).to_contain_text("Once")
    friday, saturday = (f"{day + timedelta(days=n):%Y-%m-%d}" for n in (2, 3))
    assert (services.calendar.get_entry(once.id).start, services.calendar.get_entry(once.id).end) == (
        f"{friday}T23:30:00",
        f"{saturday}T00:15:00",
    )
    page.get_by_role("button", name="Undo").click()
    expect(to.locator(".chip")).to_have_count(0)
    assert services.calendar.get_entry(once.id).start == once.start
