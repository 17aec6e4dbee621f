"""Login links that lead somewhere: in by the button, once, and on to a page of ours alone."""

from __future__ import annotations

import html
import re
from urllib.parse import quote

import pytest
from flask import Flask

from tests.support.app_fixture import AppFixture
from tests.unit.conftest import OWN_ORIGIN, Browser
from tests.unit.dashboard.test_pages import checked

OWN = {"Origin": OWN_ORIGIN}
PAGE = "/agents/crab/apps/a%26b"


def link(webapp: AppFixture, path: str) -> str:
    """A link to this page."""
    return f"/login/{webapp.services.users.make_link(1)}?next={quote(path, safe='')}"


def hidden(page: str) -> str:
    """Where the button leads on to."""
    found = re.search(r'name="next" value="([^"]*)"', page)
    assert found is not None
    return html.unescape(found[1])


def test_the_button_leads_on(app: Flask, webapp: AppFixture) -> None:
    """Looking at it burns nothing; used, it says so, and there is another way to the same page."""
    address, client = link(webapp, PAGE), app.test_client()
    for _ in range(2):
        page = client.get(address).get_data(as_text=True)
        checked(page)
    assert f'href="/login?next={quote(PAGE)}"' in page
    assert client.post(address, data={"next": hidden(page)}, headers=OWN).location == PAGE
    assert app.test_client().post(address, data={"next": PAGE}, headers=OWN).status_code == 404


def test_whoever_is_in_goes_on_at_once(webapp: AppFixture, browser: Browser, app: Flask) -> None:
    """The link is not used for that, not even one that was used long ago."""
    address = link(webapp, PAGE)
    assert browser.client.get(address).location == PAGE
    assert app.test_client().post(address, data={"next": PAGE}, headers=OWN).status_code == 303
    assert browser.client.get(address).location == PAGE


@pytest.mark.parametrize(
    "path",
    ["https://evil.example/", "//evil.example/", "/\\evil.example", "evil", "", "/login", "/login/x", "/a\nb", "\t//x"],
)
def test_it_leads_nowhere_else(app: Flask, webapp: AppFixture, browser: Browser, path: str) -> None:
    """Whatever stands in the link or in the form."""
    address, client = link(webapp, path), app.test_client()
    assert hidden(client.get(address).get_data(as_text=True)) == "/"
    assert browser.client.get(address).status_code == 200
    assert client.post(address, data={"next": path}, headers=OWN).location == "/"
