"""Logins by a certified OpenID provider that nobody here wrote, over real connections: it decides by itself what it
takes of our questions, and what it says."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import requests

from orchestrator.operations.doctor.oidc import examine_oidc
from orchestrator.web.limits import Internet
from tests.support.app_fixture import AppFixture, run_app
from tests.support.certified_oidc import certified_provider, settings_for
from tests.support.free_ports import free_port

pytestmark = pytest.mark.thirdparty


@dataclass
class Walk:
    """Somebody's browser, without its eyes."""

    install: AppFixture
    session: requests.Session = field(default_factory=requests.Session)

    def log_in(self, name: str) -> requests.Response:
        """By the provider, where they sign in as this name; where that ends."""
        return self.sign_in(f"{self.install.url}/login/oidc", name)

    def sign_in(self, url: str, name: str) -> requests.Response:
        """At the provider's own page, which this leads to."""
        page = self.session.get(url, timeout=20)
        if not page.url.startswith(self.install.url):
            assert "Name at the provider" in page.text, page.text
            page = self.session.post(page.url, data={"name": name}, timeout=20)
        return page

    def log_in_by_link(self, user: int) -> None:
        """As somebody who was invited."""
        url = f"{self.install.url}/login/{self.install.services.users.make_link(user)}"
        assert self.session.post(url, headers={"Origin": self.install.url}, timeout=20).ok

    def connect(self, name: str) -> requests.Response:
        """The account that they sign in to at the provider becomes theirs here."""
        page = self.session.get(f"{self.install.url}/you", timeout=20).text
        token = re.search(r'name="csrf" content="([^"]+)"', page)
        assert token is not None
        headers = {"Origin": self.install.url, "X-CSRF-Token": token[1]}
        begun = self.session.post(f"{self.install.url}/api/me/oidc", json={}, headers=headers, timeout=20)
        assert begun.status_code == 201, begun.text
        return self.sign_in(begun.json()["url"], name)

    def me(self) -> str:
        """Who the install says that they are; empty for nobody."""
        said = self.session.get(f"{self.install.url}/api/me", timeout=20)
        return str(said.json()["name"]) if said.ok else ""


@contextmanager
def running(folder: Path, **settings: str) -> Iterator[AppFixture]:
    """An install and its provider."""
    port = free_port()
    with certified_provider(f"http://127.0.0.1:{port}/login/oidc/callback") as issuer:
        environment = settings_for(issuer, HERMIT_PORT=str(port), **settings)
        with run_app(folder, environment=environment) as install:
            yield install


def test_connected_once_one_gets_in_by_it(tmp_path: Path) -> None:
    """An invited person connects, logs out, and comes back by the provider; nobody else does."""
    with running(tmp_path) as install:
        ben = install.services.users.add({"name": "ben"})
        first = Walk(install)
        first.log_in_by_link(ben.id)
        assert 'content="0;url=/you#oidc"' in first.connect("ada").text
        again = Walk(install)
        assert again.log_in("ada").ok
        assert again.me() == "ben"
        stranger = Walk(install)
        refused = stranger.log_in("cleo")
        assert (refused.status_code, stranger.me()) == (403, "")
        assert "Nobody here has connected this account" in html.unescape(refused.text)
        account = install.services.oidc.account_of(ben.id)
        assert account is not None
        assert (account.subject, account.label) == ("ada", "ada")
        assert [str(finding.state) for finding in examine_oidc(install.services.settings, Internet())] == ["ok"]


def test_a_group_that_it_tells_at_its_userinfo_endpoint(tmp_path: Path) -> None:
    """As the standard has it, what a scope asks for is not in the ID token."""
    with running(tmp_path, HERMIT_OIDC_GROUP="family") as install:
        inside, outside = Walk(install), Walk(install)
        assert inside.log_in("ada").ok
        assert inside.me() == "ada 2"
        refused = outside.log_in("cleo")
        assert (refused.status_code, "not in the group" in refused.text, outside.me()) == (403, True, "")


def test_whom_it_does_not_let_in(tmp_path: Path) -> None:
    """It says so in its own words, of which we repeat none."""
    with running(tmp_path, HERMIT_OIDC_NEW_PEOPLE="members") as install:
        walk = Walk(install)
        refused = walk.log_in("nobody")
        assert (refused.status_code, "(access_denied)" in refused.text) == (400, True)
        assert "of that name" not in refused.text


def test_an_answer_that_is_brought_twice(tmp_path: Path) -> None:
    """With what the first browser kept: by then it counts no more."""
    with running(tmp_path, HERMIT_OIDC_NEW_PEOPLE="members") as install:
        walk, thief = Walk(install), Walk(install)
        page = walk.session.get(f"{install.url}/login/oidc", timeout=20)
        kept = walk.session.cookies.get("hermit_oidc")
        assert kept
        arrived = walk.session.post(page.url, data={"name": "cleo"}, timeout=20)
        assert walk.me() == "cleo"
        thief.session.cookies.set("hermit_oidc", kept, domain="127.0.0.1")
        assert thief.session.get(arrived.url, timeout=20).status_code == 404
        assert thief.me() == ""


def test_a_secret_that_is_wrong(tmp_path: Path) -> None:
    """Whoever runs the install is told which setting to look at."""
    with running(tmp_path, HERMIT_OIDC_CLIENT_SECRET="wrong", HERMIT_OIDC_NEW_PEOPLE="members") as install:
        refused = Walk(install).log_in("ada")
        assert (refused.status_code, "HERMIT_OIDC_CLIENT_SECRET" in refused.text) == (503, True)
