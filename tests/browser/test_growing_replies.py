"""Replies are laid out while they are written, and what somebody reads in them stays as it is."""

from __future__ import annotations

import threading

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import DESKTOP, open_window
from tests.browser.test_dashboard import chat, say
from tests.support.app_fixture import AppFixture, Scene

pytestmark = pytest.mark.browser

BEGIN = f"First **words**.\n\n```python\nx = '{'y' * 400}'\n```\n\nThen a [li"
MIDDLE = f"{BEGIN}nk](https://example.org/a), and **bol"
WHOLE = f"{MIDDLE}d**.\n\n- one\n- two"
SELECTED = "() => getSelection().toString()"
MARK = """() => {
  const [first] = document.querySelectorAll('.live p');
  first.firstChild.parentNode.known = true;
  getSelection().setBaseAndExtent(first.firstChild, 0, first.firstChild, 5);
  document.querySelector('.live pre').scrollLeft = 50;
}"""


class Pieces:
    """A reply that comes piece by piece, as it is told to."""

    def __init__(self, *pieces: str) -> None:
        self._pieces = pieces
        self.steps = [threading.Event() for _ in pieces]

    def play(self, scene: Scene) -> None:
        """Each piece is said again until the next one may come: news that nobody heard yet are lost."""
        for piece, step in zip(self._pieces, self.steps, strict=True):
            for _ in range(100):
                scene.stream(piece)
                if step.wait(0.1):
                    break
        scene.say(self._pieces[-1])


def _page(browser: Browser, install: AppFixture, pieces: Pieces) -> tuple[Page, list[str]]:
    install.plays["tide"] = pieces.play
    visit = open_window(browser.new_context(viewport=DESKTOP), install)
    page = chat(visit)
    say(page, "tide")
    return page, visit.complaints


def test_what_is_read_in_a_reply_stays_while_it_grows(browser: Browser, install: AppFixture) -> None:
    """What is marked stays marked and what was scrolled stays scrolled, to the end and after it; no mark of Markdown
    is ever seen."""
    pieces = Pieces(BEGIN, MIDDLE, WHOLE)
    page, complaints = _page(browser, install, pieces)
    expect(page.locator(".live p").last).to_have_text("Then a li")
    page.evaluate(MARK)
    pieces.steps[0].set()
    expect(page.locator(".live p").last).to_have_text("Then a link example.org, and bol")
    expect(page.locator(".live strong").last).to_have_text("bol")
    assert page.evaluate(SELECTED) == "First"
    pieces.steps[1].set()
    expect(page.locator(".live li")).to_have_text(["one", "two"])
    pieces.steps[2].set()
    expect(page.locator(".reply li")).to_have_text(["one", "two"])
    expect(page.locator(".live")).to_have_count(0)
    assert page.evaluate(SELECTED) == "First"
    assert page.evaluate("() => document.querySelector('.reply p').known")
    assert page.evaluate("() => document.querySelector('.reply pre').scrollLeft") == 50
    page.context.close()
    assert complaints == []


def test_a_page_that_comes_later_is_told_all_of_it(browser: Browser, install: AppFixture) -> None:
    """Whoever opens the conversation in the middle of an answer sees it from its beginning."""
    pieces = Pieces(BEGIN, MIDDLE)
    page, complaints = _page(browser, install, pieces)
    expect(page.locator(".live p").last).to_have_text("Then a li")
    page.reload()
    expect(page.locator(".live p").first).to_have_text("First words.")
    pieces.steps[0].set()
    expect(page.locator(".live strong").last).to_have_text("bol")
    pieces.steps[1].set()
    expect(page.locator(".reply p").first).to_have_text("First words.")
    page.context.close()
    assert complaints == []
