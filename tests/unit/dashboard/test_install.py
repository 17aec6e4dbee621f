"""The install's settings as a page: which keys are set and never what they are, prices, how the parts are."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask import Flask

from dashboard.app import create_app
from tests.support.app_fixture import AppFixture, run_app
from tests.unit.conftest import Api, Browser, logged_in
from tests.unit.dashboard.test_audit import page

SECRET = "sk-" + "very-secret-" * 3


def test_a_key_is_set_or_not_and_never_shown(tmp_path: Path) -> None:
    """Neither on the page nor in what it is made of; where the environment has one, that is said."""
    given = {"GROQ_API_KEY": SECRET, "HERMIT_LLM_API_KEY": SECRET + "2", "HERMIT_LLM_BASE_URL": "http://127.0.0.1:9/v1"}
    with run_app(tmp_path, environment=given) as install:
        install.services.providers.set_key("mistral", SECRET, "", by="ada")
        browser = logged_in(install, create_app(install.services), install.services.users.get_operator())
        html = browser.client.get("/settings").get_data(as_text=True)
        assert "very-secret" not in html
        seen = page(browser, "/settings")
    assert "key saved here" in seen
    assert "Groq" in seen


@pytest.mark.parametrize("path", ["/settings", "/parts/prices"])
def test_members_see_none_of_it(webapp: AppFixture, app: Flask, member: Api, path: str) -> None:
    """It is the operator's."""
    assert logged_in(webapp, app, member.user).client.get(path).status_code == 403


def test_what_does_not_work_is_said(webapp: AppFixture, browser: Browser) -> None:
    """The page is there, with the sentence that says what to do."""
    assert "DockerOK" in page(browser, "/settings")
    webapp.engine.is_broken = True
    assert "DockerThe Docker engine does not answer. Start it, then try again." in page(browser, "/settings")


def test_prices_of_ones_own_come_first(webapp: AppFixture, browser: Browser) -> None:
    """With a way to take them away again; ours are below."""
    assert "No prices of your own" in page(browser, "/parts/prices")
    webapp.services.prices.set_price("custom", "own/model-*", {"in": 3, "out": 15.5}, by="ada")
    html = browser.client.get("/parts/prices").get_data(as_text=True)
    assert 'data-path="/api/prices/custom/own/model-%2A"' in html
    assert "own/model-* custom$3 in, $15.5 out" in page(browser, "/settings")
