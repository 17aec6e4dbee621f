"""The second factor over HTTP: set up by its person, asked for at the login by password, with no way around it."""

from __future__ import annotations

import time

import pytest
from flask import Flask

from orchestrator.agents import totp
from tests.support.app_fixture import AppFixture
from tests.unit.conftest import OWN_ORIGIN, Api, Browser, someone
from tests.unit.llm.test_price_table import hermit

PASSWORD = "correct horse battery"


def code_of(secret: str, ahead: int = 0) -> str:
    """What the app shows; with ``ahead`` what it shows next, which is taken too."""
    return totp.code_at(secret, int(time.time() // totp.STEP_S) + ahead)


def test_it_is_set_up_with_the_password_and_a_code(webapp: AppFixture, operator: Api, browser: Browser) -> None:
    """Over the API and on the page, which shows the secret until it counts; other people's are not theirs."""
    assert operator.refused("POST", "/me/totp")[0] == 409
    webapp.services.users.set_password(operator.user.id, PASSWORD)
    assert operator.refused("POST", "/me/totp", {"current": "wrong password"})[0] == 400
    assert operator.refused("PUT", "/me/totp", {"code": "123456"})[0] == 404
    begun = operator.post("/me/totp", {"current": PASSWORD})
    page = browser_of(webapp, operator).client.get("/you").get_data(as_text=True)
    assert begun["secret"][:4] in page
    assert "<svg" in page
    on = operator.call("PUT", "/me/totp", {"code": code_of(begun["secret"])})
    assert len(on.get_json()["recovery_codes"]) == 10
    assert operator.get("/me")["has_totp"]
    page = browser_of(webapp, operator).client.get("/you").get_data(as_text=True)
    assert begun["secret"][:4] not in page
    assert "10 of your recovery codes are left" in page
    assert operator.call("DELETE", "/me/totp", {"code": on.get_json()["recovery_codes"][3]}).status_code == 204
    assert not operator.get("/me")["has_totp"]


def browser_of(webapp: AppFixture, who: Api) -> Browser:
    """The same person on a page."""
    users = webapp.services.users
    session = users.use_link(users.make_link(who.user.id))
    client = who.client.application.test_client()
    client.set_cookie("hermit_session", session)
    return Browser(client, session)


def test_the_login_asks_for_it(webapp: AppFixture, app: Flask, operator: Api) -> None:
    """After the right password there is no session yet, but a page for the code, which leads to where one wanted to go.
    Without the password there is no such page, and a login link asks for nothing."""
    users, factors = webapp.services.users, webapp.services.second_factors
    users.set_password(operator.user.id, PASSWORD)
    secret = factors.begin(operator.user.id)
    factors.confirm(operator.user.id, code_of(secret, -1))
    client, own = app.test_client(), {"Origin": OWN_ORIGIN}
    assert client.get("/login/second").location == "/login"
    assert client.post("/login/second", data={"code": code_of(secret)}, headers=own).location == "/login"
    asked = client.post("/login", data={"name": "ada", "password": PASSWORD, "next": "/audit"}, headers=own)
    assert (asked.status_code, asked.location) == (303, "/login/second?next=%2Faudit")
    assert client.get("/you").status_code == 303
    assert "hermit_session" not in str(asked.headers)
    page = client.get(asked.location).get_data(as_text=True)
    assert 'value="/audit"' in page
    wrong = client.post("/login/second", data={"code": "<b>", "next": "/audit"}, headers=own)
    assert (wrong.status_code, "The code is wrong" in wrong.get_data(as_text=True)) == (401, True)
    assert client.post("/login/second", data={"code": code_of(secret)}).status_code == 403
    let_in = client.post("/login/second", data={"code": code_of(secret), "next": "/audit"}, headers=own)
    assert (let_in.status_code, let_in.location) == (303, "/audit")
    assert client.get("/you").status_code == 200
    link = app.test_client().post(f"/login/{users.make_link(operator.user.id)}", headers=own)
    assert "hermit_session" in str(link.headers)


def test_an_operator_takes_it_away(
    webapp: AppFixture, app: Flask, operator: Api, member: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the page, over the API and in the terminal; a member takes nobody's."""
    users, factors = webapp.services.users, webapp.services.second_factors
    users.set_password(member.user.id, PASSWORD)

    def turn_on() -> None:
        secret = factors.begin(member.user.id)
        factors.confirm(member.user.id, code_of(secret))

    turn_on()
    path = f"/users/{member.user.id}/totp"
    assert f'data-path="/api{path}"' in browser_of(webapp, operator).client.get("/people").get_data(as_text=True)
    assert member.refused("DELETE", path)[0] == 403
    assert operator.call("DELETE", path).status_code == 204
    assert operator.refused("DELETE", path)[0] == 404
    turn_on()
    assert "password alone" in hermit(webapp, capsys, "user", "reset-totp", member.user.name)
    assert not someone(webapp, app, member.user).get("/me")["has_totp"]
