"""The first run in a real browser: the link from the terminal, a name, a wrong key and a right one, and the chat."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import DESKTOP, Visit, open_window
from tests.browser.test_dashboard import fits
from tests.support.app_fixture import AppFixture, run_app
from tests.support.scripted_upstream import Reply, Request, ScriptedUpstream, says, status

pytestmark = pytest.mark.browser

KEY = "sk-the-right-key-1"


def guarded(request: Request) -> Reply:
    """Answers whoever has the right key."""
    return says("ready") if request.headers.get("authorization") == f"Bearer {KEY}" else status(401)


@pytest.fixture
def install(tmp_path: Path) -> Iterator[AppFixture]:
    """Nobody has set it up."""
    with run_app(tmp_path, environment={"HERMIT_ADMIN_USER": ""}) as made:
        yield made


def test_from_the_link_in_the_terminal_to_the_first_answer(visit: Visit) -> None:
    """Each step of the first run, as somebody goes through it; afterwards the same is found in Settings."""
    install, page = visit.install, visit.page
    with ScriptedUpstream() as provider:
        provider.answer(guarded)
        page.goto(f"{install.url}/login/{install.services.users.make_link(1)}")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_text("Step 1 of 3")).to_be_visible()
        page.get_by_label("Your name").fill("ada")
        page.get_by_label("Password").fill("correct horse battery")
        assert fits(page)
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_text("Step 2 of 3")).to_be_visible()
        page.get_by_label("Provider").select_option("A server of your own")
        page.get_by_label("Address").fill(provider.base_url)
        page.get_by_label("Key", exact=False).last.fill("sk-a-wrong-key-1")
        expect(page.get_by_text("Leave empty to use the first model that the server offers.")).to_be_visible()
        page.get_by_role("button", name="Test and save").click()
        expect(page.locator("form .trouble")).to_contain_text("refused the key (401)")
        assert install.services.providers.default() == "rehearsal"
        page.get_by_label("Key", exact=False).last.fill(KEY)
        page.get_by_role("button", name="Test and save").click()
        expect(page.get_by_text("It works: scripted-large answered")).to_be_visible()
        assert fits(page)
        assert page.locator("#offered option").count() == 2
        expect(page.get_by_role("button", name="Test and save")).not_to_have_class("primary")
        expect(page.locator("a.primary")).to_have_text("Continue")
        page.get_by_role("link", name="Continue").click()
        expect(page.get_by_label("Token")).to_be_visible()
        page.get_by_role("button", name="Skip").click()
        page.get_by_label("Message to crab").fill("hello")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_text("You said: hello")).to_be_visible()
        assert install.services.users.log_in("ada", "correct horse battery")
        assert (install.services.providers.default(), install.services.install_settings.is_set_up) == ("custom", True)
        page.goto(f"{install.url}/setup")
        expect(page.get_by_role("heading", level=1, name="Settings")).to_be_visible()
        page.get_by_role("button", name="Test A server of your own").click()
        expect(page.locator("[data-tried]")).to_contain_text("It works: scripted-large answered")
        page.get_by_label("What it is for").fill("phone")
        page.get_by_role("button", name="Create token").click()
        expect(page.locator("dialog.link-shown input")).not_to_have_value("")
        page.get_by_role("button", name="Done").click()
        expect(page.get_by_role("button", name="Revoke phone")).to_be_visible()
        assert fits(page)


def test_every_step_is_skipped_in_the_same_way(visit: Visit) -> None:
    """ "Skip" beside the primary button; only steps that lie behind are links."""
    install, page = visit.install, visit.page
    page.goto(f"{install.url}/login/{install.services.users.make_link(1)}")
    page.get_by_role("button", name="Log in").click()
    links = page.locator(".stages a")
    expect(links).to_have_count(0)
    page.get_by_role("link", name="Skip", exact=True).click()
    expect(page.get_by_role("heading", name="Choose a model")).to_be_visible()
    expect(links).to_have_text(["You"])
    expect(page.get_by_role("button", name="Skip setup")).to_be_visible()
    page.get_by_role("link", name="Skip", exact=True).click()
    expect(links).to_have_text(["You", "Model"])
    expect(page.locator("button.primary")).to_have_text("Use this bot")
    page.get_by_role("button", name="Skip", exact=True).click()
    expect(page.get_by_label("Message to crab")).to_be_visible()
    assert install.services.install_settings.is_set_up


def test_what_is_wrong_with_a_field_is_said_beside_it(visit: Visit) -> None:
    """In our own words, until something else is typed; nothing is sent."""
    install, page = visit.install, visit.page
    page.goto(f"{install.url}/login/{install.services.users.make_link(1)}")
    page.get_by_role("button", name="Log in").click()
    name, password = page.locator("[name=name]"), page.locator("[name=password]")
    password.fill("short")
    page.get_by_role("button", name="Continue").click()
    said = page.locator(".field-trouble")
    expect(said).to_have_text(["Type your name, or skip this step.", "Use at least 10 characters."])
    expect(name).to_be_focused()
    assert fits(page)
    name.fill("ada")
    password.fill("long enough now")
    expect(said).to_have_count(0)
    assert not install.services.users.has_password(1)


def test_models_are_seen_with_prices_before_there_is_a_key(visit: Visit) -> None:
    """The recommended one is named and chosen; another one is said to be used instead, until one is typed."""
    install, page = visit.install, visit.page
    page.goto(f"{install.url}/login/{install.services.users.make_link(1)}")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("link", name="Skip", exact=True).click()
    chosen = page.locator("[name=suggested]:checked")
    expect(chosen).to_have_value("anthropic/claude-sonnet-5.5")
    expect(page.get_by_text("Leave empty for the recommended model (anthropic/claude-sonnet-5.5).")).to_be_visible()
    page.get_by_label("Provider").select_option("Anthropic")
    row = page.locator(".model-choice tbody tr").first
    expect(row).to_contain_text("claude-sonnet-5-5 (recommended)")
    expect(row.locator("td")).to_have_text(["claude-sonnet-5-5 (recommended)", "$2", "$10", "1M"])
    expect(page.get_by_role("link", name="console.anthropic.com/settings/keys")).to_have_attribute(
        "href", "https://console.anthropic.com/settings/keys"
    )
    page.get_by_label("claude-haiku-5-5").check()
    expect(page.get_by_text("Leave empty to use claude-haiku-5-5.")).to_be_visible()
    assert fits(page)
    sent = []
    page.on("request", lambda request: sent.append(request.post_data_json) if request.url.endswith("/test") else None)
    page.route(
        "**/test", lambda route: route.fulfill(json={"ok": True, "message": "It works.", "model": "x", "models": []})
    )
    page.get_by_label("Key").fill("sk-ant-1")
    page.get_by_role("button", name="Test and save").click()
    expect(page.get_by_text("It works.")).to_be_visible()
    assert sent == [{"key": "sk-ant-1", "model": "claude-haiku-5-5"}]
    state = install.services.providers.get_state("anthropic")
    assert (state.model, state.is_default) == ("claude-haiku-5-5", True)
    expect(chosen).to_have_value("claude-haiku-5-5")


def test_a_typed_token_is_never_lost_and_its_form_is_checked_first(browser: Browser, tmp_path: Path) -> None:
    """The primary button is the one that uses it; what doesn't look like a token is said beside the field."""
    environment = {"HERMIT_ADMIN_USER": "", "HERMIT_TELEGRAM_API_URL": ""}
    with run_app(tmp_path / "bots", environment=environment) as install:
        context = browser.new_context(viewport=DESKTOP)
        visit = open_window(context, install)
        page = visit.page
        page.goto(f"{install.url}/login/{install.services.users.make_link(1)}")
        page.get_by_role("button", name="Log in").click()
        page.get_by_label("Your name").wait_for()
        page.goto(f"{install.url}/setup/telegram")
        page.get_by_label("Token").fill("123:abc")
        expect(page.locator(".primary")).to_have_text("Use this bot")
        page.locator(".primary").click()
        expect(page.locator(".field-trouble")).to_contain_text("This doesn’t look like a bot token.")
        expect(page.get_by_label("Token")).to_have_value("123:abc")
        assert install.services.bots.list_bots() == []
        context.close()
        assert visit.complaints == []


def test_somebody_who_was_added_is_welcomed(visit: Visit) -> None:
    """A password and the browser's time zone in one step; then the agents."""
    install, page = visit.install, visit.page
    ben = install.services.users.add({"name": "ben"})
    page.goto(f"{install.url}/login/{install.services.users.make_link(ben.id)}")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Welcome, ben")).to_be_visible()
    zone = page.evaluate("Intl.DateTimeFormat().resolvedOptions().timeZone")
    expect(page.get_by_label("Time zone")).to_have_value(zone)
    assert fits(page)
    page.get_by_label("Password").fill("long enough for ben")
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url(f"{install.url}/")
    assert install.services.users.log_in("ben", "long enough for ben")
    assert install.services.users.get(ben.id).time_zone_known


def test_the_address_of_login_links_is_chosen(visit: Visit) -> None:
    """Where it is saved; one that isn't answered to is refused beside the button."""
    install, page = visit.install, visit.page
    install.services.install_settings.finish_set_up(by="ada")
    visit.let_in()
    page.goto(f"{install.url}/people")
    form = page.locator("form", has=page.get_by_label("Address"))
    form.get_by_label("Address").fill("http://nas.local:3000")
    form.get_by_role("button", name="Save").click()
    expect(form.locator(".trouble")).to_contain_text("HERMIT_ALLOWED_HOSTS")
    form.get_by_label("Address").fill("http://localhost:8080")
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Login links start with http://localhost:8080")).to_be_visible()
    assert fits(page)
    visit.complaints = [said for said in visit.complaints if "400" not in said]
