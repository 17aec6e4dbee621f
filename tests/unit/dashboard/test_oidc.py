"""Logging in by a provider, as a browser walks it: there, back, in; what it keeps meanwhile, and what it is told when
that fails."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from dashboard import csrf
from orchestrator.agents import totp
from orchestrator.core.config import load
from orchestrator.core.finding import FindingState
from orchestrator.core.models import User
from orchestrator.operations.doctor.oidc import examine_oidc
from orchestrator.web.limits import Internet
from tests.support.app_fixture import AppFixture, run_app
from tests.support.oidc_provider import FakeOidcProvider, fake_oidc_provider
from tests.unit.conftest import Api, someone
from tests.unit.llm.test_price_table import hermit

FROM_ELSEWHERE = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


@dataclass
class SsoApp:
    """An install with a provider."""

    install: AppFixture
    provider: FakeOidcProvider

    def browser(self) -> FlaskClient:
        """A fresh one."""
        return self.install.app.dashboard.test_client()

    def get(self, client: FlaskClient, path: str, **headers: str) -> TestResponse:
        """A page at the install's own address."""
        return client.get(path, base_url=self.install.url, headers={k.replace("_", "-"): v for k, v in headers.items()})

    def send(self, client: FlaskClient, method: str, path: str, body: object = None) -> TestResponse:
        """As a script of our page does."""
        found = client.get_cookie("hermit_session", urlsplit(self.install.url).hostname or "")
        headers = {"Origin": self.install.url, "X-CSRF-Token": csrf.token_of(found.value if found else "")}
        return client.open(path, method=method, base_url=self.install.url, json=body, headers=headers)

    def logged_in(self, user: int = 1) -> FlaskClient:
        """Somebody who is in by a link."""
        client = self.browser()
        path = f"/login/{self.install.services.users.make_link(user)}"
        client.post(path, base_url=self.install.url, headers={"Origin": self.install.url})
        return client

    def back(self, client: FlaskClient, url: str) -> TestResponse:
        """The provider sends the browser back."""
        parts = urlsplit(self.provider.let_in(url))
        return client.get(f"{parts.path}?{parts.query}", base_url=self.install.url, headers=FROM_ELSEWHERE)

    def log_in(self, client: FlaskClient, path: str = "/") -> TestResponse:
        """All the way there and back."""
        away = client.get("/login/oidc", query_string={"next": path}, base_url=self.install.url)
        return self.back(client, away.headers["Location"])

    def connect(self, user: int = 1, current: str = "") -> TestResponse:
        """A person connects the account that the provider names."""
        client = self.logged_in(user)
        begun = self.send(client, "POST", "/api/me/oidc", {"current": current})
        assert begun.status_code == 201, begun.get_json()
        return self.back(client, begun.get_json()["url"])


@pytest.fixture
def sso(tmp_path: Path) -> Iterator[SsoApp]:
    """One where ada has connected her account."""
    with fake_oidc_provider() as provider, run_app(tmp_path, environment=provider.environment()) as install:
        made = SsoApp(install, provider)
        assert onwards(made.connect()) == "/you#oidc"
        yield made


def onwards(answer: TestResponse) -> str:
    """The page that the browser opens by itself."""
    assert answer.status_code == 200, answer.text
    found = re.search(r'http-equiv="refresh" content="0;url=([^"]*)"', answer.text)
    assert found is not None, answer.text
    return html.unescape(found[1])


def cookies_of(answer: TestResponse) -> dict[str, str]:
    """What the browser is told to keep, by name."""
    return {line.partition("=")[0]: line for line in answer.headers.getlist("Set-Cookie")}


def test_in_by_the_provider(sso: SsoApp) -> None:
    """To where one wanted; the session is like any other, in the list and in the audit log."""
    client = sso.browser()
    assert 'href="/login/oidc?next=/people"' in sso.get(client, "/login?next=/people").text
    assert "Log in with Authentik" in sso.get(client, "/login").text
    arrived = sso.log_in(client, "/people?x=1&y=2")
    assert onwards(arrived) == "/people?x=1&y=2"
    assert sso.get(client, "/people").status_code == 200
    kept = cookies_of(arrived)
    assert "SameSite=Strict" in kept["hermit_session"]
    assert "HttpOnly" in kept["hermit_session"]
    assert "Max-Age=0" in kept["hermit_oidc"]
    logins = [row.text for row in sso.install.services.audit.search_records(kind="login")]
    assert logins[0] == "ada logged in by Authentik."


def test_what_the_browser_keeps_meanwhile(sso: SsoApp) -> None:
    """Out of reach of scripts, for ten minutes; over https for this host alone."""
    away = cookies_of(sso.get(sso.browser(), "/login/oidc"))["hermit_oidc"]
    assert {"HttpOnly", "SameSite=Lax", "Max-Age=600", "Path=/"} <= set(away.split("; "))


@pytest.mark.parametrize(
    "path", ["//evil.example", "https://evil.example", "/\\evil.example", "/login/x", "javascript:1", "x"]
)
def test_nobody_is_sent_elsewhere_in_the_end(sso: SsoApp, path: str) -> None:
    """Whatever the link to the login said."""
    assert onwards(sso.log_in(sso.browser(), path)) == "/"


def test_an_address_with_quotes_is_no_markup(sso: SsoApp) -> None:
    """It stands in the page that opens the next."""
    assert onwards(sso.log_in(sso.browser(), '/agents/"><b>')) == '/agents/"><b>'


def test_somebody_who_has_connected_nothing(sso: SsoApp) -> None:
    """They are told what to do; they have no session, and what the browser kept is gone."""
    sso.provider.person = {"sub": "somebody", "preferred_username": "ada"}
    client = sso.browser()
    answer = sso.log_in(client, "/people")
    assert (answer.status_code, "Nobody here has connected this account" in html.unescape(answer.text)) == (403, True)
    assert 'href="/login?next=/people"' in answer.text
    assert "hermit_session" not in cookies_of(answer)
    assert "Max-Age=0" in cookies_of(answer)["hermit_oidc"]
    assert sso.get(client, "/people").status_code == 303


def test_an_answer_without_the_browser_that_asked(sso: SsoApp) -> None:
    """A link that somebody else made logs nobody in: not as themselves, not as another."""
    theirs = sso.get(sso.browser(), "/login/oidc").headers["Location"]
    answer = sso.back(sso.browser(), theirs)
    assert answer.status_code == 404
    assert "hermit_session" not in cookies_of(answer)
    connecting = sso.send(sso.logged_in(), "POST", "/api/me/oidc", {}).get_json()
    assert connecting["error"]["code"] == "conflict"


def test_the_provider_is_down(sso: SsoApp) -> None:
    """One sentence says so, and the other ways in are there."""
    sso.provider.raw["/token"] = (500, {}, b"")
    answer = sso.log_in(sso.browser())
    assert (answer.status_code, "Authentik" in answer.text) == (400, True)
    users = sso.install.services.users
    users.set_password(1, "correct horse battery")
    form = {"name": "ada", "password": "correct horse battery"}
    client = sso.browser()
    there = client.post("/login", data=form, base_url=sso.install.url, headers={"Origin": sso.install.url})
    assert there.headers["Location"] == "/"


def test_a_provider_that_cannot_be_reached(tmp_path: Path) -> None:
    """Before anybody is sent there."""
    with fake_oidc_provider() as provider:
        environment = provider.environment()
    with run_app(tmp_path, environment=environment) as install:
        answer = SsoApp(install, provider).get(install.app.dashboard.test_client(), "/login/oidc?next=/you")
        assert answer.status_code == 503
        assert "Authentik can't be used now" in html.unescape(answer.text)
        assert 'href="/login?next=/you"' in answer.text
        found = examine_oidc(install.services.settings, Internet())
        assert [finding.state for finding in found] == [FindingState.FAIL]


def test_a_second_factor_is_asked_for_after_the_provider(sso: SsoApp) -> None:
    """Unless it says that it has asked for more than one proof itself."""
    services = sso.install.services
    services.users.set_password(1, "correct horse battery")
    secret = services.second_factors.begin(1)
    codes = services.second_factors.confirm(1, totp.code_at(secret, int(time.time() // totp.STEP_S)))
    client = sso.browser()
    answer = sso.log_in(client, "/you")
    assert onwards(answer) == "/login/second?next=%2Fyou"
    assert "hermit_session" not in cookies_of(answer)
    assert sso.get(client, "/you").status_code == 303
    asked = sso.get(client, "/login/second?next=%2Fyou")
    assert "Your code" in asked.text
    form = {"code": codes[0], "next": "/you"}
    given = client.post("/login/second", data=form, base_url=sso.install.url, headers={"Origin": sso.install.url})
    assert given.headers["Location"] == "/you"
    assert sso.get(client, "/you").status_code == 200
    logins = [row.text for row in services.audit.search_records(kind="login")]
    assert logins[0] == "ada logged in by Authentik and code."
    sso.provider.claims = {"amr": ["pwd", "mfa"]}
    assert onwards(sso.log_in(sso.browser(), "/you")) == "/you"


def test_somebody_new_is_welcomed(tmp_path: Path) -> None:
    """Where the settings let them in: as a member."""
    with fake_oidc_provider() as provider:
        environment = provider.environment(HERMIT_OIDC_NEW_PEOPLE="members")
        with run_app(tmp_path, environment=environment) as install:
            sso, client = SsoApp(install, provider), install.app.dashboard.test_client()
            provider.person = {"sub": "new", "preferred_username": "Cleo"}
            assert onwards(sso.log_in(client)) == "/welcome"
            page = sso.get(client, "/welcome").text
            assert "Welcome, Cleo" in page
            assert "without one you log in with Authentik" in page
            assert "data-connect-oidc" not in page
            assert onwards(sso.log_in(sso.browser())) == "/"
            assert sso.get(client, "/people").status_code == 403


def test_an_invited_person_connects_on_their_page_of_welcome(sso: SsoApp) -> None:
    """After their login link; then they have a way in of their own."""
    users = sso.install.services.users
    ben = users.add({"name": "ben"})
    client = sso.logged_in(ben.id)
    assert "Connect Authentik" in sso.get(client, "/welcome").text
    sso.provider.person = {"sub": "ben-at-home", "name": "Ben"}
    sso.connect(ben.id)
    assert onwards(sso.log_in(sso.browser())) == "/"
    assert "ben" in [row.text.split()[0] for row in sso.install.services.audit.search_records(kind="login")][:1]


def test_connecting_asks_for_the_password(sso: SsoApp) -> None:
    """Whoever finds an open browser makes no way in of their own."""
    users = sso.install.services.users
    ben = users.add({"name": "ben"})
    users.set_password(ben.id, "correct horse battery")
    client = sso.logged_in(ben.id)
    for body in ({}, {"current": "wrong"}):
        assert sso.send(client, "POST", "/api/me/oidc", body).status_code == 400
    sso.provider.person = {"sub": "ben-at-home"}
    assert onwards(sso.connect(ben.id, "correct horse battery")) == "/you#oidc"


def test_a_failure_to_connect_leads_back(sso: SsoApp) -> None:
    """The account is somebody else's."""
    ben = sso.install.services.users.add({"name": "ben"})
    answer = sso.connect(ben.id)
    assert answer.status_code == 409
    assert ("Not connected" in answer.text, 'href="/you#oidc"' in answer.text) == (True, True)


def test_ones_own_page_and_that_of_people(sso: SsoApp) -> None:
    """Who is connected with what, and how it is taken away."""
    sso.provider.person["preferred_username"] = "<b>ada</b>"
    client = sso.browser()
    sso.log_in(client)
    for path in ("/you", "/parts/oidc", "/people", "/parts/people"):
        page = sso.get(client, path).text
        assert ("&lt;b&gt;ada" in page, "<b>ada" in page) == (True, False)
        assert "Disconnect" in page
    assert sso.send(client, "DELETE", "/api/me/oidc").status_code == 409
    sso.install.services.users.set_password(1, "correct horse battery")
    client = sso.logged_in()
    assert sso.send(client, "DELETE", "/api/me/oidc").status_code == 204
    assert "Connect your account there" in html.unescape(sso.get(client, "/parts/oidc").text)
    assert "Disconnect Authentik" not in sso.get(client, "/parts/people").text


def test_the_api_of_accounts(sso: SsoApp) -> None:
    """Described as it is; a token connects nothing, a member takes nobody's account away."""
    services, app = sso.install.services, sso.install.app.dashboard
    ben: User = services.users.add({"name": "ben"})
    ada, member = someone(sso.install, app, services.users.get(1)), someone(sso.install, app, ben)
    mine = ada.get("/me/oidc")
    assert mine["provider"] == {"name": "Authentik", "issuer": sso.provider.issuer}
    assert (mine["account"]["label"], mine["account"]["used_at"]) == ("ada", None)
    assert ada.get("/me")["oidc_account"] == "ada"
    assert member.get("/me/oidc")["account"] is None
    assert ada.refused("POST", "/me/oidc", {})[0] == 409
    assert ada.refused("DELETE", "/me/oidc") == (
        409,
        "This is your only way in. Set a password or add a passkey first.",
    )
    assert member.refused("DELETE", "/users/1/oidc")[0] == 403
    assert ada.refused("DELETE", f"/users/{ben.id}/oidc")[0] == 404
    assert ada.call("DELETE", "/users/1/oidc").status_code == 204
    assert ada.get("/me")["oidc_account"] is None


def test_without_a_provider_there_is_nothing_of_it(webapp: AppFixture, operator: Api) -> None:
    """No button, no section, no way."""
    sso = SsoApp(webapp, None)  # type: ignore[arg-type]  # there is none
    client = sso.logged_in()
    assert "/login/oidc" not in sso.get(sso.browser(), "/login").text
    for path in ("/you", "/people", "/welcome"):
        assert "oidc" not in sso.get(client, path).text
    for path in ("/login/oidc", "/login/oidc/callback?state=a&code=b"):
        assert sso.get(client, path).status_code == 404
    assert operator.get("/me/oidc") == {"provider": None, "account": None}
    assert sso.send(client, "POST", "/api/me/oidc", {}).status_code == 404
    assert examine_oidc(webapp.services.settings, Internet()) == []


def test_at_another_address_one_is_sent_to_the_right_one_first(sso: SsoApp) -> None:
    """The provider sends people back to one alone, and what they keep has to be kept there."""
    client = sso.browser()
    answer = client.get("/login/oidc?next=/you", base_url="http://localhost")
    assert answer.headers["Location"] == f"{sso.install.url}/login/oidc?next=%2Fyou"
    assert cookies_of(answer) == {}


def test_the_doctor_looks_at_it(sso: SsoApp, tmp_path: Path) -> None:
    """What it says of itself, its keys, the way back, and who gets in."""
    good = examine_oidc(sso.install.services.settings, Internet())
    assert [finding.state for finding in good] == [FindingState.OK]
    assert f"{sso.install.url}/login/oidc/callback" in good[0].text
    environment = sso.provider.environment(HERMIT_OIDC_NEW_PEOPLE="members", HERMIT_PUBLIC_URL="http://nas.local:3000")
    loose = examine_oidc(load(environment, tmp_path), Internet())
    assert [finding.state for finding in loose] == [FindingState.OK, FindingState.WARN, FindingState.WARN]
    assert ("without encryption" in loose[1].text, "becomes a member" in loose[2].text) == (True, True)
    sso.provider.shown_keys = []
    assert [finding.state for finding in examine_oidc(sso.install.services.settings, Internet())] == [FindingState.FAIL]
    sso.provider.metadata = {"issuer": sso.provider.issuer + "/"}
    (other,) = examine_oidc(sso.install.services.settings, Internet())
    assert f"It calls itself {sso.provider.issuer}/. HERMIT_OIDC_ISSUER must be exactly that." in other.text


def test_what_is_asked_of_the_provider(sso: SsoApp) -> None:
    """Its own address for the way back, whatever Host the browser named; and a fresh question each time."""
    asked = [parse_qs(urlsplit(sso.get(sso.browser(), "/login/oidc").headers["Location"]).query) for _ in range(2)]
    assert asked[0]["redirect_uri"] == [f"{sso.install.url}/login/oidc/callback"]
    for name in ("state", "nonce", "code_challenge"):
        assert asked[0][name] != asked[1][name]


def test_behind_a_proxy_what_is_kept_is_bound_to_the_host(tmp_path: Path) -> None:
    """Over https alone; and the way back is the address that the settings say."""
    home = "https://hermit.example"
    with fake_oidc_provider() as provider:
        environment = provider.environment(HERMIT_PUBLIC_URL=home, HERMIT_OIDC_NEW_PEOPLE="members")
        with run_app(tmp_path, environment=environment) as install:
            client, by_proxy = install.app.dashboard.test_client(), {"X-Forwarded-Proto": "https"}
            away = client.get("/login/oidc", base_url=home, headers=by_proxy)
            assert "Secure" in cookies_of(away)["__Host-hermit_oidc"].split("; ")
            back = urlsplit(provider.let_in(away.headers["Location"]))
            assert f"{back.scheme}://{back.netloc}" == home
            arrived = client.get(f"{back.path}?{back.query}", base_url=home, headers={**by_proxy, **FROM_ELSEWHERE})
            assert onwards(arrived) == "/welcome"
            assert "__Host-hermit_session" in cookies_of(arrived)


def test_the_command_line_shows_it_and_takes_it_away(sso: SsoApp, capsys: pytest.CaptureFixture[str]) -> None:
    """By the person's name."""
    assert "ACCOUNT" in (listed := hermit(sso.install, capsys, "user", "list"))
    assert re.search(r"ada +operator +- +UTC +ada", listed)
    assert "can't log in by that account any more" in hermit(sso.install, capsys, "user", "unlink-oidc", "ada")
    assert "ACCOUNT" not in hermit(sso.install, capsys, "user", "list")
