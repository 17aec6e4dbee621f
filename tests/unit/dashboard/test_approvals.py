"""The inbox of questions with all that was decided before: exact, in pages, and everybody's own alone."""

from __future__ import annotations

import time
from typing import Any

from flask import Flask

from orchestrator.approvals import history_rows
from orchestrator.approvals.history_rows import ApprovalFilter
from orchestrator.core.models import ApprovalStatus, CubicleKey, User
from tests.support.app_fixture import AppFixture
from tests.unit.conftest import Api, Browser, logged_in
from tests.unit.dashboard.test_audit import page

HIDDEN = "rm -rf work \u202e# fdp.exe"


def asked(webapp: AppFixture, command: str, user: int = 1, *, agent: str = "crab") -> str:
    """A question that waits; its id."""
    key, before = CubicleKey(agent, user), {found.id for found in webapp.services.approvals.list_approvals()}
    webapp.plays[command] = lambda scene: scene.say(f"ran: {scene.run(1, command)}")
    webapp.services.turns.submit(key, command, source="dashboard")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for found in webapp.services.approvals.list_approvals(status=ApprovalStatus.PENDING):
            if found.id not in before:
                return found.id
        time.sleep(0.02)
    raise AssertionError("nothing was asked")


def decided(webapp: AppFixture, command: str, user: int = 1, *, approve: bool, by: User | None = None) -> str:
    """A question that was answered on Telegram; its id."""
    question = asked(webapp, command, user)
    by = by or webapp.services.users.get_operator()
    webapp.services.approvals.decide(question, approve=approve, by=by, surface="telegram")
    return question


def test_what_waits_is_on_top_and_what_would_else(webapp: AppFixture, browser: Browser) -> None:
    """The card is there with its exact text; without one the page says what it is for."""
    assert "Nothing is waiting for you." in page(browser, "/approvals")
    assert "No decisions yet." in page(browser, "/approvals")
    question = asked(webapp, HIDDEN)
    for path in ("/approvals", "/parts/inbox"):
        html = browser.client.get(path).get_data(as_text=True)
        assert f'data-approval="{question}"' in html
        assert 'title="U+202E right-to-left override">\\u202e</mark>' in html


def test_a_kind_without_a_card_of_its_own(webapp: AppFixture, browser: Browser) -> None:
    """Its exact text stands there as of any other, and its facts as text."""
    approvals = webapp.services.approvals
    with webapp.app._store.writing() as db:
        approvals.ask_person(
            db,
            CubicleKey("crab", 1),
            None,
            kind="booking",
            text=HIDDEN,
            reason="<b>A table</b>",
            detail={},
            timeout_s=60,
        )
    html = browser.client.get("/approvals").get_data(as_text=True)
    assert 'title="U+202E right-to-left override">\\u202e</mark>' in html
    assert "&lt;b&gt;A table&lt;/b&gt;" in html
    assert "wants HermitShell to do this" in page(browser, "/approvals")


def test_how_it_ended_is_told_whole(webapp: AppFixture, browser: Browser, member: Api) -> None:
    """Its exact text with what hides in it, why, who asked in whose conversation, who decided and where."""
    decided(webapp, HIDDEN, member.user.id, approve=False)
    html = browser.client.get("/parts/approvals").get_data(as_text=True)
    assert 'title="U+202E right-to-left override">\\u202e</mark>' in html
    seen = page(browser, "/parts/approvals")
    assert "crab, in the conversation with ben" in seen
    assert "Denied byada, on Telegram, " in seen
    assert "/agents/crab/turns/1" in html


def test_everybody_finds_their_own(webapp: AppFixture, app: Flask, browser: Browser, member: Api) -> None:
    """A member neither sees nor guesses what others were asked; an operator sees all."""
    decided(webapp, "rm -rf ours", approve=True)
    decided(webapp, "rm -rf theirs", member.user.id, approve=True, by=member.user)
    theirs = logged_in(webapp, app, member.user)
    for path in ("/approvals", "/parts/approvals", "/parts/approvals?agent=crab"):
        assert "rm -rf ours" not in page(theirs, path)
        assert "rm -rf theirs" in page(theirs, path)
        assert "rm -rf ours" in page(browser, path)
    assert [found["text"] for found in member.get("/approvals")["approvals"]] == ["rm -rf theirs"]


def test_filters_hold_together(webapp: AppFixture, browser: Browser, operator: Api) -> None:
    """Agent, kind and outcome, on the page and in the API; what fits nothing says so."""
    decided(webapp, "rm -rf a", approve=True)
    decided(webapp, "rm -rf b", approve=False)
    for query, seen in (
        ("status=approved", ["rm -rf a"]),
        ("status=denied&agent=crab&kind=command", ["rm -rf b"]),
        ("agent=nobody", []),
        ("kind=asset", []),
        ("status=expired", []),
    ):
        assert [found["text"] for found in operator.get(f"/approvals?{query}")["approvals"]] == seen
        html = page(browser, f"/parts/approvals?{query}")
        assert [text for text in ("rm -rf a", "rm -rf b") if text in html] == seen
        assert ("No results." in html) is (not seen)
    assert operator.refused("GET", "/approvals?status=perhaps")[0] == 400
    assert operator.refused("GET", "/approvals?kind=perhaps")[0] == 400
    assert operator.refused("GET", "/approvals?before=gone")[0] == 400


def test_pages_follow_each_other(webapp: AppFixture, operator: Api) -> None:
    """Nothing twice, nothing left out, newest first."""
    rows(webapp, 7)
    seen: list[str] = []
    before = ""
    while True:
        answer: dict[str, Any] = operator.get(f"/approvals?limit=3{before}")
        seen += [found["id"] for found in answer["approvals"]]
        if answer["next"] is None:
            break
        before = f"&before={answer['next']}"
    assert seen == [f"q{n}" for n in reversed(range(7))]


def test_a_page_of_very_many_looks_at_few(webapp: AppFixture) -> None:
    """However they are filtered, the rows of a page are read from an index that has them in order."""
    rows(webapp, 3000)
    store = webapp.app._store
    for wanted in (
        ApprovalFilter(),
        ApprovalFilter((ApprovalStatus.EXPIRED,)),
        ApprovalFilter(user=2),
        ApprovalFilter((ApprovalStatus.DENIED,), kind="command", agent="crab", user=2),
        ApprovalFilter((ApprovalStatus.DENIED,), agent="crab"),
    ):
        looks = [0]

        def count(looks: list[int] = looks) -> int:
            looks[0] += 1
            return 0

        with store.reading() as db:
            db.set_progress_handler(count, 1)
            try:
                history_rows.list_page(db, wanted, before=(2000.0, "q"), limit=10)
            finally:
                db.set_progress_handler(None, 0)
        assert looks[0] < 4000, wanted


def rows(webapp: AppFixture, count: int) -> None:
    """Approved questions about a command, one a second."""
    with webapp.app._store.writing() as db:
        db.executemany(
            "INSERT INTO approvals (id, agent, user, kind, text, sha256, reason, status, asked_at, expires_at) "
            "VALUES (?, 'crab', 1, 'command', 'rm x', '', '', 'approved', ?, 0)",
            [(f"q{n}", float(n)) for n in range(count)],
        )
