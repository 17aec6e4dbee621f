"""Several conversations with an agent, in a browser: begun, named, found, left and come back to, each by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit
from tests.browser.test_dashboard import chat, fits, say
from tests.support.app_fixture import Scene

pytestmark = pytest.mark.browser


def show_list(page: Page) -> None:
    """The list, which is behind its button where there is little room."""
    button = page.get_by_role("button", name="Conversations", exact=True)
    if button.is_visible():
        button.click()
    expect(page.get_by_role("complementary", name="Conversations with crab")).to_be_in_viewport(ratio=0.9)


def begin(page: Page) -> None:
    """A new one."""
    show_list(page)
    before = page.url
    page.get_by_role("button", name="New conversation").click()
    page.wait_for_url(lambda url: "conversation=" in url and url != before)
    expect(page.locator("html[data-ready]")).to_be_attached()


def names(page: Page) -> list[str]:
    """What is in the list, from the top."""
    return page.locator(".conversations nav .conversation-name").all_inner_texts()


def test_each_conversation_stands_by_itself(visit: Visit) -> None:
    """What is said in one is not in another; the list has the newest first, is searched, and leads back."""
    page = chat(visit)
    say(page, "Where is the harbour?")
    begin(page)
    expect(page.locator(".turn")).to_have_count(0)
    say(page, "Green tea or black?")
    expect(page.locator(".bubble")).to_have_text(["Green tea or black?"])
    show_list(page)
    expect(page.locator(".conversations a[aria-current]")).to_contain_text("Green tea or black?")
    assert names(page) == ["Green tea or black?", "Where is the harbour?"]
    assert fits(page)
    page.get_by_role("searchbox", name="Search conversations").fill("harb")
    expect(page.locator(".conversations nav a")).to_have_count(1)
    page.get_by_role("link", name="Where is the harbour?").click()
    expect(page.locator(".bubble")).to_have_text(["Where is the harbour?"])
    page.goto(f"{visit.install.url}/agents/crab")  # the one that was used last
    expect(page.locator(".bubble")).to_have_text(["Green tea or black?"])


def test_it_is_renamed_and_deleted(visit: Visit) -> None:
    """In its menu; whoever deletes it is asked, and is in the other one then."""
    page = chat(visit)
    say(page, "Keep this")
    begin(page)
    say(page, "Lemon cake")
    page.reload()
    page.get_by_label("More about crab").click()
    page.get_by_label("Name of this conversation").fill("Baking")
    with page.expect_navigation():
        page.get_by_role("button", name="Save").click()
    expect(page.locator(".talk-who")).to_contain_text("Baking")
    page.get_by_label("More about crab").click()
    assert fits(page)
    page.get_by_role("button", name="Delete the conversation").click()
    with page.expect_navigation():
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.locator(".bubble")).to_have_text(["Keep this"])
    show_list(page)
    assert names(page) == ["Keep this"]


def test_what_goes_on_elsewhere_is_not_shown_here(visit: Visit) -> None:
    """A turn of another conversation, with its words as they come; it is marked as new in the list."""

    def slowly(scene: Scene) -> None:
        scene.stream("Half of ", "Half of the answer", pause_s=0.2)
        scene.say("Half of the answer")

    visit.install.plays["elsewhere"] = slowly
    page = chat(visit)
    say(page, "here")
    begin(page)
    say(page, "there")
    services, key = visit.install.services, visit.install.services.turns.get(1).cubicle
    first = services.conversations.get(key)
    turn = services.turns.submit(key, "elsewhere", source="api", conversation=first.id)
    services.turns.wait_for_end(turn.id, 20)
    show_list(page)
    expect(page.locator(".conversations .badge.new")).to_have_text("1")
    expect(page.locator(".bubble")).to_have_text(["there"])
    assert page.locator(".live").all_inner_texts() in ([], [""])
    page.locator(".conversations nav a").filter(has_text="here").filter(has_not_text="there").click()
    expect(page.locator(".bubble")).to_have_text(["here", "elsewhere"])
    expect(page.locator("#since")).to_be_attached()


def test_a_draft_stays_in_its_conversation(visit: Visit) -> None:
    """It is there again when one comes back."""
    page = chat(visit)
    say(page, "first")
    back = page.url
    page.get_by_role("textbox", name="Message to crab").fill("not yet")
    begin(page)
    expect(page.get_by_role("textbox", name="Message to crab")).to_have_value("")
    page.goto(back)
    page.goto(f"{visit.install.url}/agents/crab?conversation=1")
    expect(page.get_by_role("textbox", name="Message to crab")).to_have_value("not yet")


def test_it_is_saved_and_imported(visit: Visit, tmp_path: Path) -> None:
    """As each kind of file, from its menu; the JSON is a new conversation, and anything else is refused."""
    page = chat(visit)
    say(page, "Lemon cake")
    expect(page.locator(".reply")).to_have_count(1)
    page.get_by_label("More about crab").click()
    assert fits(page)
    saved = {}
    for kind, ending in (("Markdown", "md"), ("web page", "html"), ("JSON", "json")):
        with page.expect_download() as coming:
            page.get_by_role("link", name=kind, exact=True).click()
        assert coming.value.suggested_filename == f"crab-lemon-cake.{ending}"
        saved[ending] = tmp_path / coming.value.suggested_filename
        coming.value.save_as(saved[ending])
    page.keyboard.press("Escape")
    show_list(page)
    field = page.get_by_label("Import a conversation")
    field.set_input_files(saved["md"])
    expect(page.locator(".conversations .trouble")).to_contain_text("no saved conversation")
    with page.expect_navigation():
        field.set_input_files(saved["json"])
    expect(page.locator(".bubble")).to_have_text(["Lemon cake"])
    expect(page.locator(".reply")).to_have_text(["You said: Lemon cake"])
    show_list(page)
    assert names(page) == ["Lemon cake", "Lemon cake"]
    assert page.context.browser is not None
    alone = page.context.browser.new_page()
    asked: list[str] = []
    alone.on("request", lambda request: asked.append(request.url))
    alone.goto(saved["html"].as_uri())
    expect(alone.locator(".said")).to_contain_text("Lemon cake")
    assert asked == [saved["html"].as_uri()]
    alone.close()
