"""Ways in beside the login link, in a real browser: a password with a code, and whom an agent is for."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from orchestrator.agents import totp
from tests.browser.conftest import DESKTOP, PHONE, Visit, open_window
from tests.support.app_fixture import AppFixture

PASSWORD = "correct horse battery"


def test_a_code_beside_the_password(visit: Visit) -> None:
    """Set up on one's own page by the QR code's secret; the recovery codes are shown once and left nowhere; the next
    login asks for a code, and takes a recovery code too."""
    install, page = visit.install, visit.page
    install.services.users.set_password(1, PASSWORD)
    visit.let_in()
    page.goto(f"{install.url}/you")
    part = page.locator("#second-factor")
    part.get_by_label("Current password").fill(PASSWORD)
    part.get_by_role("button", name="Set it up").click()
    picture = part.get_by_role("img", name="QR code").locator("svg")
    expect(picture).to_be_visible()
    inner, outer = (
        picture.evaluate(f"svg => svg.{box}.width") for box in ("viewBox.baseVal", "getBoundingClientRect()")
    )
    assert (inner > 30, outer > 150) == (True, True)  # scaled into its place, and nothing cut off
    secret = part.locator("code").inner_text().replace(" ", "")
    part.get_by_label("Six digits").fill(totp.code_at(secret, int(time.time() // totp.STEP_S)))
    part.get_by_role("button", name="Turn on").click()
    dialog = page.get_by_role("dialog", name="Your recovery codes")
    codes = dialog.locator("pre").inner_text().split()
    assert len(codes) == 10
    dialog.get_by_role("button", name="I have kept them").click()
    expect(part.get_by_text("10 of your recovery codes are left")).to_be_visible()
    assert codes[0] not in page.content()
    page.context.clear_cookies()
    page.goto(f"{install.url}/login?next=/you")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.get_by_label("Six digits from your app").fill(codes[0])
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(f"{install.url}/you")
    expect(page.get_by_text("9 of your recovery codes are left")).to_be_visible()


def test_whom_an_agent_is_for(visit: Visit) -> None:
    """One box for everyone; without it, one for each member. What is saved is what is ticked."""
    install, page = visit.install, visit.page
    ben, _anna = (install.services.users.add({"name": name}).id for name in ("ben", "anna"))
    visit.let_in()
    page.goto(f"{install.url}/agents/crab/settings")
    part = page.locator("#people")
    expect(part.get_by_label("ben")).to_be_hidden()
    part.get_by_label("Everyone").uncheck()
    part.get_by_label("ben").check()
    assert _saved(visit) == (ben,)
    page.reload()
    expect(part.get_by_label("anna")).not_to_be_checked()
    part.get_by_label("ben").uncheck()
    assert _saved(visit) == ()
    part.get_by_label("Everyone").check()
    assert _saved(visit) is None


def _saved(visit: Visit) -> tuple[int, ...] | None:
    """What the button has saved."""
    with visit.page.expect_response(lambda answer: answer.request.method == "PATCH"):
        visit.page.locator("#people").get_by_role("button", name="Save").click()
    return visit.install.services.access.list_people("crab")


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_a_passkey_instead_of_a_password(browser: Browser, install: AppFixture, size: ViewportSize) -> None:
    """Made on one's own page with the browser's own authenticator, and on the login page it gets its person in;
    removed, it doesn't any more, and the button is gone."""
    home = install.url.replace("127.0.0.1", "localhost")
    context = browser.new_context(viewport=size)
    visit = open_window(context, install, also=home)
    page = visit.page
    chrome = page.context.new_cdp_session(page)
    chrome.send("WebAuthn.enable")
    device = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    chrome.send("WebAuthn.addVirtualAuthenticator", {"options": device})
    page.goto(f"{home}/login/{install.services.users.make_link(1)}")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(f"{home}/")
    page.goto(f"{home}/you")
    part = page.locator("#passkeys")
    part.get_by_label("Name").fill("this laptop")
    part.get_by_role("button", name="Add a passkey").click()
    expect(part.get_by_text("this laptop", exact=True)).to_be_visible()
    page.context.clear_cookies()
    page.goto(f"{home}/login?next=/you")
    page.get_by_role("button", name="Log in with a passkey").click()
    page.wait_for_url(f"{home}/you")
    expect(part.get_by_text("last used")).to_be_visible()
    part.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(part.get_by_text("this laptop", exact=True)).to_be_hidden()
    page.context.clear_cookies()
    page.goto(f"{home}/login")
    expect(page.get_by_role("button", name="Log in with a passkey")).to_have_count(0)
    page.goto(f"{install.url}/login")
    expect(page.get_by_role("button", name="Log in with a passkey")).to_have_count(0)
    context.close()
    assert visit.complaints == []
