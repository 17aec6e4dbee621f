"""Reading back in a real browser: earlier messages come as one scrolls, nothing jumps, search leads to the place."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from orchestrator.core.models import CubicleKey, TurnStatus
from orchestrator.turns.conversation_rows import repair_conversations
from tests.browser.conftest import Visit
from tests.browser.test_dashboard import fits

pytestmark = pytest.mark.browser

KEY = CubicleKey("crab", 1)
COUNT = 75


def top_of(page: Page, turn: int) -> float:
    """Where a turn is on the screen."""
    return float(page.locator(f"#turn-{turn}").evaluate("turn => turn.getBoundingClientRect().top"))


def test_one_reads_back_and_finds(visit: Visit) -> None:
    """To the beginning by scrolling alone, what is read stays in place; words lead to their turn, and on from there."""
    turns = visit.install.services.turns
    with visit.install.app._store.writing() as db:
        db.executemany(
            "INSERT INTO turns (agent, user, conversation, parent, source, prompt, status, created_at) "
            "VALUES ('crab', 1, 1, -1, 'api', ?, ?, ?)",
            [(f"number {n}" + " of the Nautilus" * (n == 30), TurnStatus.RUNNING, n) for n in range(1, COUNT + 1)],
        )
        repair_conversations(db)
    for turn in range(1, COUNT + 1):
        turns.end_turn(KEY, turn, TurnStatus.DONE, reply=f"reply {turn}")
    visit.let_in()
    page = visit.page
    page.goto(f"{visit.install.url}/agents/crab")
    expect(page.locator(f"#turn-{COUNT}")).to_be_in_viewport()
    first = COUNT - 19
    expect(page.locator(".turn")).to_have_count(20)
    page.evaluate("scrollTo({ top: 300, behavior: 'instant' })")  # near the top: the page before it is brought
    before = top_of(page, first)
    expect(page.locator(f"#turn-{first - 20}")).to_be_attached()
    assert abs(top_of(page, first) - before) < 3
    for place in (first - 20, first - 40):
        page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
        expect(page.locator(f"#turn-{max(1, place - 20)}")).to_be_attached()
    expect(page.locator("[data-earlier]")).to_have_count(0)
    expect(page.locator(".turn")).to_have_count(COUNT)

    page.get_by_role("link", name="Search all messages").click()
    page.get_by_role("searchbox", name="Words from a message").fill("naut")
    page.get_by_role("searchbox", name="Words from a message").press("Enter")
    expect(page.locator(".hit mark")).to_have_text(["Nautilus"])
    assert fits(page)
    page.locator(".hit").click()
    expect(page.locator("#turn-30.here")).to_be_in_viewport()
    page.evaluate("scrollTo({ top: document.documentElement.scrollHeight, behavior: 'instant' })")
    expect(page.locator("#turn-37")).to_be_attached()
    expect(page.locator("#turn-30.here")).to_have_count(1)
    assert fits(page)
