"""The first page as the server makes it: what happened while its reader was away, what was made, what comes next, and
the field that asks any agent."""

from __future__ import annotations

import os
import time
import zlib
from datetime import UTC, datetime, timedelta

import pytest
from flask import Flask

from dashboard import ages
from dashboard.pages.ask_any import split_name
from orchestrator.capabilities.delivery import rows as delivery_rows
from orchestrator.core.models import CubicleKey, Delivery, DeliveryStatus
from orchestrator.operations.visits import GAP_S
from tests.support.app_fixture import PATIENCE_S, AppFixture
from tests.support.sample_data import sunset
from tests.unit.conftest import OWN_ORIGIN, Api, Browser, logged_in
from tests.unit.dashboard.test_agent import page
from tests.unit.dashboard.test_pages import EVIL, checked

KEY = CubicleKey("crab", 1)
AT = datetime(2026, 2, 27, 20, tzinfo=UTC).timestamp()
_DAY_S = 86_400


def come_back(webapp: AppFixture, user: int = 1) -> None:
    """The person was here a day ago, and comes now."""
    services = webapp.services
    services.recaps.visits._marked_at.clear()
    services.recaps.visits.mark_visit(user)
    with webapp.app._store.writing() as db:
        db.execute("UPDATE visits SET seen_at = seen_at - ? WHERE user = ?", (_DAY_S, user))
    services.recaps.visits._marked_at.clear()


def put_file(webapp: AppFixture, name: str, content: bytes, key: CubicleKey = KEY, *, is_kept: bool = True) -> int:
    """A file that was delivered, whose private copy may not be kept any more."""
    copy = f"{len(content)}-{zlib.crc32(name.encode() + content)}" if is_kept else ""
    if is_kept:
        (webapp.services.deliveries._outbox / copy).write_bytes(content)
    new = Delivery(
        0, key, None, name.encode(), name, "document", "", f"{name} {content[:9]!r}", len(content), time.time(),
        "dashboard", DeliveryStatus.SENT, "", copy,
    )  # fmt: skip
    with webapp.app._store.writing() as db:
        return delivery_rows.insert_delivery(db, new) or 0


def send(browser: Browser, **form: str) -> tuple[int, str]:
    """The form as a browser without scripts sends it: the status, and where it leads."""
    answer = browser.client.post("/ask", data={"csrf": browser.csrf, **form}, headers={"Origin": OWN_ORIGIN})
    return answer.status_code, answer.headers.get("Location", "")


def test_what_happened_while_away_is_told_with_ways_to_it(webapp: AppFixture, operator: Api, browser: Browser) -> None:
    """In one visit it stays the same, by pages and not by what they fetch; without an absence there is nothing."""
    webapp.plays["fail"] = lambda scene: scene.fail("no luck")
    assert "While you were away" not in page(browser, "/")
    come_back(webapp)
    done = operator.post("/agents/crab/messages", {"text": "hi", "wait": True})["turn"]
    failed = operator.post("/agents/crab/messages", {"text": "fail", "wait": True})["turn"]
    put_file(webapp, "a.txt", b"words")
    browser.client.get("/parts/agents")
    assert webapp.services.recaps.visits.find_absence(1) is None
    for html in (page(browser, "/"), page(browser, "/"), browser.client.get("/parts/away").text):
        assert "While you were away" in html
        assert f'href="/agents/crab/turns/{done}#turn-{done}"><bdi>finished 1 task</bdi>' in html
        assert f'class="bad" href="/agents/crab/turns/{failed}#turn-{failed}"><bdi>failed once</bdi>' in html
        assert 'href="/agents/crab/files/out"><bdi>made 1 file</bdi>' in html
    operator.post("/agents/crab/messages", {"text": "again", "wait": True})
    assert "finished 1 task" in page(browser, "/")
    assert webapp.services.recaps.visits.find_absence(1).until - GAP_S > 0  # type: ignore[union-attr]  # it was seen above


def test_a_quiet_day_teaches_or_is_silent(webapp: AppFixture, browser: Browser) -> None:
    """A hint where nothing is planned, nothing at all where something is."""
    come_back(webapp)
    assert "All quiet while you were away" in page(browser, "/")
    start = (datetime.now(UTC) + timedelta(days=1)).isoformat(timespec="minutes")
    webapp.services.calendar.create_entry(
        KEY, {"title": EVIL, "prompt": "x", "start": start}, by=webapp.services.users.get(1)
    )
    html = page(browser, "/")
    assert "away" not in html.partition('class="away"')[2].partition("</section>")[0].partition(">")[2]
    assert "tomorrow, " in html
    assert "<script>alert" not in html


def test_each_sees_what_was_made_for_them_alone(webapp: AppFixture, app: Flask, browser: Browser, member: Api) -> None:
    """Files and apps over all agents, on the first page and on pages of their own."""
    webapp.services.agents.create({"name": "clerk"})
    clerk, ben = CubicleKey("clerk", 1), CubicleKey("crab", member.user.id)
    picture = put_file(webapp, "sea.png", sunset(8, 5))
    notes = put_file(webapp, "notes.pdf", b"%PDF-1.4", clerk)
    put_file(webapp, "bens.csv", b"a,b", ben)
    www = webapp.services.workspaces.prepare_folders(clerk, uid=os.geteuid(), gid=os.getegid()).www
    (www / "game").mkdir()
    (www / "game" / "index.html").write_text("<title>Crab run</title>")
    turn = webapp.services.turns.submit(clerk, "hi", source="dashboard")
    webapp.services.turns.wait_for_end(turn.id, PATIENCE_S)
    with webapp.app._store.writing() as db:
        db.execute("""UPDATE turns SET apps = '["game", "gone"]' WHERE id = ?""", (turn.id,))
    html = page(browser, "/")
    assert f'href="/agents/crab/delivered/{picture}"' in html
    assert f'href="/agents/clerk/delivered/{notes}"' in html
    assert 'href="/agents/clerk/apps/game"' in html
    assert "/apps/gone" not in html
    assert "bens.csv" not in html
    assert "Crab run" in page(browser, "/apps")
    files = page(browser, "/files")
    assert ("sea.png" in files, "notes.pdf" in files, "bens.csv" in files) == (True, True, False)
    of_ben = logged_in(webapp, app, member.user)
    for path in ("/", "/files", "/parts/made"):
        theirs = of_ben.client.get(path).text
        assert ("bens.csv" in theirs, "sea.png" in theirs) == (True, False)
    assert "Crab run" not in page(of_ben, "/apps")


@pytest.mark.parametrize(
    ("name", "content", "is_shown"),
    [
        ("sea.png", sunset(8, 5), True),
        ("sea.png", b"<svg onload=alert(1)>", False),
        ("sea.svg", b"<svg onload=alert(1)>", False),
        ("sea.pdf", sunset(8, 5), True),
        (f"{EVIL.replace('/', '')}.png", sunset(8, 5), True),
    ],
    ids=["picture", "no picture", "program", "wrong ending", "hostile name"],
)
def test_only_real_pictures_are_shown_as_such(
    webapp: AppFixture,
    browser: Browser,
    name: str,
    content: bytes,
    is_shown: bool,  # noqa: FBT001 - drawn from the table above
) -> None:
    """By their bytes, from the place in which nothing can run; a name is text."""
    number = put_file(webapp, name, content)
    html = page(browser, "/")
    assert (f'src="/agents/crab/delivered/{number}/content"' in html) is is_shown
    assert "<script>" not in html
    assert checked(html).text


def test_a_file_whose_copy_is_gone_is_found_in_its_folder(webapp: AppFixture, browser: Browser) -> None:
    """As long as it lies there; a link in its place is not followed."""
    put_file(webapp, "a.txt", b"words", is_kept=False)
    assert "gone" in page(browser, "/").partition("a.txt")[2]
    out = webapp.services.workspaces.prepare_folders(KEY, uid=os.geteuid(), gid=os.getegid()).out
    (out / "a.txt").write_bytes(b"words")
    assert 'href="/agents/crab/files/out/a.txt"' in page(browser, "/")
    (out / "a.txt").unlink()
    (out / "a.txt").symlink_to("/etc/passwd")
    assert 'href="/agents/crab/files/out/a.txt"' not in page(browser, "/")


def test_one_field_asks_any_agent(webapp: AppFixture, browser: Browser) -> None:
    """The one that is chosen or named, in the conversation that was used last, or in a new one."""
    services = webapp.services
    services.agents.create({"name": "clerk"})
    conversations = services.conversations
    assert send(browser, agent="crab", text="hello")[0] == 303
    first = conversations.list_conversations(KEY)[0].id
    status, where = send(browser, agent="crab", text="once more", place="new")
    newest = conversations.list_conversations(KEY)[0].id
    assert (status, where, newest == first) == (303, f"/agents/crab?conversation={newest}", False)
    assert send(browser, agent="crab", text="and on")[1] == f"/agents/crab?conversation={newest}"
    assert send(browser, agent="crab", text="@Clerk, file this")[1].startswith("/agents/clerk?")
    clerk = CubicleKey("clerk", 1)
    place = conversations.get(clerk).id
    assert [turn.prompt for turn in services.turns.list_history(clerk, conversation=place, limit=9)] == ["file this"]
    assert '<option value="clerk" selected' in page(browser, "/")
    assert send(browser, agent="nobody", text="hi")[0] == 404
    assert send(browser, agent="crab", text="@clerk  ")[0] == 400
    assert browser.client.post("/ask", data={"agent": "crab", "text": "x"}).status_code == 403


def test_an_agent_that_is_not_open_to_somebody_is_not_there(webapp: AppFixture, app: Flask, member: Api) -> None:
    """Neither to be asked, nor what it made or did before."""
    services, key = webapp.services, CubicleKey("clerk", member.user.id)
    services.agents.create({"name": "clerk"})
    of_ben = logged_in(webapp, app, member.user)
    come_back(webapp, member.user.id)
    services.turns.wait_for_end(services.turns.submit(key, "hi", source="dashboard").id, PATIENCE_S)
    put_file(webapp, "secret.txt", b"words", key)
    plan = {"title": "Secret plan", "prompt": "x", "start": "2099-01-01T09:00:00Z"}
    services.calendar.create_entry(key, plan, by=member.user)
    shown = of_ben.client.get("/").text
    assert all(words in shown for words in ("finished 1 task", "secret.txt", "Secret plan", 'value="clerk"'))
    services.access.set_people("clerk", [], by="ada")
    for path in ("/", "/files", "/apps", "/parts/away", "/parts/next", "/parts/made", "/parts/agents"):
        shown = of_ben.client.get(path).text
        assert not any(words in shown for words in ("finished 1 task", "secret.txt", "Secret plan", "clerk"))
    assert send(of_ben, agent="clerk", text="hi")[0] == 404
    assert send(of_ben, agent="crab", text="@clerk hi")[1].startswith("/agents/crab?")


def test_whoever_begins_is_given_three_tasks(webapp: AppFixture, browser: Browser) -> None:
    """One press sends the message; afterwards they are gone."""
    html = page(browser, "/")
    assert html.count('class="first-task"') == 3
    words = html.partition('name="task" value="')[2].partition('"')[0]
    assert send(browser, agent="crab", text="a draft", task=words)[1].startswith("/agents/crab?")
    place = webapp.services.conversations.get(KEY).id
    assert webapp.services.turns.list_history(KEY, conversation=place, limit=1)[0].prompt == words
    assert "first-task" not in page(browser, "/")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@crab hello", ("crab", "hello")),
        (" @CRAB: hello", ("crab", "hello")),
        ("@crab", ("crab", "")),
        ("@nobody hello", ("", "@nobody hello")),
        ("@crabs hello", ("", "@crabs hello")),
        ("hello @crab", ("", "hello @crab")),
        ("@ms ledger, file it", ("clerk", "file it")),
        ("@Ms Ledgers file it", ("second", "Ledgers file it")),
        ("@Ms hello", ("second", "hello")),
    ],
)
def test_a_name_at_the_beginning_chooses(text: str, found: tuple[str, str]) -> None:
    """And is no part of the message."""
    assert split_name(text, {"crab": "crab", "clerk": "clerk", "Ms Ledger": "clerk", "Ms": "second"}) == found


@pytest.mark.parametrize(
    ("hours", "said"),
    [
        (1, "today, 22:00"),
        (4, "tomorrow, 01:00"),
        (24, "tomorrow, 21:00"),
        (48, "Sunday, 21:00"),
        (-24, "yesterday, 21:00"),
        (24 * 7, "Fri 6 Mar, 21:00"),
    ],
)
def test_times_near_now_are_said_as_people_do(hours: int, said: str) -> None:
    """By the clock of the zone."""
    assert ages.day_in_words(AT + hours * 3600, "Europe/Vienna", AT) == said
    assert ages.greeting(AT, "Europe/Vienna") == "Good evening"
    assert ages.greeting(AT, "Asia/Tokyo") == "Good morning"
    assert ages.whole_day(AT, "Asia/Tokyo") == "Saturday 28 February"
