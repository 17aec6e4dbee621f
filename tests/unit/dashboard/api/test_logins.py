"""Passwords, sessions and tokens over the API: set, seen, ended."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from dashboard.app import create_app
from dashboard.browsers import browser_name
from orchestrator.agents.users import NOTED_EVERY_S
from tests.support.app_fixture import AppFixture, run_app
from tests.unit.conftest import OWN_ORIGIN, Api, Browser, logged_in, someone

PASSWORD = "correct horse battery"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def put(browser: Browser, body: object) -> TestResponse:
    """As our own page does."""
    given = {"Origin": OWN_ORIGIN, "X-CSRF-Token": browser.csrf}
    return browser.client.put("/api/me/login", json=body, headers=given)


def test_a_password_is_set_and_changed_by_whoever_knows_it(webapp: AppFixture, app: Flask, browser: Browser) -> None:
    """The browser gets a new session, all others end; the name goes along once."""
    other = logged_in(webapp, app, webapp.services.users.get_operator())
    users = webapp.services.users
    first = put(browser, {"password": PASSWORD})
    assert (first.status_code, first.get_json()["name"]) == (200, "ada")
    assert browser.client.get("/api/me").status_code == 200
    assert other.client.get("/api/me").status_code == 401
    assert users.of_session(browser.session) is None
    fresh = Browser(browser.client, first.headers["Set-Cookie"].partition("=")[2].partition(";")[0])
    for current in ({}, {"current": "wrong password"}):
        refused = put(fresh, {"password": "another password", **current})
        assert (refused.status_code, "not your password" in refused.get_json()["error"]["message"]) == (400, True)
    assert put(fresh, {"password": "short", "current": PASSWORD}).status_code == 400
    assert put(fresh, {"password": "another password", "current": PASSWORD}).status_code == 200
    assert users.log_in("ada", "another password")


def test_guesses_at_the_present_password_are_throttled(browser: Browser) -> None:
    """As at the door."""
    fresh = Browser(
        browser.client, put(browser, {"password": PASSWORD}).headers["Set-Cookie"].split("=")[1].split(";")[0]
    )
    told = [put(fresh, {"password": PASSWORD, "current": "x"}).status_code for _ in range(11)]
    assert told == [400] * 10 + [429]


def test_what_the_settings_say_is_not_changed_here(tmp_path: Path) -> None:
    """It would be as before at the next start; a member's name is the operator's."""
    with run_app(tmp_path, environment={"HERMIT_ADMIN_PASSWORD": PASSWORD}) as install:
        app = create_app(install.services)
        operator = someone(install, app, install.services.users.get_operator())
        assert "HERMIT_ADMIN_PASSWORD" in operator.refused("PUT", "/me/login", {"password": PASSWORD})[1]
        member = someone(install, app, install.services.users.add({"name": "ben"}))
        assert member.refused("PUT", "/me/login", {"password": PASSWORD, "name": "ada2"})[0] == 403
        assert member.call("PUT", "/me/login", {"password": PASSWORD}).status_code == 200


def test_the_operators_name_of_the_settings_stays(operator: Api) -> None:
    """HERMIT_ADMIN_USER comes first."""
    assert "HERMIT_ADMIN_USER" in operator.refused("PUT", "/me/login", {"password": PASSWORD, "name": "eve"})[1]


def test_sessions_are_seen_and_ended(webapp: AppFixture, app: Flask, operator: Api, member: Api) -> None:
    """One by one, one's own alone; then all of them."""
    users = webapp.services.users
    client = app.test_client()
    given = {"Origin": OWN_ORIGIN, "User-Agent": FIREFOX}
    client.post(f"/login/{users.make_link(1)}", headers=given, environ_base={"REMOTE_ADDR": "192.0.2.7"})
    [seen] = [s for s in client.get("/api/me/sessions").get_json()["sessions"] if s["is_this"]]
    assert (seen["browser"], seen["address"]) == ("Firefox on Linux", "192.0.2.7")
    other = logged_in(webapp, app, users.get_operator())
    assert len(operator.get("/me/sessions")["sessions"]) == 2
    assert member.refused("DELETE", f"/me/sessions/{seen['id']}")[0] == 404
    assert operator.call("DELETE", f"/me/sessions/{seen['id']}").status_code == 204
    assert client.get("/api/me").status_code == 401
    assert other.client.get("/api/me").status_code == 200
    assert operator.call("DELETE", "/me/sessions").status_code == 204
    assert operator.get("/me/sessions") == {"sessions": []}


def test_a_login_ends_what_the_browser_was_before(webapp: AppFixture, browser: Browser) -> None:
    """A session that somebody may have planted or kept is worth nothing afterwards."""
    users = webapp.services.users
    link, form = f"/login/{users.make_link(1)}", {"csrf": browser.csrf}
    assert browser.client.post(link, data=form, headers={"Origin": OWN_ORIGIN}).status_code == 303
    assert users.of_session(browser.session) is None
    assert browser.client.get("/api/me").status_code == 200


def test_everybody_is_logged_out(webapp: AppFixture, app: Flask, operator: Api, member: Api) -> None:
    """Sessions and links of all people; tokens stay."""
    users = webapp.services.users
    inside = [logged_in(webapp, app, user) for user in users.list_users()]
    link = users.make_link(member.user.id)
    assert operator.call("DELETE", "/sessions").status_code == 204
    assert [browser.client.get("/api/me").status_code for browser in inside] == [401, 401]
    assert app.test_client().post(f"/login/{link}", headers={"Origin": OWN_ORIGIN}).status_code == 404
    assert member.get("/me")["name"] == "ben"


def test_tokens_are_listed_and_taken_away(operator: Api) -> None:
    """By name, with when they were used last; never what they are."""
    made = operator.post("/tokens", {"name": "my phone/2"})["token"]
    [listed] = [t for t in operator.get("/tokens")["tokens"] if t["name"] == "my phone/2"]
    assert listed["used_at"] is None
    assert operator.client.get("/api/me", headers={"Authorization": f"Bearer {made}"}).status_code == 200
    body = operator.call("GET", "/tokens").get_data(as_text=True)
    assert made not in body
    assert [t["used_at"] is not None for t in operator.get("/tokens")["tokens"] if t["name"] == "my phone/2"] == [True]
    assert (
        operator.client.delete(
            "/api/tokens/my%20phone/2", headers={"Authorization": f"Bearer {operator.token}"}
        ).status_code
        == 204
    )
    assert operator.client.get("/api/me", headers={"Authorization": f"Bearer {made}"}).status_code == 401
    assert operator.refused("DELETE", "/tokens/nothing")[0] == 404


def test_when_a_session_was_used_is_noted_now_and_then(webapp: AppFixture, browser: Browser) -> None:
    """Not at every request, as each note is a write."""
    users, store = webapp.services.users, webapp.app._store
    browser.client.get("/api/me")
    before = users.list_sessions(1)[0].seen_at
    browser.client.get("/api/me")
    assert users.list_sessions(1)[0].seen_at == before
    with store.writing() as db:
        db.execute("UPDATE sessions SET seen_at = seen_at - ?", (NOTED_EVERY_S + 60,))
    browser.client.get("/api/me")
    assert users.list_sessions(1)[0].seen_at >= before


@pytest.mark.parametrize(
    ("user_agent", "words"),
    [
        (FIREFOX, "Firefox on Linux"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605 Version/19.0 Safari/604",
            "Safari on iPhone",
        ),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537 Chrome/150.0 Safari/537 Edg/150.0", "Edge on Windows"),
        ("Mozilla/5.0 (Linux; Android 16) AppleWebKit/537 Chrome/150.0 Mobile Safari/537", "Chrome on Android"),
        ("curl/8.9", "curl"),
        ("<script>", ""),
        ("", ""),
    ],
)
def test_browsers_by_the_names_that_people_know(user_agent: str, words: str) -> None:
    """Nothing of what they call themselves is repeated."""
    assert browser_name(user_agent) == words
