"""Branches of a conversation, in a browser: a message edited, an answer asked for again, and the way between them."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from orchestrator.core.models import CubicleKey
from tests.browser.conftest import Visit
from tests.browser.test_dashboard import chat, fits, say

pytestmark = pytest.mark.browser


def bubbles(page: Page, *texts: str) -> None:
    """What was said on the branch that is shown, from the top."""
    expect(page.locator(".bubble")).to_have_text(list(texts))
    expect(page.locator(".turn[aria-busy]")).to_have_count(0)


def edit(page: Page, before: str, after: str, *, with_files: bool = False) -> None:
    """One's own message, by its button."""
    turn = page.locator(".turn", has=page.locator(".bubble", has_text=re.compile(f"^{re.escape(before)}$")))
    turn.hover()
    turn.get_by_role("button", name="Edit").click()
    field = page.get_by_label("Edit the message")
    expect(field).to_be_focused()
    expect(field).to_have_value(before)
    field.fill(after)
    page.get_by_label("Put all files back").set_checked(with_files)
    assert fits(page)
    field.press("Enter")


def test_a_message_is_deleted(visit: Visit) -> None:
    """After a question that says what goes; the rest closes up, here and after a reload."""
    page = chat(visit)
    for text in ("one", "two", "three"):
        say(page, text)
    bubbles(page, "one", "two", "three")
    turn = page.locator(".turn", has=page.locator(".bubble", has_text="two"))
    turn.hover()
    turn.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Delete this message and its answer?")
    expect(dialog).to_contain_text("the audit log keeps what was said")
    assert fits(page)
    dialog.get_by_role("button", name="Cancel").click()
    bubbles(page, "one", "two", "three")
    turn.hover()
    turn.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete").click()
    bubbles(page, "one", "three")
    page.reload()
    bubbles(page, "one", "three")
    say(page, "four")
    bubbles(page, "one", "three", "four")


def test_an_edited_message_keeps_the_one_before(visit: Visit) -> None:
    """With arrows between the two, each with all that followed; the address is enough to come back to either."""
    page = chat(visit)
    for text in ("one", "two", "three"):
        say(page, text)
    bubbles(page, "one", "two", "three")
    edit(page, "two", "zwei")
    bubbles(page, "one", "zwei")
    versions = page.get_by_role("group", name="Versions of this message")
    expect(versions).to_contain_text("2 of 2")
    assert fits(page)
    versions.get_by_role("button", name="Previous version").click()
    bubbles(page, "one", "two", "three")
    expect(versions).to_contain_text("1 of 2")
    expect(versions.get_by_role("button", name="Previous version")).to_be_disabled()
    expect(versions.get_by_role("button", name="Next version")).to_be_focused()
    page.reload()
    bubbles(page, "one", "two", "three")
    page.get_by_role("button", name="Next version").press("Enter")
    bubbles(page, "one", "zwei")
    say(page, "drei")
    bubbles(page, "one", "zwei", "drei")


def test_an_edit_is_thought_better_of(visit: Visit) -> None:
    """By Escape or its button; an empty one is refused, and what was written stays."""
    page = chat(visit)
    say(page, "one")
    page.locator(".turn").hover()
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Edit the message").press("Escape")
    expect(page.get_by_role("button", name="Edit")).to_be_focused()
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Edit the message").fill("  ")
    page.locator(".edit-form").get_by_role("button", name="Send").click()
    expect(page.locator(".edit-form .trouble")).to_be_visible()
    page.locator(".edit-form").get_by_role("button", name="Cancel").click()
    bubbles(page, "one")


def test_another_answer_and_another_conversation(visit: Visit) -> None:
    """Asked for again, the same message has two answers; from any answer a conversation of its own goes on."""
    page = chat(visit)
    say(page, "one")
    say(page, "two")
    bubbles(page, "one", "two")
    page.locator(".turn").last.get_by_role("button", name="Ask again").click()
    bubbles(page, "one", "two")
    expect(page.get_by_role("group", name="Versions of this message")).to_contain_text("2 of 2")
    page.locator(".turn").first.hover()
    with page.expect_navigation():
        page.locator(".turn").first.get_by_role("button", name="Branch").click()
    bubbles(page, "one")
    say(page, "somewhere else")
    bubbles(page, "one", "somewhere else")
    page.locator(".turn").first.hover()
    edit(page, "one", "uno")
    bubbles(page, "uno")
    page.get_by_role("button", name="Previous version").click()
    bubbles(page, "one", "somewhere else")


def test_the_tree_shows_every_branch(visit: Visit) -> None:
    """A line for each part, with what is shown; and how it comes to have more than one."""
    page = chat(visit)
    say(page, "one")
    tree = page.get_by_role("link", name="Branches of this conversation")
    page.get_by_label("More about crab").click()
    tree.click()
    expect(page.get_by_text("This conversation has one branch.")).to_be_visible()
    page.get_by_role("link", name="Back to chat").click()
    say(page, "two")
    say(page, "three")
    bubbles(page, "one", "two", "three")
    edit(page, "two", "zwei")
    bubbles(page, "one", "zwei")
    page.get_by_label("More about crab").click()
    tree.click()
    expect(page.locator(".stretch-words")).to_have_text(["one", "two", "zwei"])
    expect(page.locator(".stretch.shown .stretch-words")).to_have_text(["one", "zwei"])
    assert fits(page)
    with page.expect_navigation():
        page.get_by_role("button", name="Show the branch “two”").click()
    bubbles(page, "one", "two", "three")


def test_a_branch_that_begins_elsewhere_is_shown(visit: Visit) -> None:
    """Another window edits a message, or shows another branch: this one follows, also with what is still answered."""
    page = chat(visit)
    say(page, "one")
    say(page, "two")
    bubbles(page, "one", "two")
    services = visit.install.services
    key = CubicleKey("crab", services.users.get_operator().id)
    turns = services.turns.list_history(key, limit=10)
    place = services.conversations.get(key)
    services.branches.send_again(place, turns[1].id, "zwei", source="api")
    bubbles(page, "one", "zwei")
    services.branches.select(services.conversations.get(key), turns[1].id)
    bubbles(page, "one", "two")
