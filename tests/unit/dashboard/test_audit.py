"""The audit log as a page and as files: found by words, paged, in the viewer's clock, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json

import pytest
from flask import Flask

from dashboard.api.audit_export import escape_formula, export_lines
from orchestrator.core.audit import MAX_PAGE, Audit
from orchestrator.core.db import audit_rows
from orchestrator.core.models import CubicleKey
from tests.support.app_fixture import AppFixture
from tests.unit.conftest import Api, Browser, logged_in
from tests.unit.dashboard.test_pages import EVALUATED, EVIL, checked

KEY = CubicleKey("crab", 1)
NOW = 1_772_268_300.0


def page(browser: Browser, path: str) -> str:
    """What a reader of a page sees, blanks made one."""
    answer = browser.client.get(path)
    assert answer.status_code == 200
    return " ".join(checked(answer.get_data(as_text=True)).text.split())


def test_rows_are_readable_and_hostile_ones_stay_text(webapp: AppFixture, browser: Browser) -> None:
    """Kind in words, names of people, facts with their names, times by the viewer's clock."""
    webapp.services.users.update_user(1, {"time_zone": "Asia/Tokyo"})
    webapp.services.audit.record_event("file.uploaded", EVIL, KEY, path=EVIL, expires_at=1772268300)
    seen = page(browser, "/audit?kind=file.uploaded")
    assert "File uploaded · crab · ada" in seen
    assert "Expires atSat 28 Feb 2026, 17:45:00 JST" in seen
    assert seen.count("<script>alert(1)</script>") == 2
    assert EVALUATED not in seen


def test_a_row_is_one_line_and_the_whole_of_it_within(webapp: AppFixture, browser: Browser) -> None:
    """Line breaks are blanks on the line; what it does not say, or says otherwise, is told when it is opened."""
    webapp.services.audit.record_event("test.noted", "one\n\n```\ntwo", KEY)
    webapp.services.audit.record_event("test.noted", "plain", KEY)
    html = browser.client.get("/audit?kind=test.noted").get_data(as_text=True)
    assert ">one ``` two</span>" in html
    assert html.count("Full text") == 1


def test_inner_names_are_told_in_plain_words(webapp: AppFixture, browser: Browser) -> None:
    """Kinds, facts, decisions and lists, none as the program writes them; what is empty is a dash."""
    detail = {"verdict": "ask", "choices": ["a", "b"], "sha256": "", "cost_usd": 0.5}
    with webapp.app._store.writing() as db:
        audit_rows.insert_record(
            db, "asset.sent_on", "x", now=NOW, agent=KEY.agent, user=KEY.user, turn=None, detail=detail
        )
    seen = page(browser, "/audit?kind=asset.sent_on")
    assert "Download redirected · crab" in seen
    for told in ("Decisionasked for approval", "Choicesa, b", "SHA-256–", "Cost in US dollars0.5"):
        assert told in seen, told


def test_all_filters_hold_on_every_page(webapp: AppFixture, browser: Browser) -> None:
    """The way to older rows carries the search; the newest rows can be come back to; nothing is shown twice."""
    for n in range(120):
        webapp.services.audit.record_event("test.noted", f"walrus number n{n}", KEY)
    first = browser.client.get("/audit?q=walrus&agent=crab&kind=test.noted").get_data(as_text=True)
    older = first.split('rel="next"')[0].rpartition('href="')[2].partition('"')[0].replace("&amp;", "&")
    assert older.startswith("/audit?q=walrus&agent=crab&kind=test.noted&before=")
    second = page(browser, older)
    assert ("walrus number n70" in checked(first).text, "walrus number n69" in second) == (True, True)
    assert "Newest" in second
    assert "No results" in page(browser, "/audit?q=walrus&agent=nobody")


def test_a_deleted_agent_and_person_stay_in_the_log(webapp: AppFixture, browser: Browser) -> None:
    """What they did can be found by their name; nothing leads to pages that are gone."""
    ben = webapp.services.users.add({"name": "ben"})
    webapp.services.agents.create({"name": "other"})
    webapp.services.audit.record_event("test.noted", "They were here.", CubicleKey("other", ben.id))
    webapp.services.remove_agent("other")
    webapp.services.remove_user(ben.id)
    seen = page(browser, "/audit?agent=other&kind=test.noted")
    assert "They were here." in seen
    assert "other · somebody who was removed" in seen


def test_members_see_none_of_it(webapp: AppFixture, app: Flask, member: Api) -> None:
    """Neither the page, nor the way to it."""
    client = logged_in(webapp, app, member.user).client
    assert client.get("/audit").status_code == 403
    assert "/audit" not in client.get("/").get_data(as_text=True)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "＝1"])
def test_no_cell_is_a_formula(text: str) -> None:
    """An apostrophe before what a spreadsheet would compute; all else as it is."""
    assert escape_formula(text) == f"'{text}"
    assert [escape_formula(value) for value in ("a=1", "", None, -5)] == ["a=1", "", None, -5]


def test_the_same_rows_as_csv_and_json_lines(webapp: AppFixture, operator: Api) -> None:
    """More than a page of them, under the same filters, whole and in order."""
    count = MAX_PAGE + 3
    for n in range(count):
        webapp.services.audit.record_event("test.noted", f'=walrus "{n}",\nsecond line', KEY, n=n)
    webapp.services.audit.record_event("other.noted", "walrus", KEY)
    saved = operator.call("GET", "/audit?q=walrus&kind=test.noted&format=csv")
    assert saved.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert saved.headers["Content-Disposition"].startswith('attachment; filename="audit-')
    rows = list(csv.DictReader(io.StringIO(saved.get_data(as_text=True), newline="")))
    assert [json.loads(row["detail"])["n"] for row in rows] == list(reversed(range(count)))
    assert rows[0]["text"] == f'\'=walrus "{count - 1}",\nsecond line'
    told = operator.call("GET", "/audit?q=walrus&kind=test.noted&format=jsonl").get_data(as_text=True)
    assert [json.loads(line)["detail"]["n"] for line in told.splitlines()] == list(reversed(range(count)))
    assert json.loads(told.splitlines()[0])["at"].endswith("Z")
    assert operator.refused("GET", "/audit?format=xml") == (400, "format: choose json, jsonl or csv.")


def test_an_export_holds_one_page_at_a_time(webapp: AppFixture) -> None:
    """The next page is read when the one before was taken."""
    for n in range(MAX_PAGE + 1):
        webapp.services.audit.record_event("test.noted", f"n{n}", KEY)
    asked: list[int] = []

    class Watched(Audit):
        def search_records(self, **wanted: object) -> list:  # type: ignore[type-arg]  # it only counts
            asked.append(1)
            return super().search_records(**wanted)  # type: ignore[arg-type]  # as given

    pieces = export_lines(Watched(webapp.app._store).iterate_pages(kind="test.noted"), "jsonl")
    assert next(pieces).count(b"\n") == MAX_PAGE
    assert len(asked) == 1
    assert b"".join(pieces).count(b"\n") == 1
