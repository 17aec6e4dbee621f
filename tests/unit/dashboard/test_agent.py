"""The pages of an agent, as the server makes them: hostile text in every field, walls between people, teaching when
empty, money that worries in time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import pytest
from flask import Flask

from dashboard import ages
from dashboard.pages.money import Money
from orchestrator.approvals.grant_rows import GrantKind, GrantScope
from orchestrator.approvals.notification_rows import Offer
from orchestrator.capabilities.capability import Caller
from orchestrator.core.models import CubicleKey, TokenUse
from orchestrator.llm.budget import BudgetState
from tests.support.app_fixture import PATIENCE_S, AppFixture, Scene
from tests.unit.conftest import Api, Browser, logged_in
from tests.unit.dashboard.test_pages import EVALUATED, EVIL, checked

KEY = CubicleKey("crab", 1)


@dataclass(frozen=True)
class Used:
    """What a day has cost so far, of a hundred and of a thousand tokens."""

    spent: int = 0
    held: int = 0
    tokens: int = 0
    is_stopped: bool = False


PAGES = ("", "/calendar", "/memory", "/settings", "/turns")


def page(browser: Browser, path: str) -> str:
    """A page that is there, its HTML looked through."""
    answer = browser.client.get(path)
    assert answer.status_code == 200, (path, answer.status_code)
    html = answer.get_data(as_text=True)
    checked(html)
    return html


def seen(browser: Browser, path: str) -> str:
    """What a reader of a page sees, blanks made one."""
    return " ".join(checked(page(browser, path)).text.split())


def set_in_motion(webapp: AppFixture, name: str, key: CubicleKey = KEY, turn: int | None = None, **fields: Any) -> Any:
    """As the agent does it."""
    calls = webapp.app._capabilities.calls
    return calls.run_command(Caller(key, turn), os.urandom(8).hex(), name, fields).result


def ask_about(webapp: AppFixture, kind: str, detail: dict[str, Any], text: str, turn: int | None = None) -> str:
    """A question about what the host shall do; its id."""
    approvals = webapp.services.approvals
    approvals.on_decision(kind, lambda _db, _approval: ())
    with webapp.app._store.writing() as db:
        return approvals.ask_person(db, KEY, turn, kind=kind, text=text, reason=EVIL, detail=detail, timeout_s=60).id


def asset(webapp: AppFixture, turn: int | None = None) -> str:
    """A download, hostile in every field."""
    detail = {
        "host": EVIL,
        "host_shown": EVIL + "x",
        "url_chars": 3,
        "warnings": [EVIL],
        "description": EVIL,
        "file_type": EVIL,
    }
    return ask_about(webapp, "asset", detail, f"https://evil.example/{EVIL}", turn)


def packages(webapp: AppFixture) -> str:
    """Packages, hostile in every field."""
    line = {"name": EVIL, "version": EVIL, "size_bytes": 5, "sha256": "x"}
    return ask_about(
        webapp,
        "packages",
        {"system": EVIL, "asked": [EVIL], "packages": [line], "total_bytes": 5},
        f"pip install\n{EVIL}",
    )


def test_nothing_that_is_set_in_motion_reaches_the_browser_as_markup(webapp: AppFixture, browser: Browser) -> None:
    """Cards, questions, answers, notices, entries, memories: hostile in all, text in all."""
    install = webapp.services
    turn = install.turns.submit(KEY, EVIL, source="calendar").id
    install.turns.wait_for_end(turn, PATIENCE_S)
    asset(webapp)
    packages(webapp)
    set_in_motion(webapp, "ASK", question=EVIL, choices=[EVIL[:40], "b"], free_text=True)
    answered = set_in_motion(webapp, "ASK", question=EVIL)["question"]
    install.questions.answer_question(answered, EVIL, by=install.users.get_operator(), surface="test")
    install.notifications.post(KEY, "calendar", EVIL, turn=turn, offers=[Offer(EVIL, EVIL)])
    install.notifications.post(KEY, "budget", EVIL)
    fields = {"title": EVIL, "prompt": EVIL, "start": "2099-01-01T09:00", "repeat": "FREQ=DAILY"}
    entry = install.calendar.create_entry(KEY, fields, by=None).id
    install.memories.add_fact(KEY, EVIL, by=EVIL, turn=turn)
    paths = (
        *(f"/agents/crab{path}" for path in (*PAGES, f"/turns/{turn}", f"/calendar/{entry}", "/memory?q=<script>")),
        "/",
        *(f"/parts/{part}/crab" for part in ("asking", "calendar", "memory", "grants", "money", "budget")),
        f"/parts/calendar/crab/{entry}",
        "/parts/notices/2",
        "/parts/waiting",
    )
    for path in paths:
        assert EVALUATED not in seen(browser, path), path
    chat = page(browser, "/agents/crab")
    assert "<script>alert" not in chat
    assert "&lt;script&gt;alert(1)" in chat


def test_an_address_is_no_link(webapp: AppFixture, browser: Browser) -> None:
    """Nobody follows it by mistake; it is there to its last letter, the buttons are off, and nothing has the focus."""
    asset(webapp)
    html = page(browser, "/")
    card = html[html.index("data-approval") : html.index("</section>", html.index("data-approval"))]
    assert 'href="http' not in html
    assert card.count("data-decide") == card.count("disabled>") == 6
    assert "autofocus" not in html


def test_what_a_download_sends_is_written_out(webapp: AppFixture, browser: Browser) -> None:
    """The end of the address, after the host's name: all that the host is sent."""
    detail = {"host": "example.com", "url_chars": 9, "warnings": []}
    ask_about(webapp, "asset", detail, "https://example.com/data.csv")
    assert "9 characters: /data.csv" in seen(browser, "/")
    ask_about(webapp, "asset", {**detail, "url_chars": 58}, "https://example.com/other.csv")
    assert "58 characters:" not in seen(browser, "/")


def test_members_may_not_allow_for_ever(webapp: AppFixture, app: Flask, member: Api) -> None:
    """That button is the operator's."""
    approvals = webapp.services.approvals
    approvals.on_decision("asset", lambda _db, _approval: ())
    key = CubicleKey("crab", member.user.id)
    with webapp.app._store.writing() as db:
        approvals.ask_person(
            db, key, None, kind="asset", text="https://a.example/", reason="", detail={"host": "a.example"}, timeout_s=9
        )
    mine = seen(logged_in(webapp, app, member.user), "/")
    assert "wants a file from the internet" in mine
    assert "Always allow" not in mine


def test_what_was_decided_stands_at_its_turn(webapp: AppFixture, browser: Browser) -> None:
    """How it ended, and who said so."""
    turn = webapp.services.turns.submit(KEY, "hi", source="api").id
    webapp.services.turns.wait_for_end(turn, PATIENCE_S)
    asked = asset(webapp, turn)
    assert "Approved by" not in seen(browser, "/agents/crab")
    operator = webapp.services.users.get_operator()
    webapp.services.approvals.decide(asked, approve=True, by=operator, surface="telegram", always=True)
    assert "Approved by ada (telegram), and always for this host." in seen(browser, "/agents/crab")


def test_what_is_anothers_is_nowhere(webapp: AppFixture, app: Flask, browser: Browser, member: Api) -> None:
    """A member finds nothing of the operator's, and the operator's own pages have nothing of a member's."""
    install = webapp.services
    install.memories.add_fact(KEY, "the code is in the clock", by="ada")
    fields = {"title": "secret meeting", "prompt": "x", "start": "2099-01-01T09:00"}
    entry = install.calendar.create_entry(KEY, fields, by=install.users.get_operator()).id
    notice = install.notifications.post(KEY, "calendar", "secret notice").id
    turn = install.turns.submit(KEY, "hi", source="api").id
    install.turns.wait_for_end(turn, PATIENCE_S)
    set_in_motion(webapp, "ASK", question="secret question")
    theirs = CubicleKey("crab", member.user.id)
    install.memories.add_fact(theirs, "bens memory", by="ben")
    operator = install.users.get_operator()
    install.grants.add_grant("crab", GrantKind.COMMAND, "run: my grant", GrantScope.HOUR, by=operator, surface="test")
    them = logged_in(webapp, app, member.user)
    for path in ("/", "/parts/waiting", *(f"/agents/crab{path}" for path in PAGES)):
        html = page(them, path)
        assert "secret" not in html, path
        assert "in the clock" not in html, path
    for path in (
        f"/agents/crab/calendar/{entry}",
        f"/parts/calendar/crab/{entry}",
        f"/agents/crab/turns/{turn}",
        f"/parts/notices/{notice}",
    ):
        assert them.client.get(path).status_code == 404, path
    assert "my grant" not in page(them, "/parts/grants/crab")
    assert "bens memory" not in page(browser, "/agents/crab/memory")
    assert "secret meeting" in page(browser, "/agents/crab/calendar")


def test_empty_pages_teach(webapp: AppFixture, browser: Browser) -> None:
    """What could be there, and how it gets there."""
    assert "Nothing is scheduled. Tell crab in the chat" in seen(browser, "/agents/crab/calendar")
    assert "No memories yet. Add a fact above" in seen(browser, "/agents/crab/memory")
    assert "Nothing yet. You can approve something" in seen(browser, "/agents/crab/settings")
    webapp.services.agents.update_agent("crab", {"toolsets": []})
    assert "Calendar is off" in seen(browser, "/agents/crab/calendar")
    assert "Memory is off" in seen(browser, "/agents/crab/memory")


def test_members_look_at_settings(webapp: AppFixture, app: Flask, member: Api) -> None:
    """And can't change them: no button, no field that is on, but to allow a host in their own conversations."""
    html = page(logged_in(webapp, app, member.user), "/agents/crab/settings")
    assert "Only an admin can change them" in html
    own = html.partition("<main")[2].partition("</main>")[0]
    assert own.count('data-path="/api/agents/crab/grants"') == 1
    assert 'value="always"' not in own
    assert own.count("<form") - 1 == own.count('<fieldset class="stack" disabled>') > 5
    assert "Save" not in html
    assert "always fetch" not in html


def test_runs_of_the_calendar_are_marked(webapp: AppFixture, browser: Browser) -> None:
    """One that told something, and one that was silent: folded."""
    calendar, turns = webapp.services.calendar, webapp.services.turns
    entry = calendar.create_entry(KEY, {"title": "Tides", "prompt": "tell", "start": "2099-01-01T09:00"}, by=None)
    webapp.plays["tell"] = lambda scene: scene.say("High water at six.")
    turns.wait_for_end(calendar.run_now(entry.id), PATIENCE_S)
    assert "Tides, from the calendar" in seen(browser, "/agents/crab")
    assert '<details class="silent"' not in page(browser, "/agents/crab")

    def whisper(scene: Scene) -> None:
        scene.run(1, "ls", output="notes.txt")
        scene.say("")

    webapp.plays["tell"] = whisper
    turns.wait_for_end(calendar.run_now(entry.id), PATIENCE_S)
    html = page(browser, "/agents/crab")
    assert html.count('<details class="silent"') == 1
    assert "nothing to report" in html


def test_notices_stand_where_they_were_said(webapp: AppFixture, browser: Browser) -> None:
    """Between the turns by their time, those about a turn within it."""
    install = webapp.services
    for n in range(3):
        turn = install.turns.submit(KEY, f"message {n}", source="api").id
        install.turns.wait_for_end(turn, PATIENCE_S)
        install.notifications.post(KEY, "budget", f"notice {n}", turn=turn if n == 1 else None)
    html = page(browser, "/agents/crab")
    order = [html.index(text) for n in range(3) for text in (f'dir="auto">message {n}', f"notice {n}")]
    assert order == sorted(order)
    earlier = page(browser, "/agents/crab/turns?before=3")
    assert "notice 1" in earlier
    assert "notice 2" not in earlier


def test_a_notice_of_one_conversation_is_in_no_other(webapp: AppFixture, browser: Browser) -> None:
    """One that belongs to none is in all of them."""
    install = webapp.services
    places = {name: install.conversations.create(KEY, name).id for name in ("Boat", "House")}
    for name, place in places.items():
        turn = install.turns.submit(KEY, f"about {name}", source="api", conversation=place).id
        install.turns.wait_for_end(turn, PATIENCE_S)
    for name in (*places, "everything"):
        install.notifications.post(KEY, "calendar", f"notice of {name}", conversation=places.get(name))
    for name, place in places.items():
        html = page(browser, f"/agents/crab?conversation={place}")
        found = {one for one in ("Boat", "House", "everything") if f"notice of {one}" in html}
        assert found == {name, "everything"}


@pytest.mark.parametrize(
    ("used", "level", "percent"),
    [
        (Used(), "ok", 0),
        (Used(spent=79), "ok", 79),
        (Used(spent=70, held=10), "warn", 80),
        (Used(spent=100, is_stopped=True), "stop", 100),
        (Used(spent=130, is_stopped=True), "stop", 100),
        (Used(spent=95, is_stopped=True), "stop", 95),
        (Used(tokens=900), "warn", 90),
    ],
)
def test_money_worries_in_time(used: Used, level: str, percent: int) -> None:
    """A warning from 80 % on, in money or in tokens; stopped when nothing goes any more."""
    left = max(0, 100 - used.spent - used.held)
    money = Money("crab", BudgetState(used.spent, used.held, 100, left, used.tokens, 1_000, 0.0, used.is_stopped))
    assert (money.level, money.percent) == (level, percent)


def test_money_is_said_where_it_counts(webapp: AppFixture, browser: Browser) -> None:
    """Spent and left on the card, a warning in the chat, the rest in the settings."""
    budget, agent = webapp.services.budget, webapp.services.agents.get("crab")
    assert "of today’s budget" not in page(browser, "/agents/crab")
    hold = budget.reserve(agent, KEY, None, provider="p", model="m", micro=4_500_000)
    budget.settle_hold(hold, 4_500_000, TokenUse(1, 1))
    home = seen(browser, "/")
    assert "$4.50 of $5.00 today" in home
    assert "$0.50 left, resets in" in home
    assert "90 % of today’s budget is used: $4.50 of $5.00." in seen(browser, "/agents/crab")
    assert "Spent today$4.50 Left$0.50" in seen(browser, "/agents/crab/settings")


def test_ones_own_zone_is_set_by_hand_and_guessed_once(webapp: AppFixture, member: Api) -> None:
    """A guess counts only where nobody said anything; nobody sets another's."""
    guess = {"time_zone": "Europe/Vienna", "if_unknown": True}
    assert member.call("PATCH", "/me", guess).get_json()["time_zone"] == "Europe/Vienna"
    assert member.call("PATCH", "/me", {**guess, "time_zone": "Asia/Tokyo"}).get_json()["time_zone"] == "Europe/Vienna"
    assert member.call("PATCH", "/me", {"time_zone": "Asia/Tokyo"}).get_json()["time_zone"] == "Asia/Tokyo"
    assert member.refused("PATCH", "/me", {"time_zone": "Mars/Olympus"})[0] == 400
    assert member.refused("PATCH", "/me", {"time_zone": "UTC", "role": "operator"})[0] == 400
    assert member.get("/me")["name"] == "ben"
    assert webapp.services.users.get_operator().time_zone == "UTC"


def test_days_and_times_are_in_the_persons_zone() -> None:
    """With the year where it is another one."""
    at = 1_772_269_200.0
    assert ages.day_and_time(at, "Europe/Vienna", at) == "Sat 28 Feb, 10:00"
    assert ages.day_and_time(at, "Europe/Vienna", at - 100 * 86_400) == "Sat 28 Feb 2026, 10:00"
