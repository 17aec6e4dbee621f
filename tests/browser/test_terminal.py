"""The terminal in a real browser: typed into, dressed in colours under the page's own policy, deaf for what a program
inside might ask of a page, and told when it is over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit
from tests.browser.test_agent_pages import follow
from tests.support.app_fixture import AppFixture, run_app
from tests.support.fake_ttys import ShellTtys
from tests.support.real_app import eventually

pytestmark = pytest.mark.browser

HOSTILE = (
    r"printf '\e]0;another-title\a\e]52;c;ZXZpbA==\a\e]8;;https://evil.example/\aclick-me\e]8;;\a\e]11;#ff0000\a\n'"
)
COLOURED = r"printf '\e[38;2;200;100;50mnear-\e[1;32mgreen\e[0m\n'"


@pytest.fixture
def install(tmp_path: Path) -> Iterator[AppFixture]:
    """An install with terminals, whose shells are this machine's."""
    work = tmp_path / "work"
    work.mkdir()
    with run_app(tmp_path / "home", environment={"HERMIT_TERMINAL": "1"}, lines=ShellTtys(work)) as made:
        yield made


def enter(page: Page, text: str) -> None:
    """Type a line, as a person does."""
    page.keyboard.type(text)
    page.keyboard.press("Enter")


def test_a_terminal_is_typed_into(visit: Visit) -> None:
    """By keys and by the row of keys, under the policy that every page has; what a program asks of it is not heard."""
    page = visit.page
    visit.let_in()
    page.goto(f"{visit.install.url}/agents/crab")
    follow(page, "Terminal")
    rows = page.locator(".xterm-rows")
    expect(rows).to_contain_text("crab$")
    enter(page, "echo answer $((40 + 2))")
    expect(rows).to_contain_text("answer 42")
    enter(page, COLOURED)
    near = rows.locator("span", has_text=re.compile("^near-$"))
    expect(near).to_have_css("color", re.compile(r"rgb\(\d+, \d+, \d+\)"))
    enter(page, HOSTILE)
    expect(rows).to_contain_text("click-me")
    expect(page).to_have_title("Terminal · crab · HermitShell")
    assert page.locator(".xterm-rows a, .xterm-underline-5").count() == 0
    keys(page)
    enter(page, "exit")
    expect(page.get_by_text("The shell has ended.")).to_be_visible()
    page.get_by_role("button", name="Open again").click()
    expect(page.get_by_text("The shell has ended.")).to_be_hidden()
    expect(rows).to_contain_text("crab$")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("style").count() == 0
    page.goto(f"{visit.install.url}/agents/crab")
    eventually(lambda: len(visit.install.services.audit.search_records(words="page", kind="terminal.closed")) == 1)


def keys(page: Page) -> None:
    """On a telephone there is a row of them; at a fixture the keyboard has them."""
    rows = page.locator(".xterm-rows")
    enter(page, "cat")
    if page.get_by_role("button", name="Ctrl").is_visible():
        page.get_by_role("button", name="Ctrl").click()
        page.keyboard.press("c")
        expect(rows).to_contain_text("^C")
        page.get_by_role("button", name="Up", exact=True).click()
        expect(rows).to_contain_text(re.compile(r"\^C.*crab\$.cat", re.DOTALL))
        page.get_by_role("button", name="Ctrl").click()
        page.keyboard.press("u")
    else:
        page.keyboard.press("Control+c")
        expect(rows).to_contain_text("^C")
        page.keyboard.press("F6")
        expect(page.locator(".tabs a[aria-current]")).to_be_focused()
        page.locator(".xterm-helper-textarea").focus()
