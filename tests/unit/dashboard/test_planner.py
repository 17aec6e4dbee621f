"""The calendar of all agents as the server makes it: whose entries there are, on which days, with what came of them."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from flask import Flask

from dashboard.pages.planner import PlannerQuery
from orchestrator.capabilities.calendar import rows, run_rows
from orchestrator.capabilities.calendar.day_view import CalendarScope
from orchestrator.capabilities.calendar.rows import CalendarEntry, EntryStatus, Run, RunResult
from orchestrator.core.models import CubicleKey
from tests.support.app_fixture import PATIENCE_S, AppFixture
from tests.unit.conftest import Api, Browser, logged_in
from tests.unit.dashboard.test_agent import page, seen
from tests.unit.dashboard.test_pages import EVIL

KEY = CubicleKey("crab", 1)
VIEWS = ("month", "week", "list")
YEAR = datetime.now(UTC).year + 1
"""Nothing of it has passed."""


def plan(webapp: AppFixture, title: str, start: str, key: CubicleKey = KEY, **words: Any) -> CalendarEntry:
    """A person's entry."""
    user = webapp.services.users.get(key.user)
    return webapp.services.calendar.create_entry(
        key, {"title": title, "prompt": "Look.", "start": start, **words}, by=user
    )


def sundays(month: int) -> date:
    """The last Sunday of a month with 31 days, when Europe's clocks are changed."""
    last = date(YEAR, month, 31)
    return last - timedelta(days=(last.weekday() + 1) % 7)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("month", [3, 10])
def test_days_are_the_viewers_when_clocks_are_changed(
    webapp: AppFixture, browser: Browser, view: str, month: int
) -> None:
    """Just after one midnight and just before the next one, on the day that has 23 hours or 25."""
    webapp.services.users.update_user(1, {"time_zone": "Europe/Vienna"})
    day = sundays(month)
    plan(webapp, "early bird", f"{day}T00:10")
    plan(webapp, "night owl", f"{day}T23:50")
    plan(webapp, "next day", f"{day + timedelta(days=1)}T00:00")
    html = page(browser, f"/calendar?view={view}&at={day}")
    found = html.partition('class="planner-day"')[2] if view == "month" else html.partition(f'data-drop="{day}"')[2]
    found = found.partition("data-drop=" if view != "month" else "</section>")[0]
    assert ("early bird" in found, "night owl" in found, "next day" in found) == (True, True, False)


def test_everybody_sees_their_own_and_an_operator_all(
    webapp: AppFixture, app: Flask, browser: Browser, member: Api
) -> None:
    """A member gets nothing of others, however they ask; an operator's look at others changes nothing of theirs."""
    ben = CubicleKey("crab", member.user.id)
    plan(webapp, "adas tides", f"{YEAR}-03-10T09:00")
    theirs = plan(webapp, "bens tides", f"{YEAR}-03-10T09:00", ben)
    turn = webapp.services.calendar.run_now(theirs.id)
    at = f"at={YEAR}-03-10"
    of_ben = logged_in(webapp, app, member.user)
    for view in VIEWS:
        shown = seen(of_ben, f"/calendar?view={view}&who=all&{at}")
        assert ("bens tides" in shown, "adas tides" in shown, "Whose" in shown) == (True, False, False)
        assert "adas tides" not in page(of_ben, f"/parts/planner?view={view}&who=all&{at}")
        assert "bens tides" not in page(browser, f"/calendar?view={view}&{at}")
        html = page(browser, f"/calendar?view={view}&who=all&{at}")
        assert "for ben" in html
        assert f"/calendar/{theirs.id}" not in html
        assert f'data-entry="{theirs.id}"' not in html
    assert "bens tides" in (today := page(browser, "/calendar?who=all"))
    assert f"/turns/{turn}" not in today
    assert f"/turns/{turn}" in page(of_ben, "/calendar")


def test_one_agent_alone(webapp: AppFixture, browser: Browser) -> None:
    """The filter holds on the ways to other times; an unknown agent is none."""
    webapp.services.agents.create({"name": "other"})
    plan(webapp, "of crab", f"{YEAR}-03-10T09:00")
    plan(webapp, "of other", f"{YEAR}-03-10T09:00", CubicleKey("other", 1))
    html = page(browser, f"/calendar?agent=other&at={YEAR}-03-10")
    assert ("of other" in html, "of crab" in html) == (True, False)
    assert f"/calendar?view=month&amp;at={YEAR}-04-01&amp;agent=other" in html
    assert "of crab" in page(browser, f"/calendar?agent=nobody&at={YEAR}-03-10")


def test_a_day_of_a_series_is_left_out(webapp: AppFixture, browser: Browser) -> None:
    """The button sends the day of the entry's own zone beside those before; its page says them, and puts them back."""
    webapp.services.users.update_user(1, {"time_zone": "Asia/Tokyo"})
    entry = plan(
        webapp, "tides", f"{YEAR}-03-01T20:00", repeat="FREQ=DAILY", time_zone="UTC", without=[f"{YEAR}-03-10"]
    )
    html = page(browser, f"/calendar?view=list&at={YEAR}-03-13")
    assert f"[&#34;{YEAR}-03-10&#34;, &#34;{YEAR}-03-12&#34;]" in html, "20:00 there is the 13th here"
    html = seen(browser, f"/agents/crab/calendar/{entry.id}")
    day = date(YEAR, 3, 10)
    assert f"Skipped: {day:%a} 10 Mar {YEAR} Restore" in html
    assert "Every day at 20:00, with 1 exception" in html
    plan(webapp, "once", f"{YEAR}-04-01T20:00")
    assert "Leave “once” out" not in page(browser, f"/calendar?view=list&at={YEAR}-04-01")


def test_hostile_words_stay_words(webapp: AppFixture, browser: Browser) -> None:
    """In titles, prompts, and in the address; a colour is a name or a number alone."""
    plan(webapp, EVIL, f"{YEAR}-03-10T09:00", color="#abc", repeat="FREQ=DAILY")
    plan(webapp, EVIL, f"{YEAR}-03-10T09:00", status="paused")
    for view in VIEWS:
        html = page(browser, f"/calendar?view={view}&at={YEAR}-03-10")
        assert 'fill="#abc"' in html
    for at in (EVIL, "2026-02-30", "0001-01-01", "9999-12-31", "1970-01-01", "2199-12-31", "2026-W01-1", "²²²²-²²-²²"):
        page(browser, f"/calendar?view={EVIL}&agent={EVIL}&who={EVIL}&at={at}")


def test_what_came_of_it_is_on_its_day(webapp: AppFixture, browser: Browser) -> None:
    """A run leads to its turn; several of one day are one line, and the worst speaks for all."""
    entry = plan(webapp, "tides", f"{YEAR}-03-10T09:00", repeat="FREQ=WEEKLY")
    turn = webapp.services.calendar.run_now(entry.id)
    webapp.services.turns.wait_for_end(turn, PATIENCE_S)
    with webapp.app._store.writing() as db:
        for n, outcome in enumerate((RunResult.FAILED, RunResult.DONE, RunResult.MISSED)):
            due = datetime(2026, 2, 10, 9 + n, tzinfo=UTC).timestamp()
            run_rows.insert_run(db, Run(0, entry.id, due, 0, False, False, f"o{n}", None, outcome, due, due))
    assert f'href="/agents/crab/turns/{turn}"' in page(browser, "/calendar")
    shown = seen(browser, "/calendar?at=2026-02-10")
    assert "09:00 tides ×3 Failed · crab" in shown
    assert "Nothing ran on this day." in seen(browser, "/calendar?at=2026-02-11")


def test_an_entry_leads_to_its_conversation(webapp: AppFixture, browser: Browser) -> None:
    """On its day and on its own page; another person's does not."""
    services = webapp.services
    services.conversations.get(KEY)
    boat = services.conversations.create(KEY, "The <boat>")
    turn = services.turns.submit(KEY, "go", source="api", conversation=boat.id)
    fields = {"title": "Look", "prompt": "look", "start": "2090-03-05T09:00"}
    entry = services.calendar.create_entry(KEY, fields, by=None, turn=turn.id)
    link = f'<a href="/agents/crab?conversation={boat.id}"><bdi>The &lt;boat&gt;</bdi></a>'
    assert link in page(browser, "/calendar?at=2090-03-05")
    assert link in page(browser, "/calendar?view=list&at=2090-03-05")
    assert link in page(browser, f"/agents/crab/calendar/{entry.id}")
    for path in (f"/agents/crab/calendar/{entry.id}", "/agents/crab/calendar"):
        assert f'/run" data-go="/agents/crab?conversation={boat.id}"' in page(browser, path)
    services.turns.wait_for_end(turn.id, 10.0)
    services.conversations.delete(KEY, boat.id)
    assert "boat" not in page(browser, "/calendar?at=2090-03-05")


def test_a_full_day_is_capped(webapp: AppFixture, browser: Browser) -> None:
    """The first few, and how many more; the day itself has them all."""
    for n in range(14):
        plan(webapp, f"number {n}", f"{YEAR}-03-10T09:{n:02}")
    html = page(browser, f"/calendar?at={YEAR}-03-01")
    assert "and 11 more" in html
    assert "number 3" not in html
    assert "number 13" in page(browser, f"/calendar?at={YEAR}-03-10")
    assert "and 2 more" in page(browser, f"/calendar?view=week&at={YEAR}-03-10")


def test_what_is_empty_teaches(webapp: AppFixture, browser: Browser) -> None:
    """No agent, or nothing planned."""
    assert "Nothing is scheduled on this day." in seen(browser, f"/calendar?at={YEAR}-03-10")
    assert "Nothing is scheduled in these two weeks." in seen(browser, "/calendar?view=list")
    webapp.services.remove_agent("crab")
    assert "No agents yet." in seen(browser, "/calendar")


def test_ways_to_other_times() -> None:
    """Months of four to six weeks, Mondays first, from one to the next and back."""
    for year in (2024, 2026, 2027):
        for month in range(1, 13):
            wanted = PlannerQuery("month", date(year, month, 28), everybody=False, agent="")
            assert (wanted.first.weekday(), wanted.last.weekday()) == (0, 6)
            assert wanted.first <= date(year, month, 1)
            assert date(year, month, 28) <= wanted.last < wanted.next_at + timedelta(days=7)
            assert PlannerQuery("month", wanted.next_at, everybody=False, agent="").previous_at == date(year, month, 1)
    assert PlannerQuery("month", date(2027, 2, 1), everybody=False, agent="").count == 28
    assert PlannerQuery("week", date(2026, 3, 29), everybody=False, agent="").title == "23 Mar – 29 Mar 2026"


def test_ten_thousand_entries(webapp: AppFixture, browser: Browser) -> None:
    """A month of them is made quickly."""
    kinds, now = ("FREQ=DAILY", "0 9 * * 1-5", "FREQ=WEEKLY;BYDAY=MO", "FREQ=MONTHLY", ""), time.time()
    with webapp.app._store.writing() as db:
        for n in range(10_000):
            start = f"{YEAR}-03-{1 + n % 20:02}T{n % 24:02}:{n % 60:02}"
            rows.insert_entry(db, CalendarEntry(
                id=0, cubicle=KEY, title=f"entry {n}", prompt="x", start=start, end="", time_zone="UTC",
                repeat=kinds[n % len(kinds)], color="", missed="skip", status=EntryStatus.ACTIVE, by="ada", turn=None,
                created_at=now, changed_at=now, settled_at=now, failures=0,
                next_at=datetime.fromisoformat(start).replace(tzinfo=UTC).timestamp(),
            ))  # fmt: skip
    begun = time.thread_time()
    sum(number % 7 for number in range(10_000_000))
    unit, begun = time.thread_time() - begun, time.thread_time()
    html = page(browser, f"/calendar?at={YEAR}-03-20")
    assert time.thread_time() - begun < 10 * unit  # a ratio, since machines differ
    assert "There is more than can be shown" not in html
    found = webapp.services.calendar.view_days(CalendarScope(user=1), "UTC", date(YEAR, 3, 1), 1, most_a_day=3)
    assert (len(found.days[0].items), found.days[0].total) == (3, 500)
