"""Answers and code are copied, and code scrolls by keyboard; the demo's words are there to be pressed."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from orchestrator.llm.first_tasks import FIRST_TASKS
from tests.browser.conftest import DESKTOP, Visit, open_window
from tests.browser.test_dashboard import chat, fits, say
from tests.support.app_fixture import AppFixture

pytestmark = pytest.mark.browser

ANSWER = f"**Run** this, see https://example.org/tide.\n\n```bash\necho {'x' * 400}\n```\n"
READ = "() => navigator.clipboard.readText()"


def test_answers_and_code_are_copied(browser: Browser, install: AppFixture) -> None:
    """The answer as the agent wrote it, the code as it stands; both buttons say so."""
    install.plays["how"] = lambda scene: scene.say(ANSWER)
    context = browser.new_context(viewport=DESKTOP, permissions=["clipboard-read", "clipboard-write"])
    visit = open_window(context, install)
    page = chat(visit)
    say(page, "how")
    buttons = page.get_by_role("button", name="Copy")
    expect(buttons).to_have_count(2)
    page.locator(".code").get_by_role("button", name="Copy").click()
    expect(page.locator(".copied")).to_have_text("Copied")
    assert page.evaluate(READ) == f"echo {'x' * 400}\n"
    expect(page.locator(".copied")).to_have_text("")
    page.locator(".answer-end").get_by_role("button", name="Copy").click()
    expect(page.locator(".copied")).to_have_text("Copied")
    assert page.evaluate(READ) == ANSWER
    context.close()
    assert visit.complaints == []


def test_a_page_without_a_clipboard_copies_all_the_same(visit: Visit) -> None:
    """Over plain HTTP a browser has none."""
    visit.install.plays["how"] = lambda scene: scene.say(ANSWER)
    visit.page.add_init_script(
        "Object.defineProperty(navigator, 'clipboard', { value: undefined });"
        "addEventListener('copy', () => (window.copied = getSelection().toString()), true);"
    )
    page = chat(visit)
    say(page, "how")
    expect(page.locator(".code")).to_be_visible()
    expect(page.get_by_role("textbox")).to_be_focused()
    expect(page.locator(".working")).to_be_hidden()
    button = page.locator(".code").get_by_role("button", name="Copy")
    button.click()
    expect(page.locator(".copied")).to_have_text("Copied")
    assert page.evaluate("() => window.copied").strip() == f"echo {'x' * 400}"
    expect(button).to_be_focused()


SPEAKS = """
window.told = [];
Object.defineProperty(window, 'speechSynthesis', { value: {
  speaking: true, speak: (said) => window.told.push(said.text), cancel: () => window.told.push('-'),
} });
window.SpeechSynthesisUtterance = class { constructor(text) { this.text = text; } };
"""


def test_an_answer_is_quoted_and_read_aloud(visit: Visit) -> None:
    """All of it, or what is marked in it; aloud without its code, until the button is pressed again."""
    visit.install.plays["how"] = lambda scene: scene.say("**Low** tide.\n\n```sh\nls\n```\n\nHigh tide.")
    visit.page.add_init_script(SPEAKS)
    page = chat(visit)
    say(page, "how")
    field = page.get_by_role("textbox", name="Message to crab")
    field.fill("So:")
    page.get_by_role("button", name="Quote").click()
    expect(field).to_have_value("So:\n\n> **Low** tide.\n>\n> ```sh\n> ls\n> ```\n>\n> High tide.\n\n")
    field.fill("")
    page.evaluate("() => getSelection().selectAllChildren(document.querySelector('.reply p:last-child'))")
    page.get_by_role("button", name="Quote").click()
    expect(field).to_have_value("> High tide.\n\n")
    expect(field).to_be_focused()
    aloud = page.get_by_role("button", name="Read aloud")
    aloud.click()
    expect(aloud).to_have_attribute("aria-pressed", "true")
    aloud.click()
    assert page.evaluate("() => window.told") == ["-", "Low tide.", "High tide.", "-"]


def test_long_code_scrolls_by_keyboard(visit: Visit) -> None:
    """It takes the focus, and the page itself stays as wide as it is."""
    visit.install.plays["how"] = lambda scene: scene.say(ANSWER)
    page = chat(visit)
    say(page, "how")
    code = page.locator(".code pre")
    code.focus()
    expect(code).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('.code pre').scrollLeft > 0")
    assert fits(page)
    expect(page.locator(".reply a")).to_have_attribute("href", "https://example.org/tide")


def test_a_card_sends_its_message(visit: Visit) -> None:
    """An empty conversation begins at its top; a press anywhere on a card sends what the card means, in full."""
    page = chat(visit)
    task = FIRST_TASKS[0]
    assert page.evaluate("scrollY") == 0
    assert fits(page)
    page.get_by_text(task.brings, exact=True).click()
    expect(page.locator(".reply").last).to_have_text(f"You said: {task.prompt}")
    expect(page.get_by_role("heading", name="Try this")).to_be_hidden()


def test_the_demos_words_are_pressed(visit: Visit) -> None:
    """Also after the first message, without typing."""
    page = chat(visit)
    assert fits(page)
    for words in ("Which files do you have?", "remember that I like tea"):
        page.get_by_role("button", name=words).click()
        expect(page.locator(".reply").last).to_have_text(f"You said: {words}")
    assert fits(page)
