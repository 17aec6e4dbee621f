"""Somebody who has never seen it: from the link in the terminal to a chart in the conversation, counted in clicks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import docker
import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.conftest import PHONE
from tests.integration.conftest import client, image_tag, machine  # noqa: F401 - fixtures, used by their names
from tests.support.real_app import AppProcess, process_install

pytestmark = pytest.mark.docker

MOST_CLICKS = 9


@pytest.fixture
def install(
    tmp_path_factory: pytest.TempPathFactory,
    client: docker.DockerClient,  # noqa: F811 - the fixture above
    image_tag: Callable[[str], str],  # noqa: F811 - the fixture above
) -> Iterator[AppProcess]:
    """A real install that nobody has set up; its model is the one of the demo."""
    image_tag("base")
    settings = {"HERMIT_LLM_BASE_URL": "", "HERMIT_LLM_PROVIDER": "", "HERMIT_LLM_MODEL": "", "HERMIT_ADMIN_USER": ""}
    with process_install(tmp_path_factory.mktemp("home"), client, settings) as made:
        yield made


def test_a_chart_in_the_chat_is_a_few_clicks_away(browser: Browser, install: AppProcess) -> None:
    """On a phone, with every step of the set-up skipped."""
    clicks = 0

    def click(what: Locator) -> None:
        nonlocal clicks
        what.click()
        clicks += 1

    link = install.api.post("/login-links", {"user": 1})["url"]
    context = browser.new_context(viewport=PHONE)
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(link)
    click(page.get_by_role("button", name="Log in"))
    for step in (1, 2, 3):
        expect(page.get_by_text(f"Step {step} of 3")).to_be_visible(timeout=60_000)
        click(page.get_by_text("Skip", exact=True))
    click(page.locator(".first-task", has_text="A chart of numbers").first)
    picture = page.locator(".turn .reply ~ * img, .turn img[src*='/deliver'], .turn .gallery img").first
    expect(picture).to_be_visible(timeout=120_000)
    assert picture.evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 100
    context.close()
    assert clicks <= MOST_CLICKS
