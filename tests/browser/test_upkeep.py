"""Questions decided anywhere, the doctor, backups and strangers, in a real browser on a phone and on a fixture."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import expect

from orchestrator.channels.chat import contact_rows as people_rows
from orchestrator.channels.chat.channel_store import ChannelDb
from orchestrator.core.finding import fail, ok
from tests.browser.conftest import Visit
from tests.browser.test_dashboard import fits
from tests.browser.test_install_pages import go
from tests.unit.dashboard.test_approvals import HIDDEN, asked

pytestmark = pytest.mark.browser


def test_what_is_decided_elsewhere_is_settled_here(visit: Visit) -> None:
    """The card goes and is found among what was decided, whole, without loading the page; filters keep it apart."""
    install = visit.install
    question = asked(install, HIDDEN)
    page = go(visit, "Approvals")
    card = page.locator("#main [data-approval]")
    expect(card).to_contain_text("wants to run this command")
    assert fits(page)
    operator = install.services.users.get_operator()
    install.services.approvals.decide(question, approve=False, by=operator, surface="telegram")
    expect(page.get_by_text("Nothing is waiting for you.")).to_be_visible()
    expect(card).to_have_count(0)
    row = page.locator(".record")
    row.locator("summary").click()
    expect(row.get_by_text("ada, on Telegram")).to_be_visible()
    expect(row.locator("mark")).to_have_text("\\u202e")
    assert fits(page)
    page.get_by_label("Outcome").select_option("Approved")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("No results.")).to_be_visible()


def test_the_install_is_looked_after(visit: Visit) -> None:
    """The doctor finds something; a backup is made and deleted; somebody is let in."""
    install = visit.install
    install.services.doctor._examine = lambda: [ok("engine", "It answers."), fail("model", "No key.", "Give one.")]
    page = go(visit, "Settings")
    page.get_by_role("button", name="Run diagnostics").click()
    expect(page.get_by_text("1 thing to fix.")).to_be_visible()
    page.get_by_role("button", name="Back up now").click()
    expect(page.get_by_text("was created and verified")).to_be_visible()
    listed = page.locator("#backups .facts-list li")
    expect(listed).to_have_count(1)
    assert fits(page)
    listed.get_by_role("button", name="Restore").click()
    page.locator("dialog.ask").get_by_role("button", name="Restore at the next start").click()
    expect(page.get_by_text("is restored at the next start: run")).to_be_visible()
    assert fits(page)
    page.get_by_role("button", name="Don’t restore it").click()
    expect(page.get_by_text("is restored at the next start: run")).to_be_hidden()
    listed.get_by_role("button", name="Delete").click()
    page.locator("dialog.ask").get_by_role("button", name="Delete").click()
    expect(listed).to_have_count(0)
    with install.app._store.writing() as db:
        people_rows.note_stranger(ChannelDb(db, "telegram"), "crab", 6666, "Eve", time.time())
    page.goto(f"{install.url}/people")
    expect(page.get_by_text("wrote to crab")).to_be_visible()
    assert fits(page)
    page.get_by_role("button", name="Allow").click()
    expect(page.get_by_text("wrote to crab")).to_have_count(0)
    expect(page.locator(".person")).to_have_count(2)
