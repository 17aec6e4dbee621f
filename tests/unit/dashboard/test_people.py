"""The page of people: everybody in words, nobody's name as markup, and being logged out everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask import Flask

from dashboard.app import create_app
from tests.support.app_fixture import AppFixture, run_app
from tests.unit.conftest import OWN_ORIGIN, Api, Browser, logged_in, someone
from tests.unit.dashboard.test_audit import page
from tests.unit.dashboard.test_pages import EVIL


def test_everybody_is_told_in_words(webapp: AppFixture, browser: Browser) -> None:
    """Role, clock and Telegram; the first operator and oneself can't be removed there."""
    webapp.services.users.add({"name": EVIL[:60], "telegram_id": 123456789, "time_zone": "Asia/Tokyo"})
    for path in ("/people", "/parts/people"):
        seen = page(browser, path)
        assert "Member · Asia/Tokyo · on Telegram" in seen
        assert "ada you Admin · time zone not known yet" in seen
        assert EVIL[:30] in seen
        assert "Remove ada" not in seen


def test_members_see_none_of_it(webapp: AppFixture, app: Flask, member: Api) -> None:
    """Who else there is, is the operator's to know."""
    client = logged_in(webapp, app, member.user).client
    assert [client.get(path).status_code for path in ("/people", "/parts/people")] == [403, 403]


def test_logging_out_everywhere_ends_sessions_and_links_alone(
    webapp: AppFixture, app: Flask, operator: Api, member: Api, browser: Browser
) -> None:
    """Every browser of theirs and every link on its way; not their tokens, and nobody else's session."""
    users = webapp.services.users
    two = [logged_in(webapp, app, member.user) for _ in range(2)]
    link = users.make_link(member.user.id)
    assert operator.call("DELETE", f"/users/{member.user.id}/sessions").status_code == 204
    assert [one.client.get("/").status_code for one in two] == [303, 303]
    assert app.test_client().post(f"/login/{link}", headers={"Origin": "http://localhost"}).status_code == 404
    assert member.get("/me")["name"] == "ben"
    assert browser.client.get("/").status_code == 200
    assert [row.text for row in webapp.services.audit.search_records(kind="logout")] == [
        "ben was logged out everywhere."
    ]
    assert operator.refused("DELETE", "/users/99/sessions")[0] == 404


def test_a_link_for_somebody_else_is_good_for_a_day(operator: Api, member: Api) -> None:
    """It has to reach them first; one's own is used at once."""
    own, other = operator.post("/login-links"), operator.post("/login-links", {"user": member.user.id})
    assert (own["valid_for_s"], other["valid_for_s"]) == (900, 86_400)
    assert (own["name"], other["name"]) == ("ada", "ben")


def test_a_link_begins_with_the_address_that_was_chosen(
    webapp: AppFixture, operator: Api, member: Api, browser: Browser
) -> None:
    """Until then with one that only this machine opens, and page and answer say so."""
    local = operator.post("/login-links", {"user": member.user.id})
    assert (local["url"].startswith(webapp.services.settings.url), local["is_local"]) == (True, True)
    assert "only opens on the machine HermitShell runs on" in page(browser, "/people")
    assert operator.call("PATCH", "/settings", {"address": "http://LOCALHOST:8080/"}).status_code == 200
    assert operator.get("/settings")["address"] == "http://localhost:8080"
    assert operator.post("/login-links", {"user": member.user.id})["url"].startswith("http://localhost:8080/login/")
    assert operator.call("PATCH", "/settings", {"address": ""}).status_code == 200
    assert operator.post("/login-links", {"user": member.user.id})["url"].startswith(webapp.services.settings.url)


@pytest.mark.parametrize(
    "address",
    ["nas.local", "ftp://localhost", "http://", "http://localhost/x", "http://a:b@localhost", "http://localhost:0",
     "http://localhost:99999", "http://[::1", "http://localhost?x=1"],
)  # fmt: skip
def test_what_is_no_address_is_refused(operator: Api, address: str) -> None:
    """In a sentence that shows one; nothing is kept."""
    status, message = operator.refused("PATCH", "/settings", {"address": address})
    assert (status, "http://nas.local:3000" in message) == (400, True)
    assert operator.get("/settings")["address"].startswith("http://127.0.0.1")


def test_an_address_that_is_not_answered_to_is_refused(operator: Api) -> None:
    """A link that nobody can open helps nobody: the sentence names the setting."""
    status, message = operator.refused("PATCH", "/settings", {"address": "http://nas.local:3000"})
    assert (status, "HERMIT_ALLOWED_HOSTS" in message) == (400, True)


def test_how_the_operator_came_and_what_the_settings_say(tmp_path: Path) -> None:
    """Without a choice the name that the operator's browser uses; HERMIT_PUBLIC_URL comes before everything."""
    with run_app(tmp_path / "a", environment={"HERMIT_ALLOWED_HOSTS": "nas.local"}) as install:
        app = create_app(install.services)
        api = someone(install, app, install.services.users.get_operator())
        ben = install.services.users.add({"name": "ben"})
        made = api.call("POST", "/login-links", {"user": ben.id}, Host="nas.local:3000").get_json()
        assert (made["url"].startswith("http://nas.local:3000/login/"), made["is_local"]) == (True, False)
    public = "https://hermit.example.org"
    with run_app(tmp_path / "b", environment={"HERMIT_PUBLIC_URL": public}) as install:
        app = create_app(install.services)
        api = someone(install, app, install.services.users.get_operator())
        ben = install.services.users.add({"name": "ben"})
        assert api.post("/login-links", {"user": ben.id})["url"].startswith(f"{public}/login/")
        status, message = api.refused("PATCH", "/settings", {"address": "http://localhost:1"})
        assert (status, "HERMIT_PUBLIC_URL" in message) == (409, True)


def test_the_first_login_of_somebody_who_was_added_is_a_welcome(webapp: AppFixture, app: Flask) -> None:
    """With a password and a time zone to set; skipped or done, the next link leads home, as a link elsewhere does."""
    users, own = webapp.services.users, {"Origin": OWN_ORIGIN}
    ben, cem = users.add({"name": "ben"}), users.add({"name": "cem", "role": "operator"})
    webapp.services.install_settings.finish_set_up(by="ada")

    def led(user: int, path: str = "") -> str:
        answer = app.test_client().post(f"/login/{users.make_link(user)}", data={"next": path}, headers=own)
        return str(answer.location)

    assert (led(ben.id, "/agents/crab"), led(ben.id), led(cem.id)) == ("/agents/crab", "/", "/welcome")
    users.log_out_everywhere(ben.id)
    assert led(ben.id) == "/welcome"
    browser = logged_in(webapp, app, ben)
    assert "Welcome, ben" in browser.client.get("/welcome").get_data(as_text=True)
    body = {"password": "long enough for ben", "time_zone": "Europe/Vienna"}
    headers = {"Origin": OWN_ORIGIN, "X-CSRF-Token": browser.csrf}
    assert browser.client.put("/api/me/login", json=body, headers=headers).status_code == 200
    assert users.get(ben.id).time_zone == "Europe/Vienna"
    assert users.log_in("ben", "long enough for ben")
    users.log_out_everywhere(ben.id)
    assert led(ben.id) == "/"
    assert logged_in(webapp, app, ben).client.get("/welcome").location == "/"
