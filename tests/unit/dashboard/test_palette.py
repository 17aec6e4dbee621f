"""The palette: where one may go, and what was said."""

from __future__ import annotations

from flask import Flask

from tests.support.app_fixture import AppFixture
from tests.unit.conftest import Browser, logged_in
from tests.unit.dashboard.test_agent import page
from tests.unit.dashboard.test_search import said


def test_it_knows_the_pages_that_one_may_open(webapp: AppFixture, browser: Browser, app: Flask) -> None:
    """Those of the install for an operator alone; an agent's pages by its name and theirs."""
    member = logged_in(webapp, app, webapp.services.users.add({"name": "ben"}))
    assert 'href="/settings"' in page(browser, "/parts/palette")
    assert 'href="/settings"' not in page(member, "/parts/palette")
    assert 'href="/agents/crab/files"' in page(member, "/parts/palette?q=crab+fil")
    assert 'href="/agents/crab/files"' not in page(member, "/parts/palette")
    assert "Nothing is called" in page(member, "/parts/palette?q=zzz")


def test_it_finds_what_one_said_oneself(webapp: AppFixture, browser: Browser, app: Flask) -> None:
    """As text, and nobody else's."""
    member = logged_in(webapp, app, webapp.services.users.add({"name": "ben"}))
    said(webapp, "quince <b>jelly</b>")
    shown = page(browser, "/parts/palette?q=quince")
    assert "<mark>quince</mark> &lt;b&gt;jelly" in shown
    assert "<b>" not in shown
    assert "In conversations" not in page(member, "/parts/palette?q=quince")
