"""Long lines of code wrap where somebody wants that, from then on."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.browser.test_copying import ANSWER
from tests.browser.test_dashboard import chat, fits, say

pytestmark = pytest.mark.browser

SCROLLS = "() => { const pre = document.querySelector('.code pre'); return pre.scrollWidth > pre.clientWidth; }"


def test_code_wraps_and_this_is_remembered(visit: Visit) -> None:
    """By a button on every block; also after a reload, until it is pressed again."""
    visit.install.plays["how"] = lambda scene: scene.say(ANSWER)
    page = chat(visit)
    say(page, "how")
    expect(page.locator(".code .t-b")).to_have_text("echo")
    assert page.evaluate(SCROLLS)
    page.get_by_role("button", name="Wrap").click()
    page.wait_for_function(f"() => !({SCROLLS})()")
    assert fits(page)
    page.reload()
    expect(page.get_by_role("button", name="Unwrap")).to_be_visible()
    assert not page.evaluate(SCROLLS)
    page.get_by_role("button", name="Unwrap").click()
    expect(page.get_by_role("button", name="Wrap")).to_be_visible()
