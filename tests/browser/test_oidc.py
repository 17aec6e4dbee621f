"""Logging in by a provider in a real browser: there by a button, back by itself, with cookies as browsers keep them;
and one's account connected and disconnected on one's own page. The provider is one that nobody here wrote."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from orchestrator.agents import totp
from tests.browser.conftest import DESKTOP, PHONE, open_window
from tests.support.app_fixture import AppFixture, run_app
from tests.support.certified_oidc import certified_provider, settings_for
from tests.support.free_ports import free_port

pytestmark = pytest.mark.thirdparty


@dataclass
class Sso:
    """An install and its provider."""

    install: AppFixture
    issuer: str


@pytest.fixture
def sso(tmp_path: Path) -> Iterator[Sso]:
    """Both answer."""
    port = free_port()
    with certified_provider(f"http://127.0.0.1:{port}/login/oidc/callback") as issuer:
        environment = settings_for(issuer, HERMIT_PORT=str(port))
        with run_app(tmp_path, environment=environment) as install:
            yield Sso(install, issuer)


def sign_in(page: Page, name: str) -> None:
    """At the provider's page."""
    page.get_by_label("Name at the provider").fill(name)
    page.get_by_role("button", name="Sign in").click()


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_from_a_login_link_to_the_button(browser: Browser, sso: Sso, size: ViewportSize) -> None:
    """Invited by a link, connected on the page of welcome, in by the button, disconnected again where there is a
    password; a stranger is told what to do."""
    install, home = sso.install, sso.install.url
    ben = install.services.users.add({"name": "ben", "time_zone": "Europe/Vienna"})
    context = browser.new_context(viewport=size)
    visit = open_window(context, install, also=sso.issuer)
    page = visit.page
    page.goto(f"{home}/login/{install.services.users.make_link(ben.id)}")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(f"{home}/welcome")
    page.get_by_role("button", name="Connect Authentik").click()
    sign_in(page, "ada")
    page.wait_for_url(f"{home}/you#oidc")
    part = page.locator("#oidc")
    expect(part.get_by_text("ada", exact=True)).to_be_visible()
    part.get_by_role("button", name="Disconnect").click()
    page.get_by_role("dialog").get_by_role("button", name="Disconnect").click()
    expect(part.get_by_text("your only way in")).to_be_visible()
    install.services.users.set_password(ben.id, "correct horse battery")
    page.goto("about:blank")
    context.clear_cookies()
    page.goto(f"{home}/login?next=/you")
    page.get_by_role("link", name="Log in with Authentik").click()
    sign_in(page, "ada")
    page.wait_for_url(f"{home}/you")
    expect(part.get_by_text("last used")).to_be_visible()
    part.get_by_role("button", name="Disconnect").click()
    page.get_by_role("dialog").get_by_role("button", name="Disconnect").click()
    expect(part.get_by_role("button", name="Connect")).to_be_visible()
    visit.complaints[:] = [told for told in visit.complaints if "409 (CONFLICT)" not in told]  # the only way in
    page.goto("about:blank")
    context.clear_cookies()
    page.goto(f"{home}/login")
    page.get_by_role("link", name="Log in with Authentik").click()
    sign_in(page, "ada")
    expect(page.get_by_text("Nobody here has connected this account")).to_be_visible()
    page.get_by_role("link", name="Log in another way").click()
    page.wait_for_url(f"{home}/login?next=/")
    context.close()
    visit.complaints[:] = [told for told in visit.complaints if "403 (FORBIDDEN)" not in told]  # the page that says so
    assert visit.complaints == []


def test_a_code_after_the_provider(browser: Browser, sso: Sso) -> None:
    """The ticket for it is kept over the way back, too."""
    install, home = sso.install, sso.install.url
    services = install.services
    services.users.set_password(1, "correct horse battery")
    context = browser.new_context(viewport=DESKTOP)
    visit = open_window(context, install, also=sso.issuer)
    page = visit.page
    visit.let_in()
    page.goto(f"{home}/you")
    part = page.locator("#oidc")
    part.get_by_label("Current password").fill("correct horse battery")
    part.get_by_role("button", name="Connect").click()
    sign_in(page, "ada")
    page.wait_for_url(f"{home}/you#oidc")
    factor = page.locator("#second-factor")
    factor.get_by_label("Current password").fill("correct horse battery")
    factor.get_by_role("button", name="Set it up").click()
    factor.get_by_label("Six digits").fill(code_of(factor.locator("code").inner_text().replace(" ", "")))
    factor.get_by_role("button", name="Turn on").click()
    expect(page.locator("[data-codes-shown]")).to_be_visible()
    codes = page.locator("[data-codes-shown] pre").inner_text().split()
    page.goto("about:blank")
    context.clear_cookies()
    page.goto(f"{home}/login?next=/you")
    page.get_by_role("link", name="Log in with Authentik").click()
    sign_in(page, "ada")
    page.get_by_label("Six digits from your app").fill(codes[0])
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(f"{home}/you")
    context.close()
    assert visit.complaints == []


def code_of(secret: str) -> str:
    """What the person's app shows now."""
    return totp.code_at(secret, int(time.time() // totp.STEP_S))
