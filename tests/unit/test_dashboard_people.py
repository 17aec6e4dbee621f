"""The page of people: everybody in words, nobody's name as markup, and being logged out everywhere."""

from __future__ import annotations

from flask import Flask

from tests.house import PaperHouse
from tests.unit.conftest import Api, Browser, logged_in
from tests.unit.test_dashboard_audit import page
from tests.unit.test_dashboard_pages import EVIL


def test_everybody_is_told_in_words(paper: PaperHouse, browser: Browser) -> None:
    """Role, clock and Telegram; the first operator and oneself can't be removed there."""
    paper.services.people.add({"name": EVIL[:60], "telegram_id": 123456789, "time_zone": "Asia/Tokyo"})
    for path in ("/people", "/parts/people"):
        seen = page(browser, path)
        assert "talks to the agents · Asia/Tokyo · on Telegram" in seen
        assert "ada you runs this install · time zone not known yet" in seen
        assert EVIL[:30] in seen
        assert "Remove ada" not in seen


def test_members_see_none_of_it(paper: PaperHouse, app: Flask, member: Api) -> None:
    """Who else there is, is the operator's to know."""
    client = logged_in(paper, app, member.user).client
    assert [client.get(path).status_code for path in ("/people", "/parts/people")] == [403, 403]


def test_logging_out_everywhere_ends_sessions_and_links_alone(
    paper: PaperHouse, app: Flask, operator: Api, member: Api, browser: Browser
) -> None:
    """Every browser of theirs and every link on its way; not their tokens, and nobody else's session."""
    people = paper.services.people
    two = [logged_in(paper, app, member.user) for _ in range(2)]
    link = people.make_link(member.user.id)
    assert operator.call("DELETE", f"/users/{member.user.id}/sessions").status_code == 204
    assert [one.client.get("/").status_code for one in two] == [303, 303]
    assert app.test_client().post(f"/login/{link}", headers={"Origin": "http://localhost"}).status_code == 404
    assert member.get("/me")["name"] == "ben"
    assert browser.client.get("/").status_code == 200
    assert [row.text for row in paper.services.audit.search(kind="logout")] == ["ben was logged out everywhere."]
    assert operator.refused("DELETE", "/users/99/sessions")[0] == 404
