"""What somebody has begun to write outlives a reload, other pages and a browser that dies, for themselves alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, FilePayload, Page, expect

from tests.browser.conftest import DESKTOP, Visit, open_window
from tests.browser.test_dashboard import chat, say
from tests.support.app_fixture import AppFixture

pytestmark = pytest.mark.browser

KEPT = "() => Object.keys(localStorage).some((key) => key.startsWith('draft '))"


def begin(page: Page, text: str) -> None:
    """Write something and do not send it."""
    page.get_by_role("textbox").fill(text)
    page.wait_for_function(KEPT)


def test_a_draft_outlives_a_reload_another_page_and_a_crash(visit: Visit) -> None:
    """The words are in the field again; of another agent's conversation they are no part."""
    visit.install.services.agents.create({"name": "hermine"})
    page = chat(visit)
    field = page.get_by_role("textbox")
    begin(page, "Dear crab,\nplease")
    page.reload()
    expect(field).to_have_value("Dear crab,\nplease")
    field.fill("Dear crab, look at")  # and left at once, before it is kept by itself
    page.get_by_role("link", name="Files", exact=True).click()
    page.wait_for_url("**/files")
    page.goto(f"{visit.install.url}/agents/hermine")
    expect(field).to_have_value("")
    after = open_window(page.context, visit.install).page  # the first one never said that it goes
    after.goto(f"{visit.install.url}/agents/crab")
    expect(after.get_by_role("textbox")).to_have_value("Dear crab, look at")
    after.get_by_role("button", name="Send").click()
    expect(after.locator(".reply")).to_have_text("You said: Dear crab, look at")
    after.reload()
    expect(after.get_by_role("textbox")).to_have_value("")


def test_a_draft_stays_with_its_person(browser: Browser, install: AppFixture) -> None:
    """Somebody else at this browser does not see it, who comes back does, and who logs out leaves none behind."""
    ben = install.services.users.add({"name": "ben"})
    context = browser.new_context(viewport=DESKTOP)
    visit = open_window(context, install)
    page = chat(visit)
    begin(page, "between us")
    page.goto("about:blank")
    context.clear_cookies()  # as when the session has expired
    page.goto(f"{install.url}/login/{install.services.users.make_link(ben.id)}")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(f"{install.url}/welcome")
    page.goto(f"{install.url}/agents/crab")
    expect(page.get_by_role("textbox")).to_have_value("")
    page.goto("about:blank")  # a page that is asked to log in goes there by itself
    context.clear_cookies()
    chat(visit)
    expect(page.get_by_role("textbox")).to_have_value("between us")
    page.get_by_label("Menu").click()
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url(f"{install.url}/login")
    assert not page.evaluate(KEPT)
    context.close()
    assert visit.complaints == []


def test_a_suggestion_leaves_the_draft_alone(visit: Visit) -> None:
    """It is sent by itself."""
    page = chat(visit)
    begin(page, "half a")
    page.get_by_role("button", name="What can you do?").click()
    expect(page.locator(".reply")).to_have_text("You said: What can you do?")
    expect(page.get_by_role("textbox")).to_have_value("half a")
    say(page, "half a sentence")
    expect(page.locator(".bubble")).to_have_text(["What can you do?", "half a sentence"])


def test_a_withdrawn_messages_files_come_back_with_its_words(visit: Visit) -> None:
    """They still lie where they were sent to, so they are attached again, and can be sent or removed."""
    install = visit.install
    install.plays["long"] = lambda scene: scene.wait_for_stop()
    page = chat(visit)
    say(page, "long")
    expect(page.locator('.turn[data-status="running"]')).to_have_count(1)
    files = [FilePayload(name=f"the {tide} tide.txt", mimeType="text/plain", buffer=b"six") for tide in ("high", "low")]
    page.locator("[data-files]").set_input_files(files)
    expect(page.locator('.chip[data-state="done"]')).to_have_count(2)
    say(page, "look")
    queued = page.locator('.turn[data-status="queued"]')
    queued.get_by_role("button", name="Withdraw").click()
    expect(page.get_by_role("textbox")).to_have_value("look")
    expect(page.locator('.chip[data-state="done"] .file-name')).to_have_text(["the high tide.txt", "the low tide.txt"])
    page.get_by_role("button", name="Remove the low tide.txt").click()
    expect(page.locator(".chip")).to_have_count(1)
    page.get_by_role("button", name="Send").click()
    expect(queued.locator(".tag .file-name")).to_have_text("the high tide.txt")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".reply")).to_contain_text("in/the high tide.txt")
    inbox = install.services.settings.home / "workspaces" / "crab" / "1" / "in"
    assert [path.name for path in inbox.iterdir()] == ["the high tide.txt"]
