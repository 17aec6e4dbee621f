"""The first page in a real browser: one field that asks any agent, and cards that tell what each does just now."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from orchestrator.core.models import CubicleKey
from tests.browser.conftest import Visit
from tests.browser.test_dashboard import Writer, fits
from tests.support.app_fixture import AppFixture

pytestmark = pytest.mark.browser


def test_any_agent_is_asked_from_the_first_page(visit: Visit) -> None:
    """A name at the beginning chooses; what is written outlives another page, and is gone once it was sent."""
    visit.install.services.agents.create({"name": "clerk"})
    visit.log_in()
    page = visit.page
    field, agent = page.get_by_role("textbox", name="Message to an agent"), page.get_by_role("combobox", name="To")
    expect(agent).to_have_value("crab")
    field.press_sequentially("@clerk file the letters")
    expect(agent).to_have_value("clerk")
    expect(field).to_have_value("file the letters")
    assert fits(page)
    page.get_by_role("main").get_by_role("link", name="crab").click()
    expect(page.get_by_role("textbox", name="Message to crab")).to_be_visible()
    page.go_back()
    expect(field).to_have_value("file the letters")
    agent.select_option("clerk")
    page.evaluate("document.documentElement.dataset.same = ''")
    field.press("Enter")
    expect(page.get_by_text("You said: file the letters")).to_be_visible()
    assert page.evaluate("'same' in document.documentElement.dataset")  # no document was loaded
    page.goto(visit.install.url)
    expect(field).to_have_value("")
    expect(agent).to_have_value("clerk")
    page.get_by_role("checkbox", name="New conversation").check()
    field.fill("something else")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("You said: something else")).to_be_visible()
    expect(page.locator(".bubble")).to_have_count(1)


def test_a_card_tells_what_its_agent_does(visit: Visit) -> None:
    """While it does it, without the page being loaded again; then it rests."""
    writer = Writer()
    visit.install.plays["go"] = writer.play
    visit.log_in()
    card = visit.page.locator("[data-agent=crab]")
    expect(card).to_contain_text("asleep")
    visit.install.services.turns.submit(CubicleKey("crab", 1), "go", source="api")
    expect(card).to_contain_text("Writing")
    writer.go_on.set()
    expect(card).not_to_contain_text("Writing")
    expect(card.locator(".badge")).to_contain_text("1")


def test_a_first_task_is_one_press_with_and_without_scripts(browser: Browser, install: AppFixture) -> None:
    """And it leads to the conversation in which it is done."""
    users = install.services.users
    for has_scripts, user in ((True, users.get_operator()), (False, users.add({"name": "ben"}))):
        context = browser.new_context(java_script_enabled=has_scripts)
        session = users.use_link(users.make_link(user.id))
        context.add_cookies([{"name": "hermit_session", "value": session, "url": install.url}])
        page = context.new_page()
        page.goto(install.url)
        page.get_by_role("button", name="A chart of numbers").click()
        expect(page).to_have_url(re.compile("/agents/crab"))
        expect(page.locator(".bubble").first).to_contain_text("Draw a bar chart")
        context.close()
