"""Decisions on a card, in a real browser: by keyboard, with words, for longer than once."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from orchestrator.core.models import ApprovalStatus
from tests.browser.conftest import Visit
from tests.browser.test_dashboard import chat
from tests.browser.test_set_in_motion import ask_about, status_of
from tests.support.app_fixture import AppFixture

pytestmark = pytest.mark.browser

COMMAND = "rm -rf build"


def asks(visit: Visit) -> tuple[Page, str]:
    """A conversation in which the agent wants to run something; the page, and the question's id."""
    visit.install.plays["clean"] = lambda scene: scene.say(f"ran: {scene.run(1, COMMAND)}")
    page = chat(visit)
    page.get_by_label("Message").fill("clean")
    page.keyboard.press("Enter")
    expect(page.locator("[data-approval] [data-decide=approve]")).to_be_enabled()
    return page, pending(visit.install)


def pending(install: AppFixture) -> str:
    """The id of the one open question."""
    (found,) = install.services.approvals.list_approvals(status=ApprovalStatus.PENDING)
    return found.id


@pytest.mark.parametrize(("key", "status"), [("y", ApprovalStatus.APPROVED), ("n", ApprovalStatus.DENIED)])
def test_a_key_decides_the_one_question(visit: Visit, key: str, status: ApprovalStatus) -> None:
    """Y and N, but not while something is typed."""
    page, asked = asks(visit)
    page.get_by_label("Message").press_sequentially("yny")
    assert visit.install.services.approvals.get(asked).status is ApprovalStatus.PENDING
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press(key)
    assert status_of(visit.install, asked) is status


def test_a_key_decides_nothing_among_several(visit: Visit) -> None:
    """Only the card that holds the focus is meant."""
    page, asked = asks(visit)
    other = ask_about(visit.install, "asset", "https://a.example/x", {"host": "a.example", "url_chars": 1})
    expect(page.locator("[data-approval]")).to_have_count(2)
    button = page.locator(f"[data-approval='{asked}'] [data-decide=approve]")
    button.scroll_into_view_if_needed()
    expect(button).to_be_enabled()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("y")
    assert len(visit.install.services.approvals.list_approvals(status=ApprovalStatus.PENDING)) == 2
    page.locator(f"[data-approval='{asked}'] [data-decide=deny]").focus()
    page.keyboard.press("n")
    assert status_of(visit.install, asked) is ApprovalStatus.DENIED
    assert visit.install.services.approvals.get(other).status is ApprovalStatus.PENDING


def test_a_no_takes_words(visit: Visit) -> None:
    """They stand in the conversation afterwards; without words the field is asked for first."""
    page, asked = asks(visit)
    card = page.locator("[data-approval]")
    card.get_by_text("Deny with a reason").click()
    deny = card.locator("[data-decide=note]")
    deny.click()
    expect(card.get_by_label("Why, or what to do instead")).to_be_focused()
    page.keyboard.type("No, use trash instead.")
    deny.click()
    assert status_of(visit.install, asked) is ApprovalStatus.DENIED
    page.locator(".step summary").first.click()
    expect(page.locator(".step-body")).to_contain_text("“No, use trash instead.”")


def test_a_kind_is_approved_for_longer(visit: Visit) -> None:
    """The card names it, the settings list it, and Revoke ends it."""
    page, asked = asks(visit)
    card = page.locator("[data-approval]")
    card.get_by_text("Approve for longer").click()
    expect(card.locator(".kinds")).to_have_text("delete below work/build/")
    card.get_by_role("button", name="Approve for an hour").click()
    assert status_of(visit.install, asked) is ApprovalStatus.APPROVED
    page.goto(f"{visit.install.url}/agents/crab/settings")
    grants = page.locator("#grants")
    expect(grants).to_contain_text("delete below work/build/")
    grants.get_by_role("button", name="Revoke").click()
    page.get_by_role("button", name="Ask again").click()
    expect(grants).not_to_contain_text("delete below")


def test_a_host_is_allowed_beforehand(visit: Visit) -> None:
    """It stands in the list at once; what is no host is said below the field, and how often it is asked is saved."""
    page = chat(visit)
    page.goto(f"{visit.install.url}/agents/crab/settings")
    grants = page.locator("#grants")
    host = grants.get_by_role("textbox", name="Host")
    host.fill("no host/at all")
    grants.get_by_role("button", name="Allow", exact=True).click()
    expect(grants.locator("form [role=alert]")).to_be_visible()
    visit.complaints.clear()  # that the answer was 400
    host.fill("files.example")
    grants.get_by_role("combobox", name="For").select_option("always")
    grants.get_by_role("button", name="Allow", exact=True).click()
    expect(grants.locator(".facts-list")).to_contain_text("Files from files.example")
    expect(host).to_have_value("")
    asking = page.locator("#approval")
    asking.get_by_label("After reading something from the internet").check()
    asking.get_by_role("button", name="Save").click()
    expect(asking.get_by_text("Saved.")).to_be_visible()
    assert visit.install.services.agents.get("crab").asks_again == "web"


def test_the_badge_stands_at_approvals(visit: Visit) -> None:
    """Where people look for it."""
    page, _ = asks(visit)
    expect(page.locator('nav a[href="/approvals"] .badge').first).to_have_text("1")
