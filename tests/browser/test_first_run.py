"""The first run in a real browser: the link from the terminal, a name, a wrong key and a right one, and the chat."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.test_dashboard import fits
from tests.house import PaperHouse, paper_house
from tests.scripted_upstream import Reply, Request, ScriptedUpstream, says, status

pytestmark = pytest.mark.browser

KEY = "sk-the-right-key-1"


def guarded(request: Request) -> Reply:
    """Answers whoever has the right key."""
    return says("ready") if request.headers.get("authorization") == f"Bearer {KEY}" else status(401)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[PaperHouse]:
    """Nobody has set it up."""
    with paper_house(tmp_path, environment={"HERMIT_ADMIN_USER": ""}) as made:
        yield made


def test_from_the_link_in_the_terminal_to_the_first_answer(visit: Visit) -> None:
    """Each step of the first run, as somebody goes through it; afterwards the same is found in Settings."""
    house, page = visit.house, visit.page
    with ScriptedUpstream() as provider:
        provider.answer(guarded)
        page.goto(f"{house.url}/login/{house.services.people.make_link(1)}")
        page.get_by_role("button", name="Log in").click()
        page.get_by_label("Your name").fill("ada")
        page.get_by_label("A password").fill("correct horse battery")
        assert fits(page)
        page.get_by_role("button", name="Go on").click()
        page.get_by_label("Provider").select_option("A server of your own")
        page.get_by_label("Address").fill(provider.base_url)
        page.get_by_label("Key", exact=False).last.fill("sk-a-wrong-key-1")
        page.get_by_role("button", name="Try it and keep it").click()
        expect(page.locator("form .trouble")).to_contain_text("refused the key (401)")
        assert house.services.providers.default() == "rehearsal"
        page.get_by_label("Key", exact=False).last.fill(KEY)
        page.get_by_role("button", name="Try it and keep it").click()
        expect(page.get_by_text("It works: scripted-large answered")).to_be_visible()
        assert fits(page)
        assert page.locator("#offered option").count() == 2
        page.get_by_role("link", name="Go on").click()
        expect(page.get_by_label("Token")).to_be_visible()
        page.get_by_role("button", name="Open the chat").click()
        page.get_by_label("Message to crab").fill("hello")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_text("You said: hello")).to_be_visible()
        assert house.services.people.log_in("ada", "correct horse battery")
        assert (house.services.providers.default(), house.services.preferences.is_set_up) == ("custom", True)
        page.goto(f"{house.url}/setup")
        expect(page.get_by_role("heading", level=1, name="Settings")).to_be_visible()
        page.get_by_role("button", name="Try A server of your own").click()
        expect(page.locator("[data-tried]")).to_contain_text("It works: scripted-large answered")
        page.get_by_label("What it is for").fill("phone")
        page.get_by_role("button", name="Create token").click()
        expect(page.locator("dialog.link-shown input")).not_to_have_value("")
        page.get_by_role("button", name="Done").click()
        expect(page.get_by_role("button", name="Revoke phone")).to_be_visible()
        assert fits(page)
