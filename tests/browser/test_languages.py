"""The dashboard in another language, in a browser: chosen, kept, said by the scripts too, and laid out well."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from orchestrator.languages.speech import SpokenLanguages
from orchestrator.languages.table import ENGLISH, TRANSLATED, Language
from tests.browser.conftest import Visit
from tests.browser.test_dashboard import fits
from tests.support.app_fixture import AppFixture
from tests.support.pseudo_language import PSEUDO, PseudoLanguages, pseudo

pytestmark = pytest.mark.browser

AXE = Path(__file__).parents[1] / "vendor" / "axe-core" / "axe.min.js"
ASK_AXE = """async () => {
  const rules = ["html-has-lang", "html-lang-valid", "html-xml-lang-mismatch", "valid-lang"];
  const found = await axe.run(document, { runOnly: rules });
  return found.violations.flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html}`));
}"""
WALKED = ("/", "/agents/crab", "/agents/crab/settings", "/agents/crab/calendar", "/you", "/settings")


def speak(install: AppFixture, languages: SpokenLanguages) -> None:
    """The dashboard is in these languages from now on."""
    install.app.dashboard.extensions["hermitshell.languages"] = languages


def choose(visit: Visit, language: Language) -> None:
    """Before logging in, as somebody does who can't read the page."""
    visit.page.goto(f"{visit.install.url}/login")
    choice = visit.page.locator("[data-choose-language]")
    expect(choice.locator("option:checked")).to_have_text("Language of the browser")
    choice.select_option(language.tag)
    expect(visit.page.locator("html")).to_have_attribute("lang", language.tag)


def open_page(page: Page, url: str) -> None:
    """It is there and at work."""
    page.goto(url)
    expect(page.locator("html")).to_have_attribute("data-ready", "")


def test_a_language_is_chosen_at_the_door(visit: Visit) -> None:
    """It holds from the login on, for the pages and for what their scripts say; one file more is fetched, once."""
    speak(visit.install, PseudoLanguages())
    page, fetched = visit.page, list[str]()
    page.on("request", lambda sent: fetched.append(sent.url) if "/texts." in sent.url else None)
    choose(visit, PSEUDO)
    users = visit.install.services.users
    page.goto(f"{visit.install.url}/login/{users.make_link(users.get_operator().id)}")
    page.get_by_role("button", name=pseudo("Log in")).click()
    page.wait_for_url(f"{visit.install.url}/")
    expect(page.get_by_role("heading", name=pseudo("Your agents"))).to_be_visible()
    open_page(page, f"{visit.install.url}/agents/crab/settings")
    field = page.get_by_label(pseudo("US dollars per day"))
    field.fill("")
    field.locator("xpath=ancestor::form").get_by_role("button", name=pseudo("Save")).click()
    expect(page.locator(".field-trouble").first).to_have_text(pseudo("Fill in this field."))
    assert len(set(fetched)) == 1
    assert json.loads(page.evaluate("JSON.stringify(hermitTexts)"))["Copied"] == pseudo("Copied")


def test_english_fetches_nothing_for_it(visit: Visit) -> None:
    """And with one language alone there is nothing to choose at the door."""
    fetched = list[str]()
    visit.page.on("request", lambda sent: fetched.append(sent.url))
    visit.page.goto(f"{visit.install.url}/login")
    speak(visit.install, SpokenLanguages(offered=(ENGLISH,)))
    visit.page.goto(f"{visit.install.url}/login")
    expect(visit.page.locator("[data-choose-language]")).to_have_count(0)
    visit.log_in()
    assert [url for url in fetched if "/texts." in url] == []


def test_a_person_chooses_under_you(visit: Visit) -> None:
    """It is theirs on every browser, before what this one was told; the whole page comes anew."""
    visit.log_in()
    page = visit.page
    open_page(page, f"{visit.install.url}/you#language")
    form = page.locator("#language form")
    form.get_by_label("Language").select_option("en")
    with page.expect_response(lambda answer: answer.url.endswith("/api/me")):
        form.get_by_role("button", name="Save").click()
    expect(page.locator("html")).to_have_attribute("data-ready", "")
    users = visit.install.services.users
    assert users.get_operator().language == "en"
    expect(page.locator("#language option:checked")).to_have_text("English")


@pytest.mark.parametrize("language", [*TRANSLATED, PSEUDO], ids=lambda one: one.tag)
def test_pages_hold_in_every_language(visit: Visit, language: Language) -> None:
    """With long words and without spaces nothing scrolls sideways, and every tag of a language is right."""
    speak(visit.install, PseudoLanguages() if language is PSEUDO else SpokenLanguages(offered=(ENGLISH, language)))
    choose(visit, language)
    users = visit.install.services.users
    token = users.use_link(users.make_link(1))
    visit.page.context.add_cookies([{"name": "hermit_session", "value": token, "url": visit.install.url}])
    for path in WALKED:
        open_page(visit.page, f"{visit.install.url}{path}")
        expect(visit.page.locator("html")).to_have_attribute("lang", language.tag)
        visit.page.evaluate(AXE.read_text(encoding="utf-8"))
        wrong: list[str] = visit.page.evaluate(ASK_AXE)
        assert wrong == [] or language is PSEUDO, wrong  # "xx" is nobody's tag
        assert fits(visit.page), path
