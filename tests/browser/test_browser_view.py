"""A person watches an agent's real browser on the dashboard, takes it over and gives it back, on a phone and on a
desktop: pictures under the page's own policy, keys, a link to another site, a dialog.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from orchestrator.core.models import CubicleKey
from tests.browser.conftest import DESKTOP, PHONE, watched
from tests.integration.conftest import client, image_tag, machine  # noqa: F401 - fixtures, used by their names
from tests.integration.test_browsing import (  # noqa: F401 - fixtures, used by their names
    heads,
    install,
    talker,
    town,
)
from tests.support.browsing import approved, run
from tests.support.real_app import RealApp, Talker, eventually

pytestmark = pytest.mark.docker


@pytest.fixture(autouse=True)
def _leaves_no_thread() -> None:
    """Not asked here: an install that a whole module keeps starts its wakers when they are first needed."""


@pytest.fixture(params=[PHONE, DESKTOP], ids=["phone", "desktop"])
def page(request: pytest.FixtureRequest, browser: Browser, install: RealApp) -> Iterator[Page]:  # noqa: F811
    """A window that is logged in; at the end nothing may have been complained about."""
    is_phone = request.param == PHONE
    context = browser.new_context(viewport=request.param, has_touch=is_phone, is_mobile=is_phone)
    made = context.new_page()
    users, settings = install.app.services.users, install.app.services.settings
    complaints = watched(made, settings.url, also=f"http://localhost:{settings.preview_port}/a/")
    session = users.new_session(users.get_operator().id, "link")
    context.add_cookies([{"name": "hermit_session", "value": session, "url": settings.url}])
    yield made
    context.close()
    assert [said for said in complaints if "'webrtc'" not in said] == []  # a word of the policy that is new to some


@pytest.fixture
def look(request: pytest.FixtureRequest, page: Page) -> Callable[[str], None]:
    """Keeps a picture of the window where ``HERMIT_TEST_PICTURES`` names a folder."""
    import os

    folder, name = os.environ.get("HERMIT_TEST_PICTURES"), request.node.callspec.id

    def keep(what: str) -> None:
        if folder:
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                page.screenshot(path=f"{folder}/{what}-{name}-{scheme}.png")

    return keep


def has_picture(page: Page) -> bool:
    """Something is drawn."""
    return bool(page.evaluate("document.querySelector('[data-browser-picture]')?.naturalWidth > 0"))


def test_a_page_without_a_browser_teaches(
    page: Page,
    install: RealApp,  # noqa: F811
    talker: Talker,  # noqa: F811
    look: Callable[[str], None],
) -> None:
    """And shows the browser as soon as one opens."""
    page.goto(f"{install.app.services.settings.url}/agents/{talker.name}/browser")
    expect(page.get_by_text("No page is open.")).to_be_visible()
    look("empty")
    approved(install, talker, "open", "http://shop.test/")
    expect(page.get_by_role("button", name="Take over")).to_be_visible()
    eventually(lambda: has_picture(page))
    expect(page.get_by_role("img", name="The page “Shop”")).to_be_visible()


def test_a_person_takes_over_and_gives_back(
    page: Page,
    install: RealApp,  # noqa: F811
    talker: Talker,  # noqa: F811
    look: Callable[[str], None],
) -> None:
    """From the sign in the chat to what the agent finds afterwards."""
    page.goto(f"{install.app.services.settings.url}/agents/{talker.name}")
    approved(install, talker, "open", "http://shop.test/")
    sign = page.locator(".browser-sign")
    expect(sign).to_contain_text("shop.test")
    look("chat")
    sign.get_by_role("link", name="Watch").click()
    page.wait_for_url("**/browser")
    eventually(lambda: has_picture(page))
    address = page.get_by_label("Address")
    expect(address).to_have_value("http://shop.test/")
    expect(address).not_to_be_editable()
    look("watching")
    page.get_by_role("button", name="Take over").click()
    expect(page.get_by_text("You have the browser.")).to_be_visible()
    keys = page.get_by_label("The page. Press F6 to leave it.")
    expect(keys).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("4é2")
    look("held")
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("button", name="Take over")).to_be_visible()
    assert "4é2" in run(install, talker, "snapshot", "--full").out
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_login_is_kept_with_done(
    page: Page,
    install: RealApp,  # noqa: F811
    talker: Talker,  # noqa: F811
    look: Callable[[str], None],
) -> None:
    """Only where the person wants it: offered while they have the browser, off at first, and not again when it is
    kept. It is listed with the names of its cookies, and forgotten there."""
    approved(install, talker, "open", "http://shop.test/")
    page.goto(f"{install.app.services.settings.url}/agents/{talker.name}/browser")
    kept, section = install.app.services.kept_logins, page.locator("#logins")
    key = CubicleKey(talker.name, talker.user)
    keep = page.get_by_role("checkbox", name="Keep me logged in on shop.test")
    expect(page.get_by_role("button", name="Take over")).to_be_visible()
    expect(keep).to_be_hidden()
    page.get_by_role("button", name="Take over").click()
    expect(keep).not_to_be_checked()
    look("keep")
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("button", name="Take over")).to_be_visible()
    assert kept.list_logins(key) == []
    page.get_by_role("button", name="Take over").click()
    keep.check()
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("button", name="Take over")).to_be_visible()
    expect(section.get_by_text("shop.test", exact=True)).to_be_visible()
    assert [one.site for one in kept.list_logins(key)] == ["shop.test"]
    page.get_by_role("button", name="Take over").click()
    expect(page.get_by_text("You have the browser.")).to_be_visible()
    expect(keep).to_be_hidden()
    cookie = '{"expression": "document.cookie = \'basket=7\'"}'
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("button", name="Take over")).to_be_visible()
    assert run(install, talker, "cdp", "Runtime.evaluate", cookie).code == 0
    page.reload()
    section.get_by_text("Names of the cookies").click()
    expect(section.get_by_text("basket")).to_be_visible()
    look("kept")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    section.get_by_role("button", name=re.compile("Forget.*shop.test")).click()
    page.locator("dialog.ask").get_by_role("button", name="Forget").click()
    expect(section.get_by_text("shop.test", exact=True)).to_have_count(0)
    assert kept.list_logins(key) == []
    section.get_by_label("Site").fill("www.other.test")
    section.get_by_role("button", name="Keep its logins").click()
    expect(section.get_by_text("other.test", exact=True)).to_be_visible()
    expect(section.get_by_label("Site")).to_have_value("")


def test_a_persons_pointer_and_sites(
    page: Page,
    install: RealApp,  # noqa: F811
    talker: Talker,  # noqa: F811
    look: Callable[[str], None],
) -> None:
    """A click on a link to another site asks on the page; an address of their own goes there; a dialog is a card."""
    approved(install, talker, "open", "http://shop.test/")
    box = run(
        install,
        talker,
        "cdp",
        "Runtime.evaluate",
        '{"expression": "JSON.stringify(document.links[1].getBoundingClientRect())", "returnByValue": true}',
    ).out
    x, y, width, height = (
        float(re.search(rf'\\"{name}\\":([\d.]+)', box)[1])  # type: ignore[index]
        for name in ("x", "y", "width", "height")
    )
    page.goto(f"{install.app.services.settings.url}/agents/{talker.name}/browser")
    page.get_by_role("button", name="Take over").click()
    expect(page.get_by_text("has run scripts of its own")).to_be_visible()
    look("scripted")
    picture = page.locator("[data-browser-picture]")
    expect(picture).to_be_visible()
    shown = picture.bounding_box()
    assert shown is not None
    at = {"x": (x + width / 2) / 1280 * shown["width"], "y": (y + height / 2) / 800 * shown["height"]}
    if page.evaluate("matchMedia('(pointer: coarse)').matches"):
        picture.tap(position=at)  # type: ignore[arg-type]
    else:
        picture.click(position=at)  # type: ignore[arg-type]
    expect(page.get_by_text("The page wants to open another site:")).to_be_visible()
    expect(page.locator("[data-browser-wanted-url]")).to_have_text("http://other.test/")
    look("wanted")
    page.get_by_role("button", name="Open it", exact=True).click()
    expect(page.get_by_label("Address")).to_have_value("http://other.test/")
    expect(page.get_by_text("has run scripts of its own")).to_be_hidden()
    page.get_by_label("Address").fill("http://shop.test/cart")
    page.keyboard.press("Enter")
    expect(page.get_by_role("img", name="The page “Cart”")).to_be_visible()
    page.get_by_label("The page. Press F6 to leave it.").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The page says:")).to_be_visible()
    look("dialog")
    page.get_by_role("button", name="OK").click()
    expect(page.get_by_role("img", name="The page “true”")).to_be_visible()
    page.get_by_role("button", name="Done").click()
    page.get_by_label("More about the browser").click()
    look("menu")
    page.get_by_role("button", name="Close the browser").click()
    page.get_by_role("button", name="Close it").click()
    expect(page.get_by_text("No page is open.")).to_be_visible()
